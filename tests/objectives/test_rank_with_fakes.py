import numpy as np
import pytest
import tensorflow as tf

from tests.tiny import EOS
from tests.tiny import TableSpeaker
from tfcap.decoding import GroundTruth
from tfcap.losses.masked_loss import n_pair_loss
from tfcap.objectives import Episode
from tfcap.objectives.discriminator_loss import rank_with_fakes

ANCHOR = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
TABLE = np.random.default_rng(1).normal(size=(10, 3)).astype("float32")


class Judge:
    """Reads the first word alone, and notes whether it trains."""

    def __init__(self, pad=0, dtype="float32"):
        self.pad, self.dtype, self.heard = pad, dtype, set()

    def encode(self, inputs, training=False):
        self.heard.add(("encode", training))
        return tf.cast(ANCHOR, self.dtype)

    def embed(self, answers, mask, training=False):
        self.heard.add(("embed", training))
        return tf.cast(tf.gather(TABLE, answers[..., 0]), self.dtype)

    def score(self, anchor, options, training=False):
        self.heard.add(("score", training))
        answers = tf.cast(tf.gather(TABLE, options[..., 0]), self.dtype)
        # In single precision, as networks do.
        answers = tf.cast(answers, "float32")
        anchor = tf.cast(anchor, "float32")
        return tf.einsum("bd,bnd->bn", anchor, answers), answers

    def penalty(self, anchor, answers, options):
        return 0.0


class Speaker(TableSpeaker):
    """It says what is in the batch."""

    def __init__(self, pad=0):
        super().__init__()
        self.pad = pad

    def references(self, inputs):
        return inputs["said"]


def losses(judge, options, said, pad=0, training=False):
    inputs = {"rows": np.zeros((2, 1)), "options": options, "said": said}
    episode = Episode(Speaker(pad), inputs, training=training)
    return rank_with_fakes(judge, GroundTruth())(episode)


@pytest.mark.parametrize("pad", [0, 9, EOS])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_fake_that_is_the_human_answer_is_left_out(pad, ragged):
    """The first row's first fake is it, though padded to another length."""
    options = [[[3, EOS], [4, 3, EOS], []], [[4, EOS], [3, EOS], [3, 3, EOS]]]
    options = tf.ragged.constant(options, tf.int32)
    full = options.to_tensor(pad)
    said = [[[3, EOS], [4, EOS]], [[3, EOS], [3, 4, 3, EOS]]]
    said = tf.ragged.constant(said, tf.int32).to_tensor(pad)
    found = losses(Judge(pad), options if ragged else full, said, pad)
    answers = TABLE[np.concatenate([full[..., 0], said[..., 0]], axis=1)]
    labels = np.array([[1, 0, -1, -1, 0], [1, 0, 0, 0, 0]])
    scores = np.einsum("bd,bnd->bn", ANCHOR, answers)
    wanted, _ = n_pair_loss(labels, scores)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-5)


@pytest.mark.parametrize("judge", [Judge(9), object()])
def test_a_discriminator_that_pads_by_another_id_is_refused(judge):
    episode = Episode(Speaker(EOS), {"rows": np.zeros((2, 1))})
    match = "`discriminator` must have the pad.*with pad=2.*pad=[09]"
    with pytest.raises(ValueError, match=match):
        rank_with_fakes(judge, GroundTruth())(episode)


def test_axes_of_any_size_are_traced():
    options = np.array([[[3, EOS, 0], [4, 3, EOS], [0, 0, 0]]])
    options = np.concatenate([options, options + (options > EOS)])
    said = np.array([[[3, EOS], [4, EOS]], [[4, EOS], [0, 0]]])
    speaker = Speaker()

    def rank(options, said):
        inputs = {"rows": np.zeros((2, 1)), "options": options, "said": said}
        episode = Episode(speaker, inputs)
        return rank_with_fakes(Judge(), GroundTruth())(episode)

    unknown = [tf.TensorSpec([None] * 3, "int64")] * 2
    traced = tf.function(rank, input_signature=unknown, autograph=False)
    found, wanted = traced(options, said), rank(options, said)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


OPTIONS = np.array([[[3, EOS], [4, EOS]]] * 2)


def test_fakes_are_scored_as_their_rivals_in_half_precision():
    judge = Judge(dtype="bfloat16")
    found = losses(judge, OPTIONS, OPTIONS[:, 1:])
    anchor = tf.cast(judge.encode(None), "float32").numpy()
    truth, fake = tf.cast(judge.embed(OPTIONS[0], None), "float32").numpy()
    rival = np.exp(anchor @ fake - anchor @ truth)
    np.testing.assert_allclose(found[:, 0], np.log1p(2 * rival), rtol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_the_discriminator_trains_in_training_alone(training):
    judge = Judge()
    losses(judge, OPTIONS, OPTIONS, training=training)
    methods = "encode", "embed", "score"
    assert judge.heard == {(name, training) for name in methods}
