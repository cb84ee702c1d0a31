"""What every loss of this package keeps, whatever it computes."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy

RNG = np.random.default_rng(0)
CASES = {
    "bidirectional_contrastive": (
        BidirectionalContrastiveLoss(
            2.0, ("text",), "sum", siblings=True, name="e", reduction="sum"
        ),
        np.array([0, 1, 1, -1, -1, 3]),
        RNG.normal(size=(6, 3, 5)).astype("float32"),
    ),
    "hinge_retrieval": (
        HingeRetrievalLoss(1.0, 0.5, ("text",), name="d", reduction="mean"),
        np.array([0, 1, 1, -1, -1, 3]),
        RNG.normal(size=(6, 3, 5)).astype("float32"),
    ),
    "n_pair": (
        NPairLoss(name="a", reduction="sum"),
        RNG.permuted(np.tile([1, 0, 0, -1], (6, 1)), axis=1),
        RNG.normal(size=(6, 4)).astype("float32"),
    ),
    "sequence": (
        SequenceCrossentropy("token", name="c"),
        np.array([[3, 2], [2, 0]] * 3),
        RNG.normal(size=(6, 2, 5)).astype("float32"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_config_round_trip_through_json(name):
    loss, labels, scores = CASES[name]
    config = keras.saving.serialize_keras_object(loss)
    assert config["registered_name"].startswith("tfcap>")
    again = keras.saving.deserialize_keras_object(
        json.loads(json.dumps(config))
    )
    assert again.get_config() == loss.get_config()
    np.testing.assert_allclose(
        again(labels, scores), loss(labels, scores), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_graphs_of_unknown_batch_size_give_the_eager_value(name, jit):
    loss, labels, scores = CASES[name]
    compiled = tf.function(
        loss,
        jit_compile=jit,
        input_signature=[
            tf.TensorSpec([None, *labels.shape[1:]], "int32"),
            tf.TensorSpec([None, *scores.shape[1:]], "float32"),
        ],
        autograph=False,
    )
    for rows in (slice(None), slice(1)):
        np.testing.assert_allclose(
            compiled(labels[rows].astype("int32"), scores[rows]),
            loss(labels[rows], scores[rows]),
            rtol=1e-5,
            atol=1e-6,
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_half_precision_scores_are_close(name, dtype):
    loss, labels, scores = CASES[name]
    half = loss(labels, tf.cast(scores, dtype))
    np.testing.assert_allclose(half, loss(labels, scores), rtol=0.05)


@pytest.mark.parametrize(
    "name", ["bidirectional_contrastive", "hinge_retrieval", "n_pair"]
)
def test_computes_in_its_dtype(name):
    loss, labels, scores = CASES[name]
    wide = type(loss).from_config({**loss.get_config(), "dtype": "float64"})
    assert wide(labels, scores).dtype == "float64"
