"""Group relative policy optimization, and what followed it."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import anchored
from tfcap.methods.parts import check_unread
from tfcap.methods.parts import clipped_updates
from tfcap.methods.parts import with_own_clip
from tfcap.objectives import ClippedRatio
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.proximal import KLDivergence
from tfcap.rewards import Standardized
from tfcap.rewards import WeightedSum
from tfcap.rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner


def grpo(
    speaker: Any,
    reward: Any,
    *,
    num_samples: int = 8,
    reference: Any = None,
    kl_weight: float = 0.04,
    kl_estimator: str = "k3",
    standardize: bool | str = True,
    normalize: str = "length",
    clip: ClippedRatio | None = None,
    updates_per_rollout: int = 1,
    mask_unfinished: bool = False,
    human_weight: float = 0.0,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a reward, above the mean of an image's captions.

    ```
    advantage = (reward - mean of the samples) / their standard deviation
    loss = mean over samples and words of -min(
        ratio * advantage, clip(ratio, 1 - lower, 1 + upper) * advantage
    ) + kl_weight * k3(speaker, reference)
    ```

    with the ratio of the speaker's to the sampler's probability of a word,
    which is 1 for the first update of a rollout by a speaker without dropout:
    one with it draws other masks, and so other ratios, at every update. Of
    later updates and of minibatches, the gradient of the divergence is that
    at the draw.

    Args:
        speaker: As that of `psst()`.
        reward: `tfcap.rewards.Reward`, such as `CIDErD`, or a function of
            strings.
        num_samples: Integer `S`, captions drawn of an image. Defaults to `8`.
        reference: `tfcap.decoding.Speaker` that stays as it is, such as a copy
            of the speaker; its `trainable` is set to `False`. Defaults to
            `None`, no penalty.
        kl_weight: Float, of the divergence from it. Defaults to `0.04`.
        kl_estimator, standardize, normalize, mask_unfinished: As those of
            `tfcap.objectives.KLDivergence` and `ScoreFunction`. The divergence
            is a mean over each caption's words, unfinished captions included,
            unless `normalize="sequence"`, where it is a sum.
        clip: `tfcap.objectives.ClippedRatio` of several updates, or of
            minibatches: in one update of a whole batch ratios are 1, and a
            clip is refused. Defaults to `ClippedRatio(0.2)`.
        updates_per_rollout: Integer, see `tfcap.training.JointTraining`.
            Defaults to `1`.
        human_weight, max_length, suppress, seed, global_clipnorm, **options:
            As those of `scst()`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, a number out of range, or `clip` would
            not be read.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch)
    >>> training = tfcap.methods.grpo(speaker, tfcap.rewards.BLEU(4))
    >>> training.compile("adam")

    Reference:

    - Shao et al., DeepSeekMath, 2024, equation 3
    - Liang, Group Relative Policy Optimization for Image Captioning, 2025
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(num_samples=num_samples)
    objective = ScoreFunction(
        reward,
        samples,
        SampleMeanBaseline(),
        normalize,
        standardize=standardize,
        mask_unfinished=mask_unfinished,
    )
    anchored(speaker, reference)
    if reference is not None:
        by_word = "sequence" if normalize == "sequence" else "length"
        divergence = KLDivergence(
            reference, samples, kl_estimator, normalize=by_word
        )
        objective += kl_weight * divergence
    elif kl_weight:
        penalty = {"kl_weight": kl_weight, "kl_estimator": kl_estimator}
        check_unread(grpo, "reference=None", **penalty)
    if human_weight:
        objective += human_weight * TeacherForcing("token")
    options |= clipped_updates(clip, updates_per_rollout, options)
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)


def dr_grpo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, without its two biases.

    ```
    advantage = reward - mean of the samples
    loss = mean over samples of -sum_t advantage * log p(word[t]) / max_length
    ```

    so that neither rows whose samples hardly differ nor short captions weigh
    more. The same direction as `rloo()`, of `(S - 1) / (S * max_length)` of its
    size.

    Args:
        speaker, reward, **options: As those of `grpo()`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Liu et al., Understanding R1-Zero-Like Training: A Critical Perspective,
      2025, section 3.2

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.dr_grpo(speaker, tfcap.rewards.BLEU(4))
    """
    own = {"standardize": False, "normalize": "constant"}
    return grpo(speaker, reward, **own | options)


def dapo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, by words, clipped higher, finished captions alone.

    All words of a batch weigh alike, a ratio may rise by 0.28 and fall by 0.2,
    and captions without an end teach nothing; `tfcap.rewards.LengthPenalty`,
    added
    to the reward, says so more softly. Rows whose samples have equal rewards
    have advantages of 0; that the paper draws others instead is left out.

    Ratios differ from 1, and are clipped, from the second update of a rollout
    on; with `updates_per_rollout=1` and no minibatches nothing is clipped.

    Args:
        speaker, reward: As those of `grpo()`.
        **options: As those of `grpo()`; `updates_per_rollout` defaults to `4`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Yu et al., DAPO: An Open-Source LLM Reinforcement Learning System at
      Scale, 2025, section 3

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.dapo(speaker, tfcap.rewards.BLEU(4))
    """
    options = with_own_clip(ClippedRatio(0.2, 0.28), options)
    own = {"normalize": "token", "mask_unfinished": True}
    return grpo(speaker, reward, **own | options)


def gspo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, with one importance ratio for a caption.

    The ratio is the geometric mean of those of its words, with bounds of 3e-4
    below and 4e-4 above 1. It matters from the second update of a rollout on;
    with `updates_per_rollout=1` and no minibatches nothing is clipped.

    Args:
        speaker, reward: As those of `grpo()`.
        **options: As those of `grpo()`; `updates_per_rollout` defaults to `4`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Zheng et al., Group Sequence Policy Optimization, 2025

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.gspo(speaker, tfcap.rewards.BLEU(4))
    """
    clip = ClippedRatio(3e-4, 4e-4, "sequence")
    return grpo(speaker, reward, **with_own_clip(clip, options))


def gdpo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, each of several rewards standardized by itself.

    ```
    advantage = sum_i weight_i * (reward_i - mean_i) / deviation_i
    ```

    of a row's samples, and then less its mean over the batch, over its
    deviation there.

    Args:
        speaker: As that of `psst()`.
        reward: Weighted sum of rewards, such as `CIDErD(...) + 0.5 * BLEU(4)`.
        **options: As those of `grpo()`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Liu et al., GDPO: Group reward-Decoupled Normalization Policy
      Optimization for Multi-reward RL Optimization, 2026

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.gdpo(
    ...     speaker, tfcap.rewards.BLEU(4) + 0.5 * tfcap.rewards.ROUGEL()
    ... )
    """
    reward = as_reward(reward)
    pairs = [(1.0, reward)]
    if isinstance(reward, WeightedSum):
        pairs = reward.weighted
    apart = WeightedSum(
        [(weight, Standardized(part)) for weight, part in pairs]
    )
    return grpo(speaker, apart, **{"standardize": "batch"} | options)
