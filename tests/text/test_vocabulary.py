import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcap.text import Vocabulary
from tfcap.text import word_tokenize

VOCABULARY = Vocabulary(["a", "dog", "cat"])


def test_special_ids_come_first_and_words_in_their_order():
    special = VOCABULARY.pad, VOCABULARY.bos, VOCABULARY.eos, VOCABULARY.unk
    assert special == (0, 1, 2, 3)
    assert VOCABULARY.encode(["a", "dog", "cat"]) == [4, 5, 6]
    assert VOCABULARY.size == len(VOCABULARY) == 7
    assert VOCABULARY.words == ("a", "dog", "cat")
    # Words are cut before the end is appended.
    ids = VOCABULARY.encode(["a", "dog", "cat"], max_length=2, eos=True)
    assert ids == [4, 5, 2]
    assert VOCABULARY.encode(["zebra"]) == [VOCABULARY.unk]
    assert VOCABULARY.decode([4, 3]) == "a <unk>"


def test_a_sentence_says_no_special_token():
    said = ["<pad>", "a", "<eos>", "<bos>", "<unk>", "dog"]
    wanted = [3, 4, 3, 3, 3, 5, 2]
    assert VOCABULARY.encode(said, eos=True) == wanted
    assert VOCABULARY.encode_batch([said], eos=True).tolist() == [wanted]
    asked = [VOCABULARY.ids[token] for token in VOCABULARY.tokens[:4]]
    assert asked == [0, 1, 2, 3] and "<eos>" in VOCABULARY


@pytest.mark.parametrize("eos", [False, True])
@pytest.mark.parametrize("max_length", [None, 0, 2, 5])
def test_batches_equal_their_sentences(max_length, eos):
    sentences = [["a", "dog", "zebra"], [], ["cat"]]
    ids = [VOCABULARY.encode(words, max_length, eos) for words in sentences]
    padded = VOCABULARY.encode_batch(sentences, max_length, eos=eos)
    width = (3 if max_length is None else max_length) + eos
    assert padded.shape == (3, width) and padded.dtype == np.int32
    assert padded.tolist() == [row + [0] * (width - len(row)) for row in ids]
    flat, splits = VOCABULARY.encode_ragged(sentences, max_length, eos=eos)
    assert flat.dtype == np.int32 and splits.dtype == np.int64
    assert flat.tolist() == sum(ids, [])
    assert splits.tolist() == [0, *np.cumsum([*map(len, ids)])]
    assert VOCABULARY.encode_batch([], 4, eos=eos).shape == (0, 4 + eos)
    assert VOCABULARY.encode_ragged([])[1].tolist() == [0]


def test_decoding_stops_at_the_end_and_skips_padding():
    assert VOCABULARY.decode(np.array([1, 4, 0, 5, 2, 6])) == "a dog"


def test_words_below_the_count_are_left_out_the_frequent_first():
    counts = Counter({"b": 5, "a": 5, "rare": 4, "often": 9, "<unk>": 7})
    assert Vocabulary.from_counts(counts, 5).words == ("often", "a", "b")


def test_file_and_config_round_trips_give_an_equal_vocabulary(tmp_path):
    vocabulary = Vocabulary(word_tokenize("un café, s'il vous plaît!"))
    vocabulary.save(tmp_path / "words.json")
    assert Vocabulary.load(tmp_path / "words.json") == vocabulary
    assert Vocabulary.from_config(vocabulary.get_config()) == vocabulary
    assert vocabulary != Vocabulary(["un"])


@pytest.mark.parametrize("content", ["{", "[1]", '{"words": ["a"]}'])
def test_another_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"other\.json.*Vocabulary\.save"):
        Vocabulary.load(path)


@pytest.mark.parametrize("words", [["a", "a"], [""], ["<eos>"], [3]])
def test_words_that_cannot_be_told_apart_are_refused(words):
    with pytest.raises(ValueError, match="`words` must be"):
        Vocabulary(words)


