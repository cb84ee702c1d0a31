"""Contract of every caption speaker."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import speakers
from tests.testing import same
from tfcap import models
from tfcap._ops import token_log_probs
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding import Speaker
from tfcap.decoding import score_candidates
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import Categorical
from tfcap.layers import PartialSamplingST
from tfcap.losses import SequenceCrossentropy
from tfcap.models import CaptionSpeaker

BATCH = speakers.batch()
CAPTION = BATCH["caption"]


@pytest.fixture(scope="module", params=list(speakers.KINDS))
def speaker(request):
    keras.utils.set_random_seed(0)
    return speakers.speaker(request.param)


def numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def test_every_caption_speaker_is_tested():
    exported = {
        value
        for value in vars(models).values()
        if inspect.isclass(value) and issubclass(value, CaptionSpeaker)
    }
    tested = {made for made, _ in speakers.KINDS.values()}
    assert exported == tested | {CaptionSpeaker}


def test_scored_words_are_those_of_every_step(speaker):
    assert isinstance(speaker, Speaker)
    state = speaker.begin(BATCH)
    whole = numpy(speaker.log_probs(state, CAPTION))
    steps = numpy(stepwise_log_probs(speaker, state, CAPTION))
    assert whole.std() > 0.5
    np.testing.assert_allclose(whole, steps, atol=2e-5)
    called = token_log_probs(speaker(BATCH), CAPTION)
    called = numpy(called) * (CAPTION != 0)
    np.testing.assert_allclose(called, whole, atol=2e-5)


def test_scores_inside_a_graph_are_the_same(speaker):
    sizes = {
        "image": tf.TensorSpec([None, None, 3]),
        "caption": tf.TensorSpec([None, 2, 6], "int32"),
    }

    @tf.function(input_signature=[sizes], autograph=False)
    def score(inputs):
        return speaker.log_probs(speaker.begin(inputs), inputs["caption"])

    for images in (5, 1):
        inputs = {key: value[:images] for key, value in BATCH.items()}
        expected = speaker.log_probs(speaker.begin(inputs), inputs["caption"])
        np.testing.assert_allclose(score(inputs), expected, atol=1e-5)


def test_ids_and_one_hot_vectors_are_the_same_words(speaker):
    by_id = by_vector = speaker.begin(BATCH)
    for word in ([1, 1, 1, 1, 1], [3, 4, 5, 6, 7], [2, 0, 9, 9, 12]):
        ids = np.array(word, "int32")
        vectors = np.eye(speakers.VOCABULARY, dtype="float32")[ids]
        expected, by_id = speaker.step(ids, by_id)
        found, by_vector = speaker.step(vectors, by_vector)
        np.testing.assert_array_equal(found, expected)
    same(by_id, by_vector)


def test_gradients_pass_from_word_to_word(speaker):
    decoder = Sample(
        PartialSamplingST(1.0, seed=0), max_length=3, feedback="relaxed"
    )
    inputs = {"image": tf.constant(BATCH["image"])}
    with tf.GradientTape() as tape:
        tape.watch(inputs["image"])
        said = decoder.decode(speaker, speaker.begin(inputs), training=True)
        last = ops.sum(said.words[:, 0, 2] * ops.arange(13, dtype="float32"))
    table, image = tape.gradient(
        last, [speaker.embedding.embeddings.value, inputs["image"]]
    )
    # The last words depend on what the first ones might have been.
    assert (np.abs(tf.convert_to_tensor(table)).max(-1) > 0).sum() > 5
    assert np.abs(image).max() > 0


def test_samples_are_scored_as_one_by_one(speaker):
    state = speaker.begin(BATCH)
    said = Sample(Categorical(seed=0), num_samples=3, max_length=5).decode(
        speaker, state
    )
    assert said.tokens.shape == (5, 3, 5)
    scores = numpy(speaker.log_probs(state, said.tokens))
    np.testing.assert_allclose(scores, said.log_probs, atol=2e-5)


@pytest.mark.parametrize("kind", list(speakers.KINDS))
def test_captions_may_be_padded_by_another_id(kind):
    """A speaker of which two ids have changed places says the same."""
    places = np.arange(speakers.VOCABULARY)
    places[[0, 7]] = 7, 0
    one, other = speakers.speaker(kind), speakers.speaker(kind, pad=7)
    other = type(other).from_config(other.get_config())
    other.build({"image": (None, None, 3)})
    for weight, own in zip(other.weights, one.weights):
        value = numpy(own)
        for axis, size in enumerate(value.shape):
            if size == speakers.VOCABULARY:
                value = np.take(value, places, axis)
        weight.assign(value)
    caption = places[CAPTION]
    ragged = tf.RaggedTensor.from_tensor(caption, padding=7, ragged_rank=2)
    batch = {**BATCH, "caption": ragged}
    np.testing.assert_array_equal(other.references(batch), caption)
    assert other.suppressed_ids == (1, 7) and one.suppressed_ids == (0, 1)
    states = one.begin(BATCH), other.begin(batch)
    wanted = numpy(one.log_probs(states[0], CAPTION))
    found = numpy(other.log_probs(states[1], caption))
    np.testing.assert_allclose(found, wanted, atol=2e-5)
    steps = stepwise_log_probs(other, states[1], caption)
    np.testing.assert_allclose(steps, wanted, atol=2e-5)
    for decoder in (Greedy(max_length=5), BeamSearch(3, max_length=5)):
        said = decoder.decode(one, states[0]).tokens
        swapped = decoder.decode(other, states[1]).tokens
        np.testing.assert_array_equal(swapped, places[said])
    loss = SequenceCrossentropy()(CAPTION, one(BATCH))
    for labels in (caption, ragged):
        swapped = SequenceCrossentropy(pad=7)(labels, other(batch))
        np.testing.assert_allclose(swapped, loss, rtol=1e-5)


def test_padding_and_start_are_never_said(speaker):
    p = ops.softmax(speaker(BATCH), axis=-1)
    assert (numpy(p)[..., :2] == 0).all()
    said = Sample(Categorical(seed=0), num_samples=40, max_length=3).decode(
        speaker, speaker.begin(BATCH)
    )
    assert numpy(said.tokens)[numpy(said.mask) > 0].min() >= 2


def test_what_follows_the_end_changes_nothing(speaker):
    state = speaker.begin(BATCH)
    before = numpy(speaker.log_probs(state, CAPTION))
    noise = np.random.default_rng(0).integers(3, 13, CAPTION.shape)
    ended = CAPTION == 0
    assert ended.any()
    found = numpy(speaker.log_probs(state, np.where(ended, noise, CAPTION)))
    np.testing.assert_array_equal(found, before)
    assert (found[ended] == 0).all()
    padded = np.pad(CAPTION, ((0, 0), (0, 0), (0, 3)))
    found = numpy(speaker.log_probs(state, padded))
    np.testing.assert_allclose(found[..., :6], before, atol=1e-6)
    assert (found[..., 6:] == 0).all()
    nothing = speaker.log_probs(state, CAPTION * 0)
    np.testing.assert_array_equal(nothing, CAPTION * 0.0)


def test_beams_have_the_scores_of_their_words(speaker):
    state = speaker.begin(BATCH)
    beams = BeamSearch(width=5, max_length=5).decode(speaker, state)
    scores = ops.sum(speaker.log_probs(state, beams.tokens), -1)
    np.testing.assert_allclose(scores, beams.scores, atol=1e-4)


def test_candidates_are_ranked_by_their_likelihood(speaker):
    state = speaker.begin(BATCH)
    table = CAPTION.reshape(-1, CAPTION.shape[-1])
    options = np.arange(10).reshape(5, 2)
    scores = score_candidates(speaker, state, table, options)
    expected = ops.sum(speaker.log_probs(state, CAPTION), -1)
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_masked_positions_change_no_step(speaker):
    """Also where all are masked; see `test_inputs.py`."""
    mask = [[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [0] * 4, [0] * 4]
    masked = {**BATCH, "image_mask": np.array(mask, "float32")}
    found = numpy(speaker(masked))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[0], speaker(BATCH)[0], atol=2e-5)
    steps = stepwise_log_probs(speaker, speaker.begin(masked), CAPTION)
    whole = speaker.log_probs(speaker.begin(masked), CAPTION)
    np.testing.assert_allclose(whole, steps, atol=2e-5)


def test_a_start_that_also_ends_may_be_said():
    speaker = speakers.speaker("show_tell_start", bos=speakers.EOS)
    assert speaker.suppressed_ids == (0,)
    scores = numpy(speaker.log_probs(speaker.begin(BATCH), CAPTION))
    assert -100 < scores[CAPTION == speakers.EOS].min()
    said = Sample(Categorical(seed=0), num_samples=40, max_length=3)
    said = said.decode(speaker, speaker.begin(BATCH)).tokens
    assert {speakers.BOS, speakers.EOS} <= {*numpy(said).ravel()}


@pytest.mark.parametrize("key, axes", [("caption", "B S T"), ("image", "B P")])
def test_an_absent_or_flat_input_is_named(speaker, key, axes):
    lacking = {k: v for k, v in BATCH.items() if k != key}
    with pytest.raises(ValueError, match=rf"`inputs` must hold '{key}'"):
        speaker(lacking)
    axes = axes.replace(" ", ", ")
    with pytest.raises(ValueError, match=rf"`{key}` must have shape \({axes}"):
        speaker({**BATCH, key: BATCH[key][:, 0]})


def test_the_scale_sharpens_what_is_said():
    sharp = speakers.speaker("att2in", logit_scale=3.0)
    plain = speakers.speaker("att2in")
    plain.set_weights(sharp.get_weights())
    found, wanted = (numpy(x(BATCH))[..., 2:] for x in (sharp, plain))
    np.testing.assert_allclose(found, 3 * wanted, rtol=1e-4, atol=1e-5)


def test_references_of_a_batch_are_its_captions(speaker):
    # Under a strategy Keras makes floats of a batch to build a model.
    floats = {**BATCH, "caption": CAPTION.astype("float32")}
    found = speaker.references(floats)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, CAPTION)
