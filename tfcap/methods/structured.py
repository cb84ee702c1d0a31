"""Structured prediction over an image's own captions."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.objectives import StructureLoss
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner


def structured(
    speaker: Any,
    reward: Any,
    *,
    loss: str = "risk",
    scale: float = 1.0,
    length_normalized: bool = True,
    num_samples: int = 5,
    human_weight: float = 0.0,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker to rank its captions of an image as a reward does.

    ```
    risk = sum_u softmax(mean log p)(u) * (best reward - reward(u))
    ```

    Minimum risk, or one of the other losses of
    `tfcap.objectives.StructureLoss`: `"sequence_likelihood"`,
    `"softmax_margin"`, `"max_margin"`, `"multi_margin"`.

    Args:
        speaker, reward: As those of `grpo()`.
        loss, scale, length_normalized: As those of
            `tfcap.objectives.StructureLoss`.
        num_samples: Integer `S`, captions drawn of an image. Defaults to `5`.
        human_weight, max_length, suppress, seed, global_clipnorm, **options:
            As those of `scst()`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, or a number out of range.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.structured(
    ...     speaker, tfcap.rewards.BLEU(4), loss="max_margin"
    ... )

    Reference:

    - Edunov et al., Classical Structured Prediction Losses for Sequence to
      Sequence Learning, NAACL 2018
    """
    check_speaker(speaker)
    samples = WordLimits(max_length, suppress, seed).sample(
        num_samples=num_samples
    )
    objective = StructureLoss(reward, samples, loss, scale, length_normalized)
    if human_weight:
        objective += human_weight * TeacherForcing("token")
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)
