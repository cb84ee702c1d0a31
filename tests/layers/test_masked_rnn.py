import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import sequence_encoder
from tfcap.layers.sequence_encoder import MaskedGRU
from tfcap.layers.sequence_encoder import MaskedLSTM

RNG = np.random.default_rng(0)
#: Of Keras' classes, which ours are to agree with.
KERAS = {MaskedLSTM: keras.layers.LSTM, MaskedGRU: keras.layers.GRU}


def masks(kind, rows, steps):
    length = RNG.integers(1, steps + 1, size=(rows, 1))
    column = np.arange(steps)[None]
    mask = {
        "right": column < length,
        "left": column >= steps - length,
        "holes": RNG.uniform(size=(rows, steps)) < 0.5,
        "full": np.ones((rows, steps), bool),
    }[kind]
    if kind != "full":
        mask[0] = False
    return mask


def sequences(rows=6, steps=5):
    return RNG.normal(size=(rows, steps, 3)).astype("float32")


@pytest.fixture(params=["packed", "trimmed"])
def way(request, monkeypatch):
    """Both ways of computing it, whatever the machine and the length."""
    packs = request.param == "packed"
    monkeypatch.setattr(sequence_encoder, "_packs", lambda width: packs)


def pair(kind, **options):
    """Our layer and Keras', with the same weights."""
    layers = kind(5, **options), KERAS[kind](5, **options)
    for layer in layers:
        layer.build((None, None, 3))
    layers[1].set_weights(layers[0].get_weights())
    return layers


def run(layer, inputs, mask, state, compiled):
    @(tf.function(autograph=False) if compiled else lambda f: f)
    def step():
        with tf.GradientTape() as tape:
            tape.watch([inputs, *state])
            outputs = layer(inputs, mask=mask, initial_state=state)
            value = sum(
                tf.reduce_sum(tf.sin((i + 1.0) * x))
                for i, x in enumerate(tf.nest.flatten(outputs))
            )
        wrt = [inputs, *state, *(v.value for v in layer.trainable_variables)]
        return outputs, tape.gradient(value, wrt)

    return [tf.convert_to_tensor(x) for x in tf.nest.flatten(step())]


@pytest.mark.parametrize("rnn", KERAS)
@pytest.mark.parametrize(
    "kind, sequence, options",
    [
        *(("right", False, {}), ("left", True, {}), ("holes", False, {})),
        *(("holes", True, {"use_bias": False}), ("full", True, {})),
        ("full", False, {"use_bias": False}),
        *(
            (kind, kind != "left", {"zero_output_for_mask": True})
            for kind in ("left", "right", "holes")
        ),
    ],
    ids=str,
)
def test_values_and_gradients_are_those_of_keras(
    way, rnn, kind, sequence, options
):
    options = {
        **{"return_state": True, "bias_initializer": "random_normal"},
        **{"return_sequences": sequence, **options},
    }
    ours, keras_own = pair(rnn, **options)
    inputs = tf.constant(sequences(9, 7))
    names = "hc" if rnn is MaskedLSTM else "h"
    state = [tf.constant(RNG.normal(size=(9, 5)), tf.float32) for _ in names]
    mask = tf.constant(masks(kind, 9, 7))
    wanted = run(keras_own, inputs, mask, state, compiled=False)
    assert len(wanted) == 2 + 2 * len(state) + len(ours.get_weights())
    # Which entries are masked is no part of a graph.
    for compiled in {False, kind == "holes"}:
        got = run(ours, inputs, mask, state, compiled)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-5)


def test_both_directions_read_as_those_of_keras(way):
    inputs, mask = sequences(), tf.constant(masks("right", 6, 5))
    ours, keras_own = (
        keras.layers.Bidirectional(kind(5, return_sequences=True))
        for kind in (MaskedLSTM, keras.layers.LSTM)
    )
    found = ours(inputs, mask=mask)
    keras_own.build(inputs.shape)
    keras_own.set_weights(ours.get_weights())
    np.testing.assert_allclose(found, keras_own(inputs, mask=mask), atol=2e-5)


@pytest.mark.parametrize("rnn", KERAS)
def test_a_row_without_words_gives_zeros(way, rnn):
    mask = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
    for x in rnn(5, return_state=True)(sequences(2), mask=mask):
        assert not x[0].numpy().any() and x[1].numpy().any()


def test_a_batch_without_any_word_gives_zeros(way):
    lstm = MaskedLSTM(5, return_sequences=True)
    with tf.GradientTape() as tape:
        out = lstm(sequences(), mask=np.zeros((6, 5)))
        value = tf.reduce_sum(out)
    assert not out.numpy().any()
    for grad in tape.gradient(value, lstm.trainable_variables):
        assert grad is None or not np.any(grad)


@pytest.mark.parametrize("rnn", KERAS)
def test_nothing_under_the_mask_is_read(way, rnn):
    inputs, mask, layer = sequences(), masks("holes", 6, 5), rnn(4)
    noise = np.where(mask[..., None], inputs, np.float32(100))
    np.testing.assert_array_equal(
        layer(inputs, mask=mask), layer(noise, mask=mask)
    )


@pytest.mark.parametrize("steps", [5, 40])
def test_batch_may_be_dynamic_and_sequences_long(steps):
    lstm = MaskedLSTM(4, return_sequences=True)
    inputs, mask = sequences(6, steps), masks("right", 6, steps)
    signature = [
        tf.TensorSpec((None, steps, 3)),
        tf.TensorSpec((None, steps), tf.bool),
    ]
    graph = tf.function(
        lambda x, m: lstm(x, mask=m), signature, autograph=False
    )
    np.testing.assert_allclose(
        graph(inputs, mask), lstm(inputs, mask=mask), atol=1e-6
    )


def test_dropout_inside_the_cell_is_still_keras_own():
    lstm, mask = MaskedLSTM(4, dropout=0.5, seed=0), masks("right", 6, 5)
    inputs = np.ones((6, 5, 3), "float32")
    one = lstm(inputs, mask=mask, training=True)
    assert not np.allclose(one, lstm(inputs, mask=mask))


def test_a_model_that_holds_it_is_not_compiled_by_xla():
    inputs = keras.Input((5,), dtype="int32")
    words = keras.layers.Embedding(9, 3, mask_zero=True)(inputs)
    model = keras.Model(inputs, MaskedLSTM(4)(words))
    model.compile("sgd", "mse", jit_compile="auto")
    assert not model.jit_compile
    model.fit(RNG.integers(0, 9, size=(6, 5)), np.zeros((6, 4)), verbose=0)
