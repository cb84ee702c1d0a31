"""Preferences among an image's own captions."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import anchored
from tfcap.objectives import TeacherForcing
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.training import JointTraining
from tfcap.training import Learner


def dpo(
    speaker: Any,
    reward: Any,
    reference: Any,
    *,
    beta: float = 0.1,
    num_samples: int = 4,
    pairs: str = "best_worst",
    loss: str = "dpo",
    gamma: float = 0.0,
    human_weight: float = 0.0,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker to prefer those of its captions that a reward prefers.

    ```
    margin = log(p(w) / reference(w)) - log(p(l) / reference(l))
    loss = -log sigmoid(beta * margin)
    ```

    of the best and the worst of an image's samples, drawn anew at every step.

    Args:
        speaker: As that of `psst()`.
        reward: As that of `grpo()`.
        reference: `tfcap.decoding.Speaker` that stays as it is, such as a copy
            of the speaker; its `trainable` is set to `False`.
        beta: Float, positive. Defaults to `0.1`.
        num_samples: Integer `S`, captions drawn of an image. Defaults to `4`.
        pairs, loss, gamma: As those of `tfcap.objectives.PreferenceLoss`.
        human_weight, max_length, suppress, seed, global_clipnorm, **options:
            As those of `scst()`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, or a number out of range.

    Example:

    >>> batch = {
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... }
    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> reference = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker(batch), reference(batch)
    >>> reference.set_weights(speaker.get_weights())
    >>> training = tfcap.methods.dpo(speaker, tfcap.rewards.BLEU(4), reference)

    Reference:

    - Rafailov et al., Direct Preference Optimization, NeurIPS 2023
    - Guo et al., Direct Language Model Alignment from Online AI Feedback,
      2024, for pairs of the model's own samples
    """
    check_speaker(speaker)
    samples = WordLimits(max_length, suppress, seed).sample(
        num_samples=num_samples
    )
    objective = PreferenceLoss(
        reward, samples, reference, loss, beta, gamma, pairs
    )
    if human_weight:
        objective += human_weight * TeacherForcing("token")
    anchored(speaker, reference)
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)


def ipo(
    speaker: Any, reward: Any, reference: Any, **options: Any
) -> JointTraining:
    """Trains as `dpo()`, by the squared error of margins.

    ```
    loss = (margin - 1 / (2 * beta)) ** 2
    ```

    which pulls a margin to a number, where that of DPO grows without bound.

    Args:
        speaker, reward, reference, **options: As those of `dpo()`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Azar et al., A General Theoretical Paradigm to Understand Learning from
      Human Preferences, AISTATS 2024

    Example:

    >>> batch = {
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... }
    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> reference = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker(batch), reference(batch)
    >>> training = tfcap.methods.ipo(speaker, tfcap.rewards.BLEU(4), reference)
    """
    return dpo(speaker, reward, reference, **{"loss": "ipo"} | options)


def simpo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `dpo()`, by mean log probabilities, without a reference.

    ```
    loss = -log sigmoid(beta * (mean log p(w) - mean log p(l)) - gamma)
    ```

    Args:
        speaker, reward: As those of `dpo()`.
        **options: As those of `dpo()`; `beta` defaults to `2.0`, and `gamma`
            to `1.0`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Meng et al., SimPO: Simple Preference Optimization with a Reference-Free
      Reward, NeurIPS 2024

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.simpo(speaker, tfcap.rewards.BLEU(4))
    """
    own = {"loss": "simpo", "beta": 2.0, "gamma": 1.0}
    return dpo(speaker, reward, None, **own | options)
