import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import SequenceCrossentropy

TOKENS = np.array([[[3, 4, 2], [5, 2, 0]], [[2, 0, 0], [0, 0, 0]]])
LOGITS = np.random.default_rng(0).normal(size=(2, 2, 3, 6)).astype("float32")


def sequence_crossentropy(tokens, logits, over="sequence", pad=0):
    return SequenceCrossentropy(over, reduction=None, pad=pad)(tokens, logits)


def word_losses():
    losses = np.zeros(TOKENS.shape)
    for index, token in np.ndenumerate(TOKENS):
        if token:
            exp = np.exp(LOGITS[index].astype("float64"))
            losses[index] = -np.log(exp[token] / exp.sum())
    return losses


def test_equals_a_loop_over_the_formula():
    words = word_losses()
    for over, wanted in (("sequence", words.sum(-1)), ("token", words)):
        found = sequence_crossentropy(TOKENS, LOGITS, over)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("over", ["sequence", "token"])
def test_padding_may_have_another_id(over):
    """Of which it is where the two have changed places."""
    places = np.array([5, 1, 2, 3, 4, 0])
    tokens, logits = places[TOKENS], LOGITS[..., places]
    np.testing.assert_allclose(
        sequence_crossentropy(tokens, logits, over, pad=5),
        sequence_crossentropy(TOKENS, LOGITS, over),
        rtol=1e-6,
    )
    loss = SequenceCrossentropy(over, pad=5)
    loss = SequenceCrossentropy.from_config(loss.get_config())
    mask = TOKENS != 3
    np.testing.assert_array_equal(
        loss.hide(tokens, mask), np.where(mask, tokens, 5)
    )
    wanted = SequenceCrossentropy(over)(np.where(mask, TOKENS, 0), LOGITS)
    hidden = loss.hide(tokens, mask)
    np.testing.assert_allclose(loss(hidden, logits), wanted, rtol=1e-6)


@pytest.mark.parametrize("over, count", [("sequence", 3), ("token", 6)])
def test_a_mean_counts_what_is_not_padding(over, count):
    loss = SequenceCrossentropy(reduction_over=over)(TOKENS, LOGITS)
    np.testing.assert_allclose(
        loss, word_losses().sum() / count, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("over", ["sequence", "token"])
def test_logits_under_padding_have_no_say(over):
    loss = SequenceCrossentropy(reduction_over=over)
    logits = np.where(TOKENS[..., None] == 0, 1e4, LOGITS)
    np.testing.assert_allclose(
        loss(TOKENS, logits), loss(TOKENS, LOGITS), rtol=1e-6, atol=1e-6
    )


def test_word_ids_beyond_half_precision_are_kept():
    keras.config.set_floatx("float16")
    try:
        loss = SequenceCrossentropy()
        logits = tf.one_hot([[4097]], 5000, on_value=50.0)
        value = loss(np.array([[4097]]), tf.cast(logits, "float16"))
    finally:
        keras.config.set_floatx("float32")
    assert value.dtype == "float32" and float(value) < 1e-3


def test_gradient_of_padding_is_zero():
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = SequenceCrossentropy()(TOKENS, logits)
    slopes = np.abs(tape.gradient(loss, logits)).sum(-1)
    np.testing.assert_array_equal(slopes > 0, TOKENS > 0)


def test_trains_a_functional_model_whose_embedding_sends_a_mask():
    inputs = keras.Input((3,), dtype="int32")
    x = keras.layers.Embedding(6, 8, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(6)(x))
    model.compile("adam", loss=SequenceCrossentropy(), run_eagerly=True)
    words = np.array([[1, 3, 4], [1, 5, 0]])
    model.fit(words, TOKENS[0], epochs=2, verbose=0)
    loss = model.evaluate(words, TOKENS[0], verbose=0)
    wanted = np.mean(sequence_crossentropy(TOKENS[0], model(words)))
    np.testing.assert_allclose(loss, wanted, rtol=1e-5, atol=1e-6)


def test_the_output_of_a_softmax_is_refused():
    probabilities = keras.ops.softmax(keras.ops.zeros((1, 2, 4)))
    with pytest.raises(ValueError, match="`y_pred` must be logits"):
        SequenceCrossentropy()(np.array([[3, 2]]), probabilities)


def test_anything_but_sequence_or_token_is_refused():
    with pytest.raises(ValueError, match="`reduction_over` must be one of"):
        SequenceCrossentropy(reduction_over="batch")
