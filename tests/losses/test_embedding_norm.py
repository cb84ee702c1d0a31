import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import EmbeddingNorm
from tfcap.losses.embedding_norm import embedding_norm

ROWS = np.random.default_rng(0).normal(size=(4, 3, 5)).astype("float32")


def penalty(convention):
    if convention == "squared":
        return 0.1 * np.mean([row @ row for row in ROWS.reshape(-1, 5)])
    return 0.1 * np.linalg.norm(ROWS) / 4


@pytest.mark.parametrize("convention", ["squared", "frobenius"])
def test_function_and_activity_regularizer_add_the_same(convention):
    wanted = penalty(convention)
    got = embedding_norm(ROWS, 0.1, convention)
    layer = keras.layers.Identity(
        activity_regularizer=EmbeddingNorm(0.1, convention)
    )
    layer(ROWS)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(layer.losses[0], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("convention", ["squared", "frobenius"])
def test_absent_rows_have_no_norm_and_no_share_in_the_mean(convention):
    more = np.pad(ROWS, [(1, 2), (0, 2), (0, 0)], constant_values=np.nan)
    mask = np.pad(np.ones((4, 3)), [(1, 2), (0, 2)])
    more = tf.constant(more)
    with tf.GradientTape() as tape:
        tape.watch(more)
        norm = embedding_norm(more, 0.1, convention, mask)
    np.testing.assert_allclose(norm, penalty(convention), rtol=1e-6)
    slopes = tape.gradient(norm, more).numpy()
    assert np.isfinite(slopes).all() and not slopes[mask == 0].any()
    masked = EmbeddingNorm(0.1, convention).masked(more, mask)
    np.testing.assert_allclose(masked, 7 * penalty(convention), rtol=1e-6)
    # Nothing is there.
    assert float(embedding_norm(more, 0.1, convention, 0 * mask)) < 1e-12


@pytest.mark.parametrize("convention", ["squared", "frobenius"])
def test_embeddings_at_zero_have_a_finite_gradient(convention):
    rows = tf.zeros((2, 3))
    with tf.GradientTape() as tape:
        tape.watch(rows)
        norm = embedding_norm(rows, convention=convention)
    np.testing.assert_array_equal(tape.gradient(norm, rows), np.zeros((2, 3)))


def test_squared_norm_does_not_depend_on_the_batch_size():
    twice = np.concatenate([ROWS, ROWS])
    np.testing.assert_allclose(
        embedding_norm(twice), embedding_norm(ROWS), rtol=1e-6, atol=1e-6
    )


def test_half_precision_does_not_overflow():
    norm = embedding_norm(np.full((4, 300), 40.0, "float16"), factor=1.0)
    np.testing.assert_allclose(norm, 480_000.0, rtol=1e-3, atol=1e-6)


def test_config_round_trip_through_a_layer():
    layer = keras.layers.Dense(
        3, activity_regularizer=EmbeddingNorm(0.3, "frobenius")
    )
    again = keras.layers.Dense.from_config(layer.get_config())
    assert again.activity_regularizer.get_config() == {
        "factor": 0.3,
        "convention": "frobenius",
    }


@pytest.mark.parametrize(
    "about, told",
    [
        ({"convention": "l1"}, "`convention` must be one of"),
        ({"factor": -1.0}, "`factor` must be 0 or more"),
    ],
)
def test_what_is_no_norm_is_refused(about, told):
    with pytest.raises(ValueError, match=told):
        EmbeddingNorm(**about)
