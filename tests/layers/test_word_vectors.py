import keras
import numpy as np
import pytest
from keras import ops

from tests.gradients import differentiated
from tests.gradients import gradients
from tfcap.layers import Categorical
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ReinMax
from tfcap.layers import ReinMaxCV
from tfcap.layers import ReinMaxRao
from tfcap.layers import SoftEmbedding
from tfcap.layers import WordChannel
from tfcap.layers import _fast
from tfcap.layers import embed_words
from tfcap.layers._fast import WordIds
from tfcap.layers._fast import cast_words
from tfcap.layers._fast import ids_of_words
from tfcap.layers._fast import known_words
from tfcap.layers._fast import mask_words
from tfcap.layers._fast import remember_words
from tfcap.layers._fast import remembered_words
from tfcap.layers._fast import stack_words

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(4, 3, 11)).astype("float32")
TABLE = RNG.normal(size=(11, 5)).astype("float32")
CHANNELS = {
    "words": lambda: GumbelSoftmaxST(0.5, seed=0),
    "some words": lambda: PartialSamplingST(0.5, seed=0),
    "no words": lambda: PartialSamplingST(1.0, seed=0),
    "ReinMax": lambda: ReinMax(seed=0),
    "ReinMax, some": lambda: ReinMax(rho=0.5, seed=0),
    "Gumbel-Rao": lambda: GumbelRao(0.5, 3, seed=0),
    "Gumbel-Rao, some": lambda: GumbelRao(0.5, 3, rho=0.5, seed=0),
    "ReinMax-Rao": lambda: ReinMaxRao(num_samples=3, seed=0),
    "ReinMax-Rao, some": lambda: ReinMaxRao(num_samples=3, rho=0.5, seed=0),
    "ReinMax-CV": lambda: ReinMaxCV(num_samples=3, seed=0),
    "ReinMax-CV, some": lambda: ReinMaxCV(num_samples=3, rho=0.5, seed=0),
}


def forgetful(vectors, table):
    return ops.matmul(vectors + 0.0, table)


@pytest.mark.parametrize("kind", CHANNELS)
def test_looking_up_is_multiplying(kind):
    def loss(product):
        channel = CHANNELS[kind]()

        def function(logits, table):
            embedded = product(channel(logits, training=True), table)
            return ops.sum(ops.sin(embedded))

        return function

    ours = gradients(loss(embed_words), LOGITS, TABLE)
    plain = gradients(loss(forgetful), LOGITS, TABLE)
    for one, other in zip(ours, plain):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_many_equal_words_are_added_up_in_half_precision(dtype):
    """A sum in half precision stops to grow at a few hundred."""
    words = remember_words(np.eye(3)[[1] * 4096], WordIds(np.full(4096, 1)))

    def loss(table):
        embedded = embed_words(words, ops.cast(table, dtype))
        return ops.sum(ops.cast(embedded, "float32"))

    _, found = gradients(loss, np.ones((3, 2), "float32"))
    np.testing.assert_array_equal(found, [[0, 0], [4096, 4096], [0, 0]])


