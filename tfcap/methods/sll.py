"""Sequence-level learning, plain and with exploration."""

from typing import Any

from keras import ops

from tfcap._ops.arguments import checked_number
from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import check_choice
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import PairwiseDiversity
from tfcap.rewards import Surprisal
from tfcap.rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner

VARIANTS = ("paper", "code")


def sll(
    speaker: Any,
    reward: Any,
    *,
    num_samples: int = 5,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Sequence-level learning: a metric, above that of the greedy caption.

    ```
    loss = -mean over S samples of
           (reward(sample) - reward(greedy caption)) * sum_t log p(word[t])
    ```

    Args:
        speaker: As that of `psst()`.
        reward: `tfcap.rewards.Reward`, such as `CIDErD`.
        num_samples: Integer `S`, captions drawn of an image.
        max_length, suppress, seed, global_clipnorm: As those of `psst()`.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`.

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
    >>> training = tfcap.methods.sll(speaker, tfcap.rewards.BLEU(4))
    >>> training.compile("adam")

    Reference:

    - Chen et al., Better Captioning with Sequence-Level Exploration,
      CVPR 2020, section 3.1 and "SLL" of Tables 1 to 4
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    objective = _precision(reward, words, words.sample(num_samples=num_samples))
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)


def sll_me(
    speaker: Any,
    reward: Any,
    *,
    entropy_weight: float = 1e-2,
    num_samples: int = 5,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Sequence-level learning with maximum entropy: words are explored.

    ```
    loss = loss of sll() - entropy_weight * entropy of the words
    ```

    Args:
        entropy_weight: Float.
        speaker, reward, num_samples: As those of `sll()`.
        max_length, suppress, seed, global_clipnorm, **options: Likewise.

    Returns:
        `tfcap.training.JointTraining`.

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
    >>> training = tfcap.methods.sll_me(speaker, tfcap.rewards.BLEU(4))
    >>> training.compile("adam")

    Reference:

    - Chen et al., Better Captioning with Sequence-Level Exploration,
      CVPR 2020, section 4, "SLL-ME"
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(num_samples=num_samples)
    surprisal = Surprisal(per_word=True)
    bonus = ScoreFunction(surprisal, samples, LeaveOneOutBaseline())
    objective = _precision(reward, words, samples) + entropy_weight * bonus
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)


def sll_sle(
    speaker: Any,
    reward: Any,
    *,
    alpha: float = 0.75,
    variant: str = "paper",
    num_samples: int = 5,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Sequence-level learning with sequence-level exploration.

    ```
    loss = alpha * loss of sll()
           - (1 - alpha) * mean distance of all pairs of samples
    ```

    Distances are of BLEU-3 and BLEU-4. All terms share one rollout.

    Args:
        alpha: Float in `[0, 1]`, weight of the metric.
        variant: `"paper"`; or `"code"`, as the first author's code has it: a
            sample's diversity is minus its mean BLEU-3 and BLEU-4 against all
            others at once, above the mean or -0.5, whichever is more, so that
            samples that are nearly alike lose by it, every one. That code
            names `1 - alpha`.
        speaker, reward, num_samples: As those of `sll()`; 2 samples at least.
        max_length, suppress, seed, global_clipnorm, **options: Likewise.

    Returns:
        `tfcap.training.JointTraining`.

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
    >>> training = tfcap.methods.sll_sle(speaker, tfcap.rewards.BLEU(4))
    >>> training.compile("adam")

    Reference:

    - Chen et al., Better Captioning with Sequence-Level Exploration,
      CVPR 2020, equation 16, "SLL-SLE" of Tables 1 to 4
    """
    check_speaker(speaker)
    check_choice(variant, "variant", VARIANTS)
    checked_number(alpha, "alpha", "in [0, 1]", lambda x: 0 <= x <= 1)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(num_samples=num_samples)
    if variant == "paper":
        bonus = ScoreFunction(
            PairwiseDiversity(), samples, SampleMeanBaseline()
        )
        # Equation 16 sums over all samples, its own included: over S.
        weight = 2.0 * (num_samples - 1) / num_samples
    else:
        diversity = PairwiseDiversity("self_bleu")
        bonus = ScoreFunction(diversity, samples, _mean_or_more)
        # The reward is 2 minus the sum: twice the code's distance, and 2 more.
        weight = 0.5
    objective = alpha * _precision(reward, words, samples)
    objective += (1.0 - alpha) * weight * bonus
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)


def _precision(reward, words, samples):
    """The metric of samples above that of the greedy caption."""
    reward = as_reward(reward)
    baseline = DecoderBaseline(reward, words.greedy)
    return ScoreFunction(reward, samples, baseline)


def _mean_or_more(rewards, episode):
    return ops.maximum(SampleMeanBaseline()(rewards, episode), 1.0)
