import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import Categorical
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ReinMax
from tfcap.layers import ReinMaxCV
from tfcap.layers import ReinMaxRao
from tfcap.layers import WordChannel

CHANNELS = [
    *(Categorical, GumbelSoftmaxST, PartialSamplingST),
    *(ReinMax, GumbelRao, ReinMaxRao, ReinMaxCV),
    *(
        pytest.param(
            functools.partial(each, rho=0.5), id=f"{each.__name__}-rho"
        )
        for each in (GumbelSoftmaxST, ReinMax, GumbelRao, ReinMaxRao, ReinMaxCV)
    ),
]
SHAPES = [(5,), (2, 5), (2, 3, 5), (2, 3, 4, 5)]


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_any_leading_shape_is_taken(channel, shape):
    logits = np.random.default_rng(0).normal(size=shape).astype("float32")
    for training in (True, False):
        words = channel(seed=0)(logits, training=training).numpy()
        assert words.shape == shape
        np.testing.assert_allclose(words.sum(-1), 1, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("channel", CHANNELS)
def test_batch_and_steps_may_be_dynamic(channel):
    layer = channel(seed=0)

    emit = tf.function(
        lambda logits: layer(logits, training=True),
        input_signature=[tf.TensorSpec((None, None, 5))],
        autograph=False,
    )
    assert emit(tf.zeros((2, 3, 5))).shape == (2, 3, 5)
    assert emit(tf.zeros((4, 1, 5))).shape == (4, 1, 5)


@pytest.mark.parametrize("channel", CHANNELS)
def test_inference_is_the_argmax_and_a_tie_has_one_winner(channel):
    logits = np.array([[1.0, 3.0, 3.0], [0.0, 0.0, 0.0]], "float32")
    words = channel()(logits, training=False).numpy()
    np.testing.assert_array_equal(words, [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_masked_word_is_never_emitted(channel):
    logits = np.zeros((500, 4), "float32")
    logits[:, 2] = -1e9
    layer = channel(seed=0)
    assert layer(logits, training=True).numpy()[:, 2].max() == 0.0


@pytest.mark.parametrize("channel", CHANNELS[1:])
def test_a_masked_word_has_no_gradient(channel):
    logits = np.zeros((50, 4), "float32")
    logits[:, 2] = -1e9
    logits, layer = tf.constant(logits), channel(seed=0)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        words = layer(logits, training=True)
        value = tf.reduce_sum(tf.sin(words * [1.0, 2.0, 3.0, 4.0]))
    slopes = tape.gradient(value, logits).numpy()
    assert (slopes[:, 2] == 0).all()
    assert (np.abs(slopes[:, 3]) > 1e-3).any()


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_words_are_exactly_one_hot(channel, policy):
    layer = channel(seed=0, dtype=policy)
    if not layer.discrete:
        layer.rho.assign(0.0)
    logits = np.random.default_rng(0).normal(size=(50, 4097))
    words = layer(logits.astype("float32"), training=True)
    assert words.dtype == layer.compute_dtype
    words = tf.cast(words, "float32").numpy()
    assert set(np.unique(words)) == {0.0, 1.0}
    assert (words.sum(-1) == 1).all()


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_mask_of_the_steps_is_passed_on(channel):
    embed = keras.layers.Embedding(5, 5, mask_zero=True)
    words = channel()(embed(np.array([[1, 2, 0]])))
    np.testing.assert_array_equal(
        keras.src.backend.get_keras_mask(words), [[True, True, False]]
    )


@pytest.mark.parametrize(
    "channel, temperature",
    [
        *((Categorical, 0.5), (Categorical, 1.0), (Categorical, 2.0)),
        *((GumbelSoftmaxST, 0.1), (GumbelSoftmaxST, 5.0), (ReinMax, 2.0)),
        (lambda temperature, seed: PartialSamplingST(0.0, seed=seed), 1.0),
    ],
)
def test_words_come_from_the_distribution(channel, temperature):
    wanted, n = np.array([0.6, 0.3, 0.1]), 20_000
    logits = np.tile(np.log(wanted), (n, 1))
    words = channel(temperature, seed=0)(logits, training=True).numpy()
    assert set(np.unique(words)) == {0.0, 1.0}
    if channel is Categorical:
        # Elsewhere a temperature is that of the gradient.
        wanted = wanted ** (1 / temperature)
        wanted /= wanted.sum()
    error = np.sqrt(wanted * (1 - wanted) / n)
    assert (np.abs(words.mean(0) - wanted) < 4 * error).all()


def test_no_gradient_passes_through_words_that_are_plainly_drawn():
    logits = tf.constant([[1.0, 0.0, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        words = Categorical(seed=0)(logits, training=True)
    assert tape.gradient(words, logits) is None


def test_channels_that_emit_nothing_but_words_are_discrete():
    assert Categorical().discrete and GumbelSoftmaxST().discrete
    assert not GumbelSoftmaxST(rho=0.5).discrete
    assert not PartialSamplingST(0.1).discrete
    # Built with zero, it is so for good.
    assert PartialSamplingST(0.0).discrete
    assert not hasattr(PartialSamplingST(0.0).rho, "assign")


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: Categorical(0.0), "must be positive.*temperature="),
        (lambda: Categorical(-1.0), "must be positive.*temperature="),
        (lambda: GumbelSoftmaxST(0.0), "must be positive.*temperature="),
        (lambda: GumbelSoftmaxST(-1.0), "must be positive.*temperature="),
        (lambda: PartialSamplingST(-0.1), r"must be in \[0, 1\].*rho="),
        (lambda: PartialSamplingST(1.1), r"must be in \[0, 1\].*rho="),
        (
            lambda: PartialSamplingST(granularity="word"),
            "granularity='word'",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_a_vocabulary_of_unknown_size_is_refused():
    with pytest.raises(ValueError, match="static last axis"):
        Categorical()(keras.Input((3, None)))


def test_the_output_of_a_softmax_is_refused_when_a_step_is_traced():
    model = keras.Sequential(
        [keras.layers.Dense(5, activation="softmax"), PartialSamplingST()]
    )
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="`logits` must be logits.*activation"):
        model.fit(np.zeros((2, 3)), np.zeros((2, 5)), verbose=0)


def test_the_base_class_leaves_emit_to_its_subclasses():
    with pytest.raises(NotImplementedError):
        WordChannel()(np.zeros((2, 3)), training=True)


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_drawn_one_hot_vector_stands_for_its_word(channel):
    layer = channel(seed=0)
    if not layer.discrete:
        layer.rho.assign(0.0)
    words, ids = layer.draw(np.zeros((2, 3, 5), "float32"))
    np.testing.assert_array_equal(np.argmax(words, -1), ids)
