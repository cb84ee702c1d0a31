"""Training through the words for a reward that stays, as a method."""

from tfcap.decoding import Sample
from tfcap.layers import PartialSamplingST
from tfcap.objectives import Pathwise
from tfcap.training import JointTraining
from tfcap.training import Learner


def through_words(
    speaker,
    reward,
    *,
    rho=0.25,
    max_length=16,
    suppress=(),
    seed=None,
    global_clipnorm=None,
):
    """Partial-sampling straight-through into a reward with gradients.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        speaker, rho, max_length, suppress, seed, global_clipnorm: As those of
            `tfcap.methods.psst()`.

    Returns:
        `tfcap.training.JointTraining`.
    """
    samples = Sample(
        PartialSamplingST(rho=rho, seed=seed),
        max_length=max_length,
        suppress=suppress,
        feedback="relaxed",
    )
    objective = Pathwise(reward, samples)
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner})
