"""A listener that learns to understand a speaker that stays."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import frozen
from tfcap.objectives.score_function import ListenerLoss
from tfcap.rewards import Retrieval
from tfcap.training import JointTraining
from tfcap.training import Learner


def frozen_speaker(
    speaker: Any,
    listener: Any,
    *,
    margin: float = 0.2,
    negatives: Any = "hardest",
    same: str | None = None,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a listener on the captions of a speaker that stays as it is.

    ```
    loss = mean over the batch of hinge(listener(sampled captions))
    ```

    Args:
        speaker: As that of `psst()`. Its `trainable` is set to `False`.
        listener, margin, negatives, same: As those of `psst()`.
        max_length, suppress, seed, global_clipnorm, **options: Likewise.

    Returns:
        `tfcap.training.JointTraining` of the learner `"listener"`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.frozen_speaker(speaker, listener)
    >>> training.compile("adam")

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, Table 3
    """
    check_speaker(speaker)
    frozen(speaker)
    samples = WordLimits(max_length, suppress, seed).sample()
    samples.inference = True  # It stays as it is: without dropout.
    judged = Retrieval(listener, margin, negatives, same=same)
    learner = Learner(listener, ListenerLoss(judged, samples), global_clipnorm)
    return JointTraining(speaker, {"listener": learner}, **options)
