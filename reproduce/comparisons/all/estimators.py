"""Estimators that no method of the kit is made of, as methods."""

from tfcap.decoding import Sample
from tfcap.decoding import SumAndSample
from tfcap.layers import Categorical
from tfcap.objectives import RELAX
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining
from tfcap.training import Learner


def relax(
    speaker,
    reward,
    *,
    state_units,
    num_samples=1,
    baseline_units=(),
    max_length=16,
    suppress=(),
    seed=None,
    global_clipnorm=None,
):
    """REINFORCE with a learned control variate of relaxed words.

    Args:
        speaker, reward, state_units, num_samples, baseline_units, max_length,
            suppress, seed, global_clipnorm: As those of
            `tfcap.methods.actor_critic()`.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and
        `"baseline"`.
    """
    samples = Sample(
        Categorical(seed=seed),
        num_samples,
        max_length,
        suppress=suppress,
        keep_states=True,
    )
    objective = RELAX(
        reward,
        samples,
        state_units,
        speaker.vocabulary_size,
        baseline_units,
        seed=seed,
    )
    learners = {
        "speaker": Learner(speaker, objective, global_clipnorm),
        "baseline": Learner(objective.network, objective, global_clipnorm),
    }
    return JointTraining(speaker, learners)


def sum_and_sample(
    speaker,
    reward,
    *,
    num_samples=3,
    max_length=16,
    suppress=(),
    seed=None,
    global_clipnorm=None,
):
    """REINFORCE of the likeliest captions, summed, and a sample of the rest.

    Args:
        num_samples: Integer, captions of an image: one is a sample.
        speaker, reward, max_length, suppress, seed, global_clipnorm: As those
            of `tfcap.methods.rloo()`.

    Returns:
        `tfcap.training.JointTraining`.
    """
    decoder = SumAndSample(num_samples - 1, 1, max_length, suppress, seed)
    objective = ScoreFunction(reward, decoder, LeaveOneOutBaseline())
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner})
