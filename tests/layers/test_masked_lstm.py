import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import sequence_encoder
from tfcap.layers.sequence_encoder import MaskedLSTM

RNG = np.random.default_rng(0)


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


@pytest.fixture(params=["packed", "trimmed"])
def way(request, monkeypatch):
    """Both ways of computing it, whatever the machine and the length."""
    packs = request.param == "packed"
    monkeypatch.setattr(sequence_encoder, "_packs", lambda width: packs)


def pair(units, features, **options):
    """Our layer and Keras', with the same weights."""
    ours = MaskedLSTM(units, **options)
    keras_own = keras.layers.LSTM(units, **options)
    for layer in (ours, keras_own):
        layer.build((None, None, features))
    keras_own.set_weights(ours.get_weights())
    return ours, keras_own


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


@pytest.mark.parametrize(
    "kind, sequences",
    [
        ("right", False),
        ("left", True),
        ("holes", False),
        ("holes", True),
        ("full", True),
    ],
)
def test_values_and_gradients_are_those_of_keras(way, kind, sequences):
    options = {"return_sequences": sequences, "return_state": True}
    ours, keras_own = pair(5, 3, **options)
    inputs = tf.constant(RNG.normal(size=(9, 7, 3)), tf.float32)
    state = [tf.constant(RNG.normal(size=(9, 5)), tf.float32) for _ in "hc"]
    mask = tf.constant(masks(kind, 9, 7))
    wanted = run(keras_own, inputs, mask, state, compiled=False)
    # Which entries are masked is no part of a graph.
    for compiled in {False, kind == "holes"}:
        got = run(ours, inputs, mask, state, compiled)
        for a, b in zip(got, wanted):
            np.testing.assert_allclose(a, b, atol=2e-5)


def check_zero_outputs(ours, keras_own, kind, sequences):
    """Compares layers of two classes whose outputs are zero under a mask."""
    options = {"return_state": True, "zero_output_for_mask": True}
    options["return_sequences"] = sequences
    ours, keras_own = ours(5, **options), keras_own(5, **options)
    inputs = RNG.normal(size=(9, 7, 3)).astype("float32")
    mask = tf.constant(masks(kind, 9, 7))
    found = ours(inputs, mask=mask)
    keras_own.build(inputs.shape)
    keras_own.set_weights(ours.get_weights())
    wanted = keras_own(inputs, mask=mask)
    assert (np.array(wanted[0]) == 0).any()
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.parametrize("kind", ["right", "left", "holes"])
@pytest.mark.parametrize("sequences", [False, True])
def test_outputs_under_the_mask_are_zero_where_that_is_asked_for(
    way, kind, sequences
):
    check_zero_outputs(MaskedLSTM, keras.layers.LSTM, kind, sequences)


def test_both_directions_read_as_those_of_keras(way):
    inputs = RNG.normal(size=(6, 7, 3)).astype("float32")
    mask = tf.constant(masks("right", 6, 7))
    ours, keras_own = (
        keras.layers.Bidirectional(kind(5, return_sequences=True))
        for kind in (MaskedLSTM, keras.layers.LSTM)
    )
    found = ours(inputs, mask=mask)
    keras_own.build(inputs.shape)
    keras_own.set_weights(ours.get_weights())
    np.testing.assert_allclose(found, keras_own(inputs, mask=mask), atol=2e-5)


def test_a_row_without_words_gives_zeros(way):
    inputs = RNG.normal(size=(2, 4, 3)).astype("float32")
    mask = np.array([[0, 0, 0, 0], [1, 0, 0, 0]])
    out, h, c = MaskedLSTM(5, return_state=True)(inputs, mask=mask)
    for x in (out, h, c):
        assert not x[0].numpy().any() and x[1].numpy().any()


def test_a_batch_without_any_word_gives_zeros(way):
    inputs = tf.constant(RNG.normal(size=(2, 4, 3)), tf.float32)
    lstm = MaskedLSTM(5, return_sequences=True)
    with tf.GradientTape() as tape:
        out = lstm(inputs, mask=np.zeros((2, 4)))
        value = tf.reduce_sum(out)
    assert not out.numpy().any()
    for grad in tape.gradient(value, lstm.trainable_variables):
        assert grad is None or not np.any(grad)


def test_nothing_under_the_mask_is_read(way):
    mask = masks("holes", 6, 5)
    inputs = RNG.normal(size=(6, 5, 3)).astype("float32")
    lstm = MaskedLSTM(4)
    noise = np.where(mask[..., None], inputs, 100.0).astype("float32")
    np.testing.assert_array_equal(
        lstm(inputs, mask=mask), lstm(noise, mask=mask)
    )


@pytest.mark.parametrize("steps", [5, 40])
def test_batch_may_be_dynamic_and_sequences_long(steps):
    lstm = MaskedLSTM(4, return_sequences=True)
    inputs = RNG.normal(size=(6, steps, 3)).astype("float32")
    mask = masks("right", 6, steps)
    signature = [
        tf.TensorSpec((None, steps, 3)),
        tf.TensorSpec((None, steps), tf.bool),
    ]
    graph = tf.function(
        lambda x, m: lstm(x, mask=m),
        input_signature=signature,
        autograph=False,
    )
    np.testing.assert_allclose(
        graph(inputs, mask), lstm(inputs, mask=mask), atol=1e-6
    )


def test_dropout_inside_the_cell_is_still_keras_own():
    lstm = MaskedLSTM(4, dropout=0.5, seed=0)
    inputs = np.ones((6, 5, 3), "float32")
    mask = masks("right", 6, 5)
    one = lstm(inputs, mask=mask, training=True)
    assert not np.allclose(one, lstm(inputs, mask=mask))


def test_a_model_that_holds_it_is_not_compiled_by_xla():
    inputs = keras.Input((5,), dtype="int32")
    words = keras.layers.Embedding(9, 3, mask_zero=True)(inputs)
    model = keras.Model(inputs, MaskedLSTM(4)(words))
    model.compile("sgd", "mse", jit_compile="auto")
    assert not model.jit_compile
    ids = RNG.integers(0, 9, size=(6, 5))
    model.fit(ids, np.zeros((6, 4)), verbose=0)
