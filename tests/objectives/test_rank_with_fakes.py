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
    """Reads the first word alone."""

    def __init__(self, pad=0):
        self.pad = pad

    def encode(self, inputs, training=False):
        return tf.constant(ANCHOR)

    def embed(self, answers, mask, training=False):
        return tf.gather(TABLE, answers[..., 0])

    def score(self, anchor, options, training=False):
        answers = self.embed(options, None)
        return tf.einsum("bd,bnd->bn", anchor, answers), answers

    def penalty(self, anchor, answers, options):
        return 0.0


class Speaker(TableSpeaker):
    """It says what is in the batch."""

    def __init__(self, pad):
        super().__init__()
        self.pad = pad

    def references(self, inputs):
        return inputs["said"]


@pytest.mark.parametrize("pad", [0, 9, EOS])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_fake_that_is_the_human_answer_is_left_out(pad, ragged):
    """The first row's first fake is it, though padded to another length."""
    options = [[[3, EOS], [4, 3, EOS], []], [[4, EOS], [3, EOS], [3, 3, EOS]]]
    options = tf.ragged.constant(options, tf.int32)
    full = options.to_tensor(pad)
    said = [[[3, EOS], [4, EOS]], [[3, EOS], [3, 4, 3, EOS]]]
    said = tf.ragged.constant(said, tf.int32).to_tensor(pad)
    inputs = {
        "rows": np.zeros((2, 1)),
        "options": options if ragged else full,
        "said": said,
    }
    episode = Episode(Speaker(pad), inputs)
    found = rank_with_fakes(Judge(pad), GroundTruth())(episode)
    answers = TABLE[np.concatenate([full[..., 0], said[..., 0]], axis=1)]
    labels = np.array([[1, 0, -1, -1, 0], [1, 0, 0, 0, 0]])
    scores = np.einsum("bd,bnd->bn", ANCHOR, answers)
    wanted, _ = n_pair_loss(labels, scores)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-5)


@pytest.mark.parametrize("judge", [Judge(9), object()])
def test_a_discriminator_that_pads_by_another_id_is_refused(judge):
    episode = Episode(Speaker(EOS), {"rows": np.zeros((2, 1))})
    match = "`discriminator` must pad.*of pad=2.*pad=[09]"
    with pytest.raises(ValueError, match=match):
        rank_with_fakes(judge, GroundTruth())(episode)


def test_axes_of_any_size_are_traced():
    options = np.array([[[3, EOS, 0], [4, 3, EOS], [0, 0, 0]]])
    inputs = {
        "rows": np.zeros((2, 1)),
        "options": np.concatenate([options, options + (options > EOS)]),
        "said": np.array([[[3, EOS], [4, EOS]], [[4, EOS], [0, 0]]]),
    }

    speaker = Speaker(0)

    def losses(tokens, said):
        batch = {**inputs, "options": tokens, "said": said}
        episode = Episode(speaker, batch)
        return rank_with_fakes(Judge(), GroundTruth())(episode)

    unknown = [tf.TensorSpec([None] * 3, "int64")] * 2
    traced = tf.function(losses, input_signature=unknown, autograph=False)
    np.testing.assert_allclose(
        traced(inputs["options"], inputs["said"]),
        losses(inputs["options"], inputs["said"]),
        rtol=1e-6,
    )


class HalfJudge(Judge):
    """Embeds in half precision, and scores in single, as networks do."""

    def encode(self, inputs, training=False):
        return tf.cast(10 * ANCHOR, "bfloat16")

    def embed(self, answers, mask, training=False):
        return tf.cast(super().embed(answers, mask), "bfloat16")

    def score(self, anchor, options, training=False):
        answers = tf.cast(self.embed(options, None), "float32")
        anchor = tf.cast(anchor, "float32")
        return tf.einsum("bd,bnd->bn", anchor, answers), answers


def test_fakes_are_scored_as_their_rivals_in_half_precision():
    options = np.array([[[3, EOS], [4, EOS]]] * 2)
    inputs = {
        "rows": np.zeros((2, 1)),
        "options": options,
        "said": options[:, 1:],
    }
    episode = Episode(Speaker(0), inputs)
    found = rank_with_fakes(HalfJudge(), GroundTruth())(episode)
    anchor = tf.cast(HalfJudge().encode(None), "float32").numpy()
    truth, fake = (
        tf.cast(HalfJudge().embed(options[:, k], None), "float32").numpy()[0]
        for k in (0, 1)
    )
    rival = np.exp(anchor @ fake - anchor @ truth)
    np.testing.assert_allclose(found[:, 0], np.log1p(2 * rival), rtol=1e-5)


class Listening(Judge):
    """It notes whether it was asked to train."""

    def __init__(self):
        super().__init__()
        self.heard = set()

    def encode(self, inputs, training=False):
        self.heard.add(("encode", training))
        return super().encode(inputs)

    def embed(self, answers, mask, training=False):
        self.heard.add(("embed", training))
        return super().embed(answers, mask)

    def score(self, anchor, options, training=False):
        self.heard.add(("score", training))
        answers = super().embed(options, None)
        return tf.einsum("bd,bnd->bn", anchor, answers), answers


@pytest.mark.parametrize("training", [False, True])
def test_the_discriminator_trains_in_training_alone(training):
    options = np.array([[[3, EOS], [4, EOS]]] * 2)
    inputs = {"rows": np.zeros((2, 1)), "options": options, "said": options}
    judge = Listening()
    rank_with_fakes(judge, GroundTruth())(
        Episode(Speaker(0), inputs, training=training)
    )
    methods = "encode", "embed", "score"
    assert judge.heard == {(name, training) for name in methods}
