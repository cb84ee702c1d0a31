import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.layers.test_masked_lstm import check_zero_outputs
from tests.layers.test_masked_lstm import masks
from tests.layers.test_masked_lstm import run
from tfcap.layers import sequence_encoder
from tfcap.layers.sequence_encoder import MaskedGRU

RNG = np.random.default_rng(0)


@pytest.fixture(params=["packed", "trimmed"])
def way(request, monkeypatch):
    """Both ways of computing it, whatever the machine and the length."""
    packs = request.param == "packed"
    monkeypatch.setattr(sequence_encoder, "_packs", lambda width: packs)


@pytest.mark.parametrize(
    "kind, sequences, use_bias",
    [
        ("right", False, True),
        ("left", True, True),
        ("holes", False, True),
        ("holes", True, False),
        ("full", True, True),
        ("full", False, False),
    ],
)
def test_values_and_gradients_are_those_of_keras(
    way, kind, sequences, use_bias
):
    options = {
        "return_sequences": sequences,
        "return_state": True,
        "use_bias": use_bias,
        "bias_initializer": "random_normal",
    }
    ours, keras_own = MaskedGRU(5, **options), keras.layers.GRU(5, **options)
    for layer in (ours, keras_own):
        layer.build((None, None, 3))
    keras_own.set_weights(ours.get_weights())
    inputs = tf.constant(RNG.normal(size=(9, 7, 3)), tf.float32)
    state = [tf.constant(RNG.normal(size=(9, 5)), tf.float32)]
    mask = tf.constant(masks(kind, 9, 7))
    wanted = run(keras_own, inputs, mask, state, compiled=False)
    assert len(wanted) == 4 + len(ours.get_weights())
    # Which entries are masked is no part of a graph.
    for compiled in {False, kind == "holes"}:
        got = run(ours, inputs, mask, state, compiled)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.parametrize("kind", ["right", "left", "holes"])
@pytest.mark.parametrize("sequences", [False, True])
def test_outputs_under_the_mask_are_zero_where_that_is_asked_for(
    way, kind, sequences
):
    check_zero_outputs(MaskedGRU, keras.layers.GRU, kind, sequences)


def test_a_row_without_words_gives_zeros(way):
    inputs = RNG.normal(size=(2, 4, 3)).astype("float32")
    mask = np.array([[0, 0, 0, 0], [1, 0, 0, 0]])
    for x in MaskedGRU(5, return_state=True)(inputs, mask=mask):
        assert not x[0].numpy().any() and x[1].numpy().any()


def test_nothing_under_the_mask_is_read(way):
    mask = masks("holes", 6, 5)
    inputs = RNG.normal(size=(6, 5, 3)).astype("float32")
    gru = MaskedGRU(4)
    noise = np.where(mask[..., None], inputs, 100.0).astype("float32")
    np.testing.assert_array_equal(gru(inputs, mask=mask), gru(noise, mask=mask))
