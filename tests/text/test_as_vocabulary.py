"""Tokenizers of other libraries, each built here and never downloaded."""

import io

import keras
import numpy as np
import pytest

from tfcap.data import CaptionSplit
from tfcap.data import EncodedCaptions
from tfcap.text import Vocabulary
from tfcap.text import as_vocabulary
from tfcap.text.tokenizers import word_pieces

SENTENCES = ["two red dogs", "a bus isn't red", "dogs"]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
WORDS = ["two", "red", "dogs", "a", "bus", "isn't"]


def sentencepiece():
    library = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 5),
        model_writer=model,
        vocab_size=28,
        model_type="BPE",
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        minloglevel=2,
    )
    return library.SentencePieceProcessor(model_proto=model.getvalue())


def layer(**options):
    return keras.layers.TextVectorization(standardize=None, **options)


def keras_layer():
    return layer(vocabulary=["<s>", "</s>", *WORDS])


def characters():
    letters = dict.fromkeys("".join(WORDS) + " ")
    return layer(split="character", vocabulary=["^", "$", *letters])


def hub(name, *arguments, **options):
    tokenizers = pytest.importorskip("keras_hub").tokenizers
    return getattr(tokenizers, name)(*arguments, **options)


def hub_bytes():
    """GPT-2's kind: its end is its start, and nothing is padding."""
    letters = dict.fromkeys("".join(SENTENCES).replace(" ", "Ġ"))
    pieces = [*letters, "re", "red", "Ġr", "<|endoftext|>"]
    return hub(
        "BytePairTokenizer",
        vocabulary={piece: i for i, piece in enumerate(pieces)},
        merges=["r e", "re d"],
        unsplittable_tokens=["<|endoftext|>"],
    )