@given(st.lists(st.lists(st.sampled_from(["a", "dog", "cat"]))), st.booleans())
def test_what_was_encoded_decodes_to_itself(batch, eos):
    sentences = [" ".join(tokens) for tokens in batch]
    padded = VOCABULARY.encode_batch(batch, eos=eos)
    assert VOCABULARY.decode_batch(padded) == sentences
    assert VOCABULARY.decode_batch(padded.tolist()) == sentences
    ids, splits = VOCABULARY.encode_ragged(batch, eos=eos)
    rows = np.split(ids, splits[1:-1])[: len(batch)]
    assert VOCABULARY.decode_batch(rows) == sentences


def test_samples_and_tensors_decode_too():
    tf = pytest.importorskip("tensorflow")
    ids = np.array([[[4, 2, 0], [5, 4, 2]], [[6, 0, 0], [2, 9, 9]]])
    wanted = [["a", "dog a"], ["cat", ""]]
    assert VOCABULARY.decode_batch(ids) == wanted
    assert VOCABULARY.decode_batch(tf.constant(ids)) == wanted
    assert VOCABULARY.decode_batch(ids.tolist()) == wanted
    ragged = tf.ragged.constant([[4, 5], [], [6]])
    assert VOCABULARY.decode_batch(ragged) == ["a dog", "", "cat"]
    assert VOCABULARY.decode(tf.constant([4, 5])) == "a dog"


@pytest.mark.parametrize("bad", [7, -1, 2**40])
def test_an_id_out_of_range_is_named_with_the_size(bad):
    with pytest.raises(ValueError, match=rf"\[0, 7\).*Received: {bad} at in"):
        VOCABULARY.decode([4, bad])
    with pytest.raises(ValueError, match=rf"^`ids`.*: {bad} at index 2"):
        VOCABULARY.decode_batch([[4, 4, 4], [4, 5, bad]])
    assert VOCABULARY.decode([4, 2, bad]) == "a"


@pytest.mark.parametrize("bad", [[4.5], ["a"], [None], 3, "a dog", None])
def test_what_is_no_id_is_refused(bad):
    with pytest.raises(TypeError, match="`ids` must be"):
        VOCABULARY.decode(bad)
    with pytest.raises(TypeError, match="`ids` must be"):
        VOCABULARY.decode_batch([bad])


def test_karpathy_keeps_words_seen_more_than_five_times(shared_data):
    with gzip.open(shared_data / "ucm" / "captions.jsonl.gz", "rt") as file:
        images = [json.loads(line) for line in file]
    words = json.loads((shared_data / "ucm" / "ix_to_word.json").read_text())
    tokens = (w for image in images for row in image["tokens"] for w in row)
    counts = Counter(tokens)
    # A word of that data set is the empty string.
    empty = counts.pop("") > 5
    vocabulary = Vocabulary.from_counts(counts, min_count=6)
    assert {*vocabulary.words, "", "UNK"} == set(words.values())
    assert len(vocabulary.words) + 1 + empty == len(words) == 301


def test_an_untokenized_sentence_is_refused():
    with pytest.raises(TypeError, match="word_tokenize"):
        VOCABULARY.encode("a dog")
    with pytest.raises(TypeError, match="word_tokenize"):
        VOCABULARY.encode_batch(["a dog"], 3)
    with pytest.raises(TypeError, match="word_tokenize"):
        VOCABULARY.encode_ragged([["a"], "dog"])


def test_a_changed_word_shows_and_older_files_have_no_checksum(tmp_path):
    path = tmp_path / "VOCABULARY.json"
    Vocabulary(["cat", "dog"]).save(path)
    text = path.read_text()
    path.write_text(text.replace("cat", "cow"))
    with pytest.raises(ValueError, match="VOCABULARY.json'.*not what was"):
        Vocabulary.load(path)
    content = json.loads(text)
    del content["sha256"]
    path.write_text(json.dumps(content))
    assert Vocabulary.load(path) == Vocabulary(["cat", "dog"])
