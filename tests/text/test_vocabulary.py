import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcap.text import Vocabulary
from tfcap.text import word_tokenize


@pytest.fixture
def vocabulary():
    return Vocabulary(["a", "dog", "cat"])


def test_special_ids_come_first_and_words_in_their_order(vocabulary):
    special = vocabulary.pad, vocabulary.bos, vocabulary.eos, vocabulary.unk
    assert special == (0, 1, 2, 3)
    assert vocabulary.encode(["a", "dog", "cat"]) == [4, 5, 6]
    assert vocabulary.size == len(vocabulary) == 7
    assert vocabulary.words == ("a", "dog", "cat")


def test_words_are_cut_before_the_end_is_appended(vocabulary):
    ids = vocabulary.encode(["a", "dog", "cat"], max_length=2, eos=True)
    assert ids == [4, 5, 2]


def test_unknown_words_are_one_id_and_readable(vocabulary):
    assert vocabulary.encode(["zebra"]) == [vocabulary.unk]
    assert vocabulary.decode([4, 3]) == "a <unk>"


def test_a_sentence_says_no_special_token(vocabulary):
    said = ["<pad>", "a", "<eos>", "<bos>", "<unk>", "dog"]
    wanted = [3, 4, 3, 3, 3, 5, 2]
    assert vocabulary.encode(said, eos=True) == wanted
    assert vocabulary.encode_batch([said], eos=True).tolist() == [wanted]
    asked = [vocabulary.ids[token] for token in vocabulary.tokens[:4]]
    assert asked == [0, 1, 2, 3] and "<eos>" in vocabulary


@pytest.mark.parametrize("eos", [False, True])
@pytest.mark.parametrize("max_length", [None, 0, 2, 5])
def test_a_batch_equals_its_sentences_padded(vocabulary, eos, max_length):
    batch = [["a", "dog", "zebra"], [], ["cat"]]
    width = 3 if max_length is None else max_length
    got = vocabulary.encode_batch(batch, max_length, eos=eos)
    assert got.shape == (3, width + eos) and got.dtype == np.int32
    for row, tokens in zip(got, batch, strict=True):
        ids = vocabulary.encode(tokens, max_length, eos)
        assert row.tolist() == ids + [0] * (len(row) - len(ids))


def test_an_empty_batch_is_an_empty_table(vocabulary):
    assert vocabulary.encode_batch([], 4, eos=True).shape == (0, 5)


def test_decoding_stops_at_the_end_and_skips_padding(vocabulary):
    assert vocabulary.decode(np.array([1, 4, 0, 5, 2, 6])) == "a dog"


def test_words_below_the_count_are_left_out_the_frequent_first():
    counts = Counter({"b": 5, "a": 5, "rare": 4, "often": 9})
    assert Vocabulary.from_counts(counts, 5).words == ("often", "a", "b")


def test_special_tokens_that_a_text_says_are_left_out():
    counts = Counter({"a": 5, "<unk>": 7, "<eos>": 5})
    assert Vocabulary.from_counts(counts, 5).words == ("a",)


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


@pytest.mark.parametrize("eos", [False, True])
@pytest.mark.parametrize("max_length", [None, 0, 2])
def test_ragged_ids_are_those_of_the_sentences(vocabulary, eos, max_length):
    batch = [["a", "dog", "zebra"], [], ["cat"]]
    ids, splits = vocabulary.encode_ragged(batch, max_length, eos=eos)
    assert ids.dtype == np.int32 and splits.dtype == np.int64
    for row, tokens in enumerate(batch):
        wanted = vocabulary.encode(tokens, max_length, eos)
        assert ids[splits[row] : splits[row + 1]].tolist() == wanted
    assert splits.tolist()[0] == 0 and splits[-1] == len(ids)
    assert vocabulary.encode_ragged([])[1].tolist() == [0]


@given(st.lists(st.lists(st.sampled_from(["a", "dog", "cat"]))), st.booleans())
def test_what_was_encoded_decodes_to_itself(batch, eos):
    vocabulary = Vocabulary(["a", "dog", "cat"])
    sentences = [" ".join(tokens) for tokens in batch]
    padded = vocabulary.encode_batch(batch, eos=eos)
    assert vocabulary.decode_batch(padded) == sentences
    assert vocabulary.decode_batch(padded.tolist()) == sentences
    ids, splits = vocabulary.encode_ragged(batch, eos=eos)
    rows = np.split(ids, splits[1:-1])[: len(batch)]
    assert vocabulary.decode_batch(rows) == sentences


def test_samples_and_tensors_decode_too(vocabulary):
    tf = pytest.importorskip("tensorflow")
    ids = np.array([[[4, 2, 0], [5, 4, 2]], [[6, 0, 0], [2, 9, 9]]])
    wanted = [["a", "dog a"], ["cat", ""]]
    assert vocabulary.decode_batch(ids) == wanted
    assert vocabulary.decode_batch(tf.constant(ids)) == wanted
    assert vocabulary.decode_batch(ids.tolist()) == wanted
    ragged = tf.ragged.constant([[4, 5], [], [6]])
    assert vocabulary.decode_batch(ragged) == ["a dog", "", "cat"]
    assert vocabulary.decode(tf.constant([4, 5])) == "a dog"


@pytest.mark.parametrize("bad", [7, -1, 2**40])
def test_an_id_out_of_range_is_named_with_the_size(vocabulary, bad):
    with pytest.raises(ValueError, match=rf"\[0, 7\).*Received: {bad} at in"):
        vocabulary.decode([4, bad])
    with pytest.raises(ValueError, match=rf"^`ids`.*: {bad} at index 2"):
        vocabulary.decode_batch([[4, 4, 4], [4, 5, bad]])
    assert vocabulary.decode([4, 2, bad]) == "a"


@pytest.mark.parametrize("bad", [[4.5], ["a"], [None], 3, "a dog", None])
def test_what_is_no_id_is_refused(vocabulary, bad):
    with pytest.raises(TypeError, match="`ids` must be"):
        vocabulary.decode(bad)
    with pytest.raises(TypeError, match="`ids` must be"):
        vocabulary.decode_batch([bad])


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


def test_an_untokenized_sentence_is_refused(vocabulary):
    with pytest.raises(TypeError, match="word_tokenize"):
        vocabulary.encode("a dog")
    with pytest.raises(TypeError, match="word_tokenize"):
        vocabulary.encode_batch(["a dog"], 3)
    with pytest.raises(TypeError, match="word_tokenize"):
        vocabulary.encode_ragged([["a"], "dog"])


def test_a_changed_word_shows_and_older_files_have_no_checksum(tmp_path):
    path = tmp_path / "vocabulary.json"
    Vocabulary(["cat", "dog"]).save(path)
    text = path.read_text()
    path.write_text(text.replace("cat", "cow"))
    with pytest.raises(ValueError, match="vocabulary.json'.*than was written"):
        Vocabulary.load(path)
    content = json.loads(text)
    del content["sha256"]
    path.write_text(json.dumps(content))
    assert Vocabulary.load(path) == Vocabulary(["cat", "dog"])
