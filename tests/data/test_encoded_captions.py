import collections
import dataclasses
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from tests.data.tiny_captions import COUNTS
from tests.data.tiny_captions import tiny_captions
from tests.data.tiny_captions import tiny_split
from tests.text.golden_captions import GOLDEN
from tests.text.test_caption_tokenization import read_captions
from tfcap.data import CaptionSplit
from tfcap.data import EncodedCaptions
from tfcap.data import build_vocabulary
from tfcap.data import tokenize_captions
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.text import caption_tokenize
from tfcap.text.caption_tokenization import caption_tokenize_batch


def make(captions, tokens=None):
    names = [f"{i}.jpg" for i in range(len(captions))]
    return CaptionSplit(names, captions, names, names, tokens)


def test_words_count_over_all_captions_as_the_evaluation_splits_them():
    split = tiny_split()
    texts = [text for captions in split.captions for text in captions]
    counts = collections.Counter(sum(map(caption_tokenize, texts), []))
    for least in 1, 2, 5:
        wanted = {word for word, count in counts.items() if count >= least}
        found = build_vocabulary(split, least).words
        assert set(found) == wanted and found[0] == "number"
    assert len(build_vocabulary(split).words) == len(wanted)


def test_words_of_the_file_come_before_those_of_the_tokenizer():
    tokens = [[["a", "t-shirt"]], [["its", "a", "dog"]]]
    split = make([["A T-shirt!"], ["It's a dog."]], tokens=tokens)
    vocabulary = build_vocabulary(split, min_count=1)
    assert set(vocabulary.words) == {"a", "t-shirt", "its", "dog"}
    captions = EncodedCaptions.from_split(split, vocabulary, 5)
    assert vocabulary.decode(captions.references[1, 0]) == "its a dog"
    bare = dataclasses.replace(split, tokens=None)
    captions = EncodedCaptions.from_split(bare, vocabulary, 5)
    said = vocabulary.decode(captions.references[1, 0])
    assert said == "<unk> <unk> a dog"


def test_every_caption_is_in_its_place_and_ends():
    split, captions = tiny_split(), tiny_captions()
    vocabulary = captions.vocabulary
    assert captions.references.shape == (11, 3, 6)
    assert captions.references.dtype == np.int32
    assert captions.counts.tolist() == list(COUNTS) and len(captions) == 11
    assert captions.image_ids.dtype == np.int64
    assert captions.image_ids.tolist() == split.image_ids
    assert captions.texts == split.captions
    for row, texts in zip(captions.references, split.captions):
        for ids, text in zip(row, texts):
            words = caption_tokenize(text)
            assert vocabulary.decode(ids) == " ".join(words)
            assert ids[len(words)] == vocabulary.eos
            assert not ids[len(words) + 1 :].any()
        assert not row[len(texts) :].any()


def test_long_captions_are_cut_and_end_all_the_same():
    captions = tiny_captions(max_length=3)
    eos = captions.vocabulary.eos
    present = captions.references[captions.references[..., 0] > 0]
    assert present.shape == (sum(COUNTS), 3)
    assert (present[:, 2] == eos).all() and (present[:, :2] != eos).all()
    longer = tiny_captions(max_length=6).references[0, 0, :2]
    np.testing.assert_array_equal(captions.references[0, 0, :2], longer)
    with pytest.raises(ValueError, match="max_length=1"):
        tiny_captions(max_length=1)


def test_a_caption_of_punctuation_alone_is_an_end_token():
    split = make([["...", "a dog"]])
    captions = EncodedCaptions.from_split(split, Vocabulary(["a", "dog"]), 4)
    assert captions.references.tolist() == [[[2, 0, 0, 0], [4, 5, 2, 0]]]
    assert captions.counts.tolist() == [2]
    assert captions.image_ids.tolist() == ["0.jpg"]


