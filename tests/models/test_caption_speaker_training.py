"""Caption speakers learn, in every precision, and are saved whole."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import speakers
from tfcap.decoding import stepwise_log_probs
from tfcap.losses import SequenceCrossentropy
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining

# Short captions: a graph is traced step by step.
BATCH = speakers.batch(images=8, length=4)
RATES = {"dropout": 0.2, "word_dropout": 0.15, "image_dropout": 0.1}


@pytest.fixture(params=list(speakers.KINDS))
def kind(request):
    keras.utils.set_random_seed(0)
    return request.param


# Graphs are trained in half precision.
def test_training_lowers_the_loss(kind):
    """Every speaker is trained once, for an objective or for its own loss."""
    speaker = speakers.speaker(kind, **RATES)
    own = {"loss": SequenceCrossentropy()}
    data, network = (BATCH, BATCH["caption"]), speaker
    if kind in ("show_tell_start", "att2in", "up_down"):
        own, data = {}, (BATCH,)
        network = JointTraining(speaker, TeacherForcing("token"))
    network.compile(keras.optimizers.Adam(0.05), run_eagerly=True, **own)
    before = network.evaluate(*data, verbose=0, return_dict=True)["loss"]
    network.fit(*data, epochs=20, verbose=0)
    after = network.evaluate(*data, verbose=0, return_dict=True)["loss"]
    assert after < 0.8 * before
    state = speaker.begin(BATCH)
    scores = np.asarray(speaker.log_probs(state, BATCH["caption"]))
    count = BATCH["caption"] != 0
    count = count[..., 0].sum() if own else count.sum()
    np.testing.assert_allclose(after, -scores.sum() / count, rtol=1e-4)


def test_every_weight_learns(kind):
    speaker = speakers.speaker(kind)
    inputs = {**BATCH, "image": tf.constant(BATCH["image"])}
    with tf.GradientTape() as tape:
        tape.watch(inputs["image"])
        scores = speaker.log_probs(speaker.begin(inputs), BATCH["caption"])
        loss = -tf.reduce_sum(scores)
    weights = [weight.value for weight in speaker.trainable_weights]
    for weight, gradient in zip(
        speaker.trainable_weights, tape.gradient(loss, weights)
    ):
        gradient = np.asarray(tf.convert_to_tensor(gradient))
        assert np.isfinite(gradient).all(), weight.path
        assert np.abs(gradient).max() > 0, weight.path


def in_half_precision(kind, policy):
    keras.config.set_dtype_policy(policy)
    try:
        return speakers.speaker(kind)
    finally:
        keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_is_close(kind, policy):
    single, half = speakers.speaker(kind), in_half_precision(kind, policy)
    half.set_weights(single.get_weights())
    logits, expected = half(BATCH), np.asarray(single(BATCH))[..., 2:]
    assert logits.dtype == "float32"
    state = half.begin(BATCH)
    scores = np.asarray(half.log_probs(state, BATCH["caption"]))
    steps = np.asarray(stepwise_log_probs(half, state, BATCH["caption"]))
    assert scores.dtype == "float32"
    # Single entries may be further off where a layer normalizes.
    close = (0.005 if policy == "mixed_float16" else 0.03) * expected.std()
    assert np.abs(np.asarray(logits)[..., 2:] - expected).mean() < close
    assert np.abs(scores - steps).mean() < close


@pytest.mark.parametrize(
    "own, policy",
    [("up_down", "mixed_float16"), ("transformer", "mixed_bfloat16")],
)
def test_half_precision_learns(own, policy):
    model = JointTraining(
        in_half_precision(own, policy), TeacherForcing("token")
    )
    optimizer = keras.optimizers.Adam(0.05)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer)
    losses = [model.train_on_batch(BATCH)[0] for _ in range(25)]
    assert np.isfinite(losses).all() and losses[-1] < 0.8 * losses[0]


def test_dropout_is_for_training_only(kind):
    blocks = ["block_dropout"] if kind == "transformer" else []
    for rate in [*RATES, *blocks]:
        speaker = speakers.speaker(kind, **{rate: 0.5})
        one, two = (np.asarray(speaker(BATCH)) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        assert np.not_equal(speaker(BATCH, training=True), one).any()
