"""Self-critical sequence training."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import self_critical_term
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner


def scst(
    speaker: Any,
    reward: Any,
    *,
    num_samples: int = 1,
    baseline: str | None = None,
    human_weight: float = 0.0,
    normalize: str = "token",
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric, above its own greedy captions.

    ```
    loss = -(reward(sample) - reward(greedy caption)) * sum_t log p(word[t])
    ```

    Args:
        speaker: As that of `psst()`.
        reward: `tfcap.rewards.Reward`, such as `CIDErD`.
        num_samples: Integer `S`, captions drawn of an image.
        baseline: `"greedy"`, the reward of the greedy caption; or
            `"leave_one_out"`, the mean of the other samples. Defaults to the
            first for one sample, and to the second for several.
        human_weight: Float, of the likelihood of human captions beside it.
        normalize: As that of `tfcap.objectives.ScoreFunction`.
        max_length, suppress, seed, global_clipnorm: As those of `psst()`.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`. The objective of its learner,
        `training.learners["speaker"].objective`, may be the `naturalness` of
        other methods.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, or a number out of range.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch)
    >>> training = tfcap.methods.scst(speaker, tfcap.rewards.BLEU(4))
    >>> training.compile("adam")

    Reference:

    - Rennie et al., Self-critical Sequence Training for Image Captioning,
      CVPR 2017
    - Luo, A Better Variant of Self-Critical Sequence Training, 2020, for
      `"leave_one_out"`
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    objective = self_critical_term(
        reward, words, num_samples, baseline, normalize
    )
    if human_weight:
        objective += human_weight * TeacherForcing("token")
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)