def test_captions_that_say_special_tokens_lose_nothing():
    split = make([["<pad> sign", "a <eos> dog on a cat", "a <unk> sign"]])
    vocabulary = build_vocabulary(split, min_count=1)
    assert {*vocabulary.words} == {"a", "sign", "dog", "on", "cat"}
    captions = EncodedCaptions.from_split(split, vocabulary, 8)
    assert captions.counts.tolist() == [3]
    wanted = ["<unk> sign", "a <unk> dog on a cat", "a <unk> sign"]
    assert vocabulary.decode_batch(captions.references[0]) == wanted


def test_an_image_without_a_caption_is_refused():
    told = r"2 of 3 images without a caption \(1.jpg, 2.jpg\)"
    with pytest.raises(ValueError, match=told):
        EncodedCaptions.from_split(make([["a"], [], []]), Vocabulary(["a"]))


def test_document_frequencies_are_counted_once_from_what_a_reward_reads():
    split, captions = tiny_split(), tiny_captions(max_length=3)
    found = captions.document_frequencies()
    assert captions.document_frequencies() is found
    cut = [[caption_tokenize(x)[:2] for x in row] for row in split.captions]
    vocabulary = captions.vocabulary
    wanted = DocumentFrequencies.from_references(cut, vocabulary)
    assert found.num_documents == 11 and len(found) > 5
    np.testing.assert_array_equal(found.keys, wanted.keys)
    np.testing.assert_array_equal(found.counts, wanted.counts)


pytest.importorskip("tensorflow_text")

CAPTIONS = [*GOLDEN]
# Traced once.
TRACED = tf.function(
    tokenize_captions, input_signature=[tf.TensorSpec([None], tf.string)]
)


def words_of(captions):
    rows = TRACED(tf.constant(captions, tf.string)).to_list()
    return [[word.decode() for word in words] for words in rows]


def test_tricky_captions_split_as_java_splits_them():
    assert words_of(CAPTIONS) == [words.split() for words in GOLDEN.values()]
    assert words_of([]) == []
    assert words_of(["", " . "]) == [[], []]


@pytest.mark.parametrize("name, step", [("coco", 25), ("flickr8k", 25)])
def test_real_captions_split_as_on_the_host(shared_data, name, step):
    captions = read_captions(shared_data, name)[::step]
    assert words_of(captions) == caption_tokenize_batch(captions)


unicode = st.text(st.characters(exclude_categories=["Cs"]))
glued = st.text(st.sampled_from("aSTdn'\u2019`.,-:5 /@#&\t()<>=\xe9\u2028"))


@settings(max_examples=50)
@given(st.lists(unicode | glued, max_size=30))
def test_any_unicode_splits_as_on_the_host(captions):
    assert words_of(captions) == caption_tokenize_batch(captions)


def test_a_data_set_is_mapped_in_batches():
    data = tf.data.Dataset.from_tensor_slices(CAPTIONS).batch(7)
    data = data.map(tokenize_captions)
    assert isinstance(data.element_spec, tf.RaggedTensorSpec)
    rows = [row for batch in data for row in batch.to_list()]
    wanted = caption_tokenize_batch(CAPTIONS)
    assert rows == [[word.encode() for word in words] for words in wanted]


def test_a_saved_model_reads_text(tmp_path):
    model = tf.Module()
    model.read = TRACED
    tf.saved_model.save(model, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    words = loaded.read(tf.constant(CAPTIONS)).to_list()
    assert words == TRACED(tf.constant(CAPTIONS)).to_list()


def test_broken_bytes_are_white_space():
    found = tokenize_captions(tf.constant([b"a\xffdog", b"\x80", b"b\xc3"]))
    assert found.to_list() == [[b"a", b"dog"], [], [b"b"]]


def test_one_caption_alone_is_refused():
    with pytest.raises(ValueError, match=r"`texts` must have shape \(B,\)"):
        tokenize_captions("a dog")


def test_a_missing_package_is_named_with_its_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match=r"pip install 'tfcap\[text\]'"):
        tokenize_captions(["a dog"])