def hugging_face():
    library = pytest.importorskip("tokenizers")
    pieces = {x: i for i, x in enumerate([*SPECIAL, *WORDS])}
    tokenizer = library.Tokenizer(
        library.models.WordLevel(pieces, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


class Transformers:
    """The methods of a tokenizer of that library."""

    pad_token_id, bos_token_id, eos_token_id, unk_token_id = None, 4, 5, None
    pieces = ["▁a", "▁b", "us", "▁red", "<s>", "</s>"]

    def __len__(self):
        return len(self.pieces)

    def convert_ids_to_tokens(self, ids):
        return [self.pieces[i] for i in ids]

    def encode(self, text, add_special_tokens=True):
        assert not add_special_tokens
        ids = {"a": [0], "bus": [1, 2], "red": [3]}
        return sum((ids[word] for word in text.split()), [])

    def decode(self, ids, skip_special_tokens=False):
        assert skip_special_tokens
        return "".join(self.pieces[i] for i in ids).replace("▁", " ").strip()


KINDS = {
    sentencepiece: ((0, 1, 2, 3), False),
    keras_layer: ((0, 2, 3, 1), True),
    hub_bytes: ((18, 18, 18, None), False),
    hugging_face: ((0, 1, 2, 3), True),
}


@pytest.mark.parametrize("make", KINDS, ids=lambda x: x.__name__)
def test_a_tokenizer_is_read_with_its_special_ids(make):
    tokenizer = make()
    vocabulary = as_vocabulary(tokenizer)
    special, is_words = KINDS[make]
    found = vocabulary.pad, vocabulary.bos, vocabulary.eos, vocabulary.unk
    assert found == special and vocabulary.is_words == is_words
    for text in SENTENCES:
        ids = vocabulary.encode(text, eos=True)
        assert ids == vocabulary.encode(text.split(), eos=True)
        assert ids[-1] == vocabulary.eos and max(ids) < vocabulary.size
        assert "".join(vocabulary.tokens[i] for i in ids[:-1]).replace(
            "Ġ", ""
        ).replace("▁", "") == text.replace(" ", "")
        begun = [] if vocabulary.bos == vocabulary.eos else [vocabulary.bos]
        assert vocabulary.decode([*begun, *ids, vocabulary.pad, 5]) == text
    rows = vocabulary.encode_batch(SENTENCES, eos=True)
    assert vocabulary.decode_batch(rows) == SENTENCES
    assert rows[2, -1] == vocabulary.pad
    assert as_vocabulary(vocabulary) is vocabulary
    assert vocabulary == as_vocabulary(tokenizer)
    assert len(vocabulary.words) < len(vocabulary.tokens) == vocabulary.size


def test_the_duck_types_of_transformers_and_of_characters():
    vocabulary = as_vocabulary(Transformers())
    assert (vocabulary.pad, vocabulary.eos) == (5, 5)
    assert vocabulary.encode("a red bus", 2) == [0, 3]
    assert vocabulary.decode([4, 0, 3, 1, 2, 5, 1]) == "a red bus"
    vocabulary = as_vocabulary(characters(), bos="^", eos="$")
    assert not vocabulary.is_words and vocabulary.eos == 3
    assert vocabulary.decode(vocabulary.encode("a bus", eos=True)) == "a bus"


def test_words_that_a_layer_lacks_have_the_id_of_its_own_token():
    known = ["<bos>", "<eos>", "dog"]
    lookup = keras.layers.StringLookup(vocabulary=known, oov_token="[?]")
    vocabulary = as_vocabulary(lookup)
    assert vocabulary.encode("dog zebra") == [*lookup(["dog", "zebra"])]
    assert vocabulary.unk == 0
    lookup = keras.layers.StringLookup(vocabulary=known, num_oov_indices=0)
    assert as_vocabulary(lookup).encode("dog") == [2]
    with pytest.raises(KeyError, match="zebra"):
        as_vocabulary(lookup).encode("dog zebra")
    # It pads with its own mask.
    lookup = keras.layers.StringLookup(vocabulary=known, mask_token="[MASK]")
    vocabulary = as_vocabulary(lookup)
    assert vocabulary.pad == 0 and vocabulary.tokens[0] == "[MASK]"
    assert vocabulary.encode("dog zebra") == [*lookup(["dog", "zebra"])]


def test_captions_are_encoded_by_a_tokenizer_as_they_are_written():
    vocabulary = as_vocabulary(characters(), bos="^", eos="$", pad="$")
    texts = [["A bus", "a bus"], ["red dogs"]]
    split = CaptionSplit([7, 9], texts, ["", ""], ["", ""])
    captions = EncodedCaptions.from_split(split, vocabulary, max_length=7)
    assert captions.counts.tolist() == [2, 1]
    assert captions.references.shape == (2, 2, 7)
    assert (captions.references[1, 1] == vocabulary.pad).all()
    found = vocabulary.decode_batch(captions.references)
    assert found == [["[UNK] bus", "a bus"], ["red do", ""]]
    # Words are counted, of which no two images share one.
    assert captions.document_frequencies().words == ()


def test_special_ids_can_be_given():
    vocabulary = as_vocabulary(
        Transformers(), pad=0, eos=("</s>", 1), unk="us", size=9
    )
    assert (vocabulary.pad, vocabulary.eos, vocabulary.unk) == (0, (5, 1), 2)
    assert vocabulary.encode("red", eos=True) == [3, 5]
    # Ids that only the model has mean nothing.
    assert vocabulary.size == 9 and vocabulary.decode([3, 8, 1, 3]) == "red"
    assert vocabulary != as_vocabulary(Transformers())


@pytest.mark.parametrize(
    "tokenizer, options, message",
    [
        (Transformers(), {"eos": 6}, r"`eos` must be an id in \[0, 6\) or a"),
        (Transformers(), {"pad": "<none>"}, "`pad` must be an id"),
        (Transformers(), {"size": 5}, "`size` must be at least 6"),
        (Vocabulary(WORDS), {"eos": 2}, "not be given for a vocabulary"),
        (layer(vocabulary=WORDS), {}, "`eos`, .* must be known"),
        (layer(output_mode="multi_hot", vocabulary=WORDS), {}, 'mode="int"`'),
        (WORDS, {}, "be a tokenizer of Keras"),
    ],
)
def test_what_cannot_be_a_vocabulary_is_refused(tokenizer, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_vocabulary(tokenizer, **options)


def test_what_a_vocabulary_of_a_tokenizer_lacks_is_told():
    words = Vocabulary(WORDS)
    with pytest.raises(TypeError, match="`tokenizer` must split strings"):
        word_pieces(words, words)
    with pytest.raises(TypeError, match="saved by the library"):
        as_vocabulary(keras_layer()).save("vocabulary.json")
    with pytest.raises(ValueError, match=r"`ids` must lie in \[0, 10\)"):
        as_vocabulary(keras_layer()).decode(np.array([4, 10]))
