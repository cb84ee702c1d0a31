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


# Every speaker is trained once, for an objective or for its own loss.
@pytest.mark.parametrize("own", ["show_tell_start", "att2in", "up_down"])
def test_training_for_an_objective_lowers_the_loss(own):
    keras.utils.set_random_seed(0)
    speaker = speakers.speaker(own, **RATES)
    model = JointTraining(speaker, TeacherForcing("token"))
    # Graphs are trained in half precision.
    model.compile(keras.optimizers.Adam(0.05), run_eagerly=True)
    data = tf.data.Dataset.from_tensors(BATCH).repeat()
    before = model.evaluate(data, steps=1, verbose=0)[0]
    model.fit(data, steps_per_epoch=20, shuffle=False, verbose=0)
    after, logged = model.evaluate(data, steps=1, verbose=0)
    assert after < 0.75 * before
    state = speaker.begin(BATCH)
    scores = np.asarray(speaker.log_probs(state, BATCH["caption"]))
    expected = -scores.sum() / (BATCH["caption"] != 0).sum()
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("own", ["show_tell_every_step", "transformer"])
def test_training_by_compile_and_fit_lowers_the_loss(own):
    speaker = speakers.speaker(own, **RATES)
    speaker.compile(
        keras.optimizers.Adam(0.05),
        loss=SequenceCrossentropy(),
        run_eagerly=True,
    )
    before = speaker.evaluate(BATCH, BATCH["caption"], verbose=0)
    speaker.fit(BATCH, BATCH["caption"], epochs=12, verbose=0)
    after = speaker.evaluate(BATCH, BATCH["caption"], verbose=0)
    assert after < 0.75 * before


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


def test_a_saved_speaker_says_the_same_to_the_bit(kind, tmp_path):
    speaker = speakers.speaker(kind, **RATES, logit_scale=2.0, eos=3)
    speaker.compile("adam", loss=SequenceCrossentropy())
    speaker.optimizer.build(speaker.trainable_variables)
    path = tmp_path / "speaker.keras"
    speaker.save(path)
    again = keras.saving.load_model(path)
    assert type(again) is type(speaker)
    assert again.get_config() == speaker.get_config()
    np.testing.assert_array_equal(again(BATCH), speaker(BATCH))
    state, own = again.begin(BATCH), speaker.begin(BATCH)
    np.testing.assert_array_equal(
        again.log_probs(state, BATCH["caption"]),
        speaker.log_probs(own, BATCH["caption"]),
    )


def test_weights_move_between_speakers_of_one_architecture(kind, tmp_path):
    speaker, other = speakers.speaker(kind), speakers.speaker(kind)
    assert np.not_equal(speaker(BATCH), other(BATCH)).any()
    path = tmp_path / "speaker.weights.h5"
    speaker.save_weights(path)
    other.load_weights(path)
    np.testing.assert_array_equal(other(BATCH), speaker(BATCH))
    larger = speakers.speaker(kind, units=8)
    with pytest.raises(ValueError, match="could not be loaded"):
        larger.load_weights(path)


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


@pytest.mark.parametrize("rate", RATES)
def test_dropout_is_for_training_only(kind, rate):
    speaker = speakers.speaker(kind, **{rate: 0.5})
    one, two = (np.asarray(speaker(BATCH)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.not_equal(speaker(BATCH, training=True), one).any()