@pytest.mark.parametrize("kind", CHANNELS)
@pytest.mark.parametrize(
    "dtypes", [("float32", "bfloat16"), ("bfloat16", "float32")]
)
def test_words_and_table_may_be_of_two_dtypes(kind, dtypes):
    of_words, of_table = dtypes

    def loss(product):
        channel = CHANNELS[kind]()

        def function(logits, table):
            words = cast_words(channel(logits, training=True), of_words)
            embedded = product(words, ops.cast(table, of_table))
            return ops.sum(ops.sin(ops.cast(embedded, "float32")))

        return function

    ours = gradients(loss(embed_words), LOGITS, TABLE)
    plain = gradients(loss(forgetful), LOGITS, TABLE)
    for one, other in zip(ours, plain):
        np.testing.assert_allclose(one, other, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("kind", CHANNELS)
def test_looking_up_twice_differentiated_is_multiplying(kind):
    def penalty(product):
        def loss(logits, table):
            words = CHANNELS[kind]()(logits, training=True)
            # Two readers of the same words; the second one after a mask.
            told = mask_words(words, np.float32([[1, 0, 1]] * 4))
            twice = product(words, table), product(told, table * table)
            return sum(ops.sum(ops.sin(x)) for x in twice)

        def function(logits, table):
            _, *first = differentiated(loss, logits, table)
            return sum(ops.sum(ops.sin(3.0 * x)) for x in first)

        return function

    ours = gradients(penalty(embed_words), LOGITS, TABLE)
    plain = gradients(penalty(forgetful), LOGITS, TABLE)
    for one, other in zip(ours, plain):
        assert np.abs(other).max() > 0.1
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", [x for x in CHANNELS if x != "no words"])
def test_words_are_looked_up_to_the_bit(kind):
    words = CHANNELS[kind]()(LOGITS, training=True)
    hard = np.max(words, axis=-1) == 1
    assert hard.any()
    ours, plain = embed_words(words, TABLE), forgetful(words, TABLE)
    np.testing.assert_array_equal(np.asarray(ours)[hard], plain[hard])


def test_what_two_masks_hide_stands_for_no_word():
    words = CHANNELS["words"]()(LOGITS, training=True)
    first, second = np.float32([[1, 0, 1]] * 4), np.float32([[1, 1, 0]] * 4)
    twice = mask_words(mask_words(words, first), second)
    hidden = (first * second)[..., None]
    np.testing.assert_array_equal(
        embed_words(twice, TABLE), embed_words(words, TABLE) * hidden
    )
    np.testing.assert_array_equal(twice, words * hidden)


def test_the_vectors_themselves_are_not_read():
    vectors = ops.full((2, 11), np.nan)
    ids = ops.convert_to_tensor([3, 1], "int32")
    there = ops.convert_to_tensor([True, False])
    remember_words(vectors, WordIds(ids, mask=there))
    found = embed_words(vectors, TABLE)
    np.testing.assert_array_equal(found, [TABLE[3], 0 * TABLE[0]])


@pytest.mark.parametrize("kind", CHANNELS)
def test_the_vectors_of_a_channel_are_noted_and_not_read(kind):
    words = CHANNELS[kind]()(LOGITS, training=True)
    noted = remembered_words(words)
    hard = np.max(words, axis=-1) == 1
    assert hard.any() == (kind != "no words")
    ids = ops.convert_to_numpy(noted.ids)
    np.testing.assert_array_equal(ids[hard], np.argmax(words, -1)[hard])
    relaxed = "some" in kind or kind == "no words"
    assert hard.all() != relaxed
    if relaxed and keras.backend.backend() != "tensorflow":
        assert known_words(words) is None
        return
    unread = remember_words(ops.full(LOGITS.shape, np.nan), noted)
    found = embed_words(unread, TABLE)
    np.testing.assert_allclose(
        found, forgetful(words, TABLE), rtol=1e-5, atol=1e-6
    )


def test_vectors_of_unknown_origin_are_multiplied():
    np.testing.assert_allclose(
        embed_words(LOGITS, TABLE), LOGITS @ TABLE, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("kind", CHANNELS)
def test_masked_steps_become_sequences_that_embed_alike(kind):
    channel, mask = CHANNELS[kind](), np.float32([[1, 1, 0], [1, 0, 0]] * 2)
    columns = [
        mask_words(channel(LOGITS[:, t], training=True), mask[:, t])
        for t in range(3)
    ]
    words = stack_words(columns, num_samples=2)
    assert words.shape == (2, 2, 3, 11)
    ours, plain = embed_words(words, TABLE), forgetful(words, TABLE)
    np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)
    assert (np.asarray(ours)[mask.reshape(2, 2, 3) == 0] == 0).all()


def test_steps_are_forgotten_where_one_of_them_is():
    column = Categorical(seed=0)(LOGITS[:, 0], training=True)
    other = ops.convert_to_tensor(LOGITS[:, 1])
    words = stack_words([column, other], num_samples=1)
    assert remembered_words(words) is None


def test_ids_are_those_that_are_remembered_or_largest():
    vectors = ops.convert_to_tensor(np.eye(4, dtype="float32"))
    np.testing.assert_array_equal(ids_of_words(vectors), np.arange(4))
    remember_words(vectors, WordIds(np.array([3, 2, 1, 0])))
    np.testing.assert_array_equal(ids_of_words(vectors), [3, 2, 1, 0])


def test_nothing_is_kept_of_a_tensor_that_is_gone():

    before = len(_fast._KEPT)
    words = Categorical(seed=0)(LOGITS)
    assert remembered_words(words) is not None
    del words
    assert len(_fast._KEPT) == before


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="has slices on TensorFlow"
)
def test_the_table_has_a_gradient_that_optimizers_clip_rightly():
    import tensorflow as tf

    layer = SoftEmbedding(11, 5)
    layer.build((None, 11))
    before = layer.embeddings.numpy()
    words = Categorical(seed=0)(np.eye(11, dtype="float32")[[3, 3, 3]] * 99)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(words))
    slopes = tape.gradient(loss, layer.trainable_variables)
    optimizer = keras.optimizers.SGD(1.0, clipvalue=0.5)
    optimizer.apply(slopes, layer.trainable_variables)
    moved = before - layer.embeddings.numpy()
    np.testing.assert_allclose(moved[3], 0.5, rtol=1e-5, atol=1e-6)
    assert (np.delete(moved, 3, axis=0) == 0).all()


class Composed(WordChannel):
    """A channel that a user makes of another."""

    def __init__(self):
        super().__init__()
        self.inner = PartialSamplingST(0.7, seed=0)

    def emit(self, logits, noise=None):
        return self.inner(logits, training=True)


def test_a_relaxed_vector_stands_for_the_word_drawn_with_it():
    channel = Composed()
    logits = np.zeros((200, 11), "float32")
    vectors, ids = channel.draw(logits)
    relaxed = np.max(vectors, axis=-1) < 1
    assert 100 < relaxed.sum() < 180
    assert set(np.asarray(ids)) == set(range(11))
    hard = np.argmax(np.asarray(vectors)[~relaxed], axis=-1)
    np.testing.assert_array_equal(np.asarray(ids)[~relaxed], hard)
