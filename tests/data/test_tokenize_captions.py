import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from tests.text.golden_captions import GOLDEN
from tests.text.test_caption_tokenization import read_captions
from tfcap.data import tokenize_captions
from tfcap.text import Vocabulary
from tfcap.text import caption_tokenize_batch

pytest.importorskip("tensorflow_text")

CAPTIONS = [caption for caption, _ in GOLDEN]
# Traced once.
TRACED = tf.function(
    tokenize_captions, input_signature=[tf.TensorSpec([None], tf.string)]
)


def words_of(captions):
    rows = TRACED(tf.constant(captions, tf.string)).to_list()
    return [[word.decode() for word in words] for words in rows]


def test_tricky_captions_split_as_java_splits_them():
    assert words_of(CAPTIONS) == [words.split() for _, words in GOLDEN]


@pytest.mark.parametrize("name, step", [("coco", 5), ("flickr8k", 5)])
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


@keras.saving.register_keras_serializable(package="tests")
class Reader(keras.layers.Layer):
    """Captions to ids, as a user's model may hold them."""

    def __init__(self, vocabulary, **kwargs):
        super().__init__(**{"dtype": "int32", **kwargs})
        self.vocabulary = vocabulary
        self.supports_jit = False
        tokens = tf.constant(vocabulary.tokens)
        pairs = tf.lookup.KeyValueTensorInitializer(
            tokens, tf.range(vocabulary.size)
        )
        self.table = tf.lookup.StaticHashTable(pairs, vocabulary.unk)

    def call(self, captions):
        words = tokenize_captions(captions)
        ids = words.with_flat_values(self.table.lookup(words.flat_values))
        return ids.to_tensor(shape=[None, 20])

    def compute_output_shape(self, input_shape):
        return (*input_shape, 20)

    def get_config(self):
        vocabulary = self.vocabulary.get_config()
        return {**super().get_config(), "vocabulary": vocabulary}

    @classmethod
    def from_config(cls, config):
        vocabulary = Vocabulary.from_config(config.pop("vocabulary"))
        return cls(vocabulary, **config)


def test_a_saved_model_holds_its_vocabulary_and_reads_text(tmp_path):
    vocabulary = Vocabulary(["a", "dog", "n't", "o'clock", "caf\xe9"])
    captions = keras.Input((), dtype="string")
    ids = Reader(vocabulary, name="reader")(captions)
    model = keras.Model(captions, ids)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.get_layer("reader").vocabulary == vocabulary
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    tokens = caption_tokenize_batch(CAPTIONS)
    wanted = vocabulary.encode_batch(tokens, 20)
    for reads in (model, loaded, exported.serve):
        np.testing.assert_array_equal(reads(tf.constant(CAPTIONS)), wanted)


def test_no_captions_are_no_rows():
    assert words_of([]) == []
    assert words_of(["", " . "]) == [[], []]


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
