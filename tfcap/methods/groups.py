"""Methods that compare several captions of an image."""

from typing import Any

from tfcap._ops.arguments import check_choice
from tfcap.decoding.speaker import check_speaker
from tfcap.methods.options import Options
from tfcap.methods.options import frozen
from tfcap.methods.options import takes
from tfcap.methods.options import with_people
from tfcap.objectives import ClippedRatio
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import StructureLoss
from tfcap.objectives.proximal import KLDivergence
from tfcap.objectives.ranking import PreferenceLoss
from tfcap.rewards import KLPenalty
from tfcap.rewards import Standardized
from tfcap.rewards.reward import WeightedSum
from tfcap.rewards.text_rewards import as_reward
from tfcap.training import JointTraining


@takes(Options)
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
    **options: Any,
) -> JointTraining:
    """Trains for a reward relative to an image's other samples: GRPO.

    ```
    advantage = (reward - mean of the samples) / their standard deviation
    loss = mean over samples and words of -min(
        ratio * advantage, clip(ratio, 1 - lower, 1 + upper) * advantage
    ) + kl_weight * k3(speaker, reference)
    ```

    with the ratio of the speaker's to the sampler's probability of a word,
    which is 1 in the first update of a rollout. With dropout, every update
    draws other masks, and thus has other ratios. Later updates use the
    gradient of the divergence at the time of sampling.

    Args:
        num_samples: Integer `S`, captions drawn of an image.
        reference: Fixed `tfcap.decoding.Speaker`, such as a copy of the
            speaker; its `trainable` is set to `False`. Defaults to `None`, no
            penalty.
        kl_weight: Float, weight of the divergence from it, a mean over each
            caption's words, unfinished captions included, or with
            `normalize="sequence"` a sum.
        kl_estimator: `"k1"`, the log ratio; `"k2"`, half its square; or
            `"k3"`, `exp(-log_ratio) - 1 + log_ratio`.
        standardize, normalize, mask_unfinished: As in
            `tfcap.objectives.ScoreFunction`.
        clip: `tfcap.objectives.ClippedRatio` for several updates; a single
            update has ratios of 1 and takes no clip. Defaults to
            `ClippedRatio(0.2)`.
        updates_per_rollout: Integer, see `tfcap.training.JointTraining`.
        human_weight: As in `scst()`.
        **options: See `tfcap.methods`.

    Raises:
        ValueError: If `clip` is given for a single update.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.grpo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Shao et al., DeepSeekMath, 2024, equation 3
    - Liang, Group Relative Policy Optimization for Image Captioning, 2025
    """
    given = Options.read(grpo, speaker, options)
    samples = given.sample(num_samples=num_samples)
    objective = ScoreFunction(
        reward,
        samples,
        SampleMeanBaseline(),
        normalize,
        standardize=standardize,
        mask_unfinished=mask_unfinished,
    )
    if reference is not None:
        check_reference(speaker, reference)
        by_word = "sequence" if normalize == "sequence" else "length"
        objective += kl_weight * KLDivergence(
            reference, samples, kl_estimator, normalize=by_word
        )
    elif kl_weight:
        penalty = {"kl_weight": kl_weight, "kl_estimator": kl_estimator}
        given.check_unread("reference=None", **penalty)
    return given.training(
        with_people(objective, human_weight),
        **_clipped_updates(clip, updates_per_rollout),
    )


def dr_grpo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, without its two biases: Dr. GRPO.

    ```
    advantage = reward - mean of the samples
    loss = mean over samples of -sum_t advantage * log p(word[t]) / max_length
    ```

    so that neither rows of similar samples nor short captions have a larger
    weight. The gradient is `(S - 1) / (S * max_length)` times that of
    `rloo()`.

    Args:
        **options: As in `grpo()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.dr_grpo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Liu et al., Understanding R1-Zero-Like Training: A Critical Perspective,
      2025, section 3.2
    """
    own = {"standardize": False, "normalize": "constant"}
    return grpo(speaker, reward, **own | options)


def dapo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, by token, with a higher upper clip: DAPO.

    All words of a batch have equal weight, a ratio may rise by 0.28 and fall
    by 0.2, and captions without an end have no gradient; a softer form is
    `tfcap.rewards.LengthPenalty`, added to the reward. Rows whose samples have
    equal rewards have advantages of 0; the paper's dynamic sampling, which
    replaces them, is left out.

    Ratios differ from 1, and are clipped, from the second update of a rollout
    on; with `updates_per_rollout=1` there is no clip.

    Args:
        **options: As in `grpo()`; `updates_per_rollout` defaults to `4`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.dapo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Yu et al., DAPO: An Open-Source LLM Reinforcement Learning System at
      Scale, 2025, section 3
    """
    options = _with_own_clip(ClippedRatio(0.2, 0.28), options)
    own = {"normalize": "token", "mask_unfinished": True}
    return grpo(speaker, reward, **own | options)


def gspo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, with one importance ratio per caption: GSPO.

    The ratio is the geometric mean of those of its words, with bounds of 3e-4
    below and 4e-4 above 1. It takes effect from the second update of a rollout
    on; with `updates_per_rollout=1` there is no clip.

    Args:
        **options: As in `grpo()`; `updates_per_rollout` defaults to `4`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.gspo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Zheng et al., Group Sequence Policy Optimization, 2025
    """
    clip = ClippedRatio(3e-4, 4e-4, "sequence")
    return grpo(speaker, reward, **_with_own_clip(clip, options))


def gdpo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `grpo()`, standardizing each of several rewards: GDPO.

    ```
    advantage = sum_i weight_i * (reward_i - mean_i) / deviation_i
    ```

    over a row's samples; the sum is then standardized over the batch.

    Args:
        reward: Weighted sum of rewards, such as `CIDErD(...) + 0.5 * BLEU(4)`.
        **options: As in `grpo()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.gdpo(
    ...     speaker, tfcap.rewards.BLEU(4) + 0.5 * tfcap.rewards.ROUGEL()
    ... )

    Reference:

    - Liu et al., GDPO: Group reward-Decoupled Normalization Policy
      Optimization for Multi-reward RL Optimization, 2026
    """
    reward = as_reward(reward)
    pairs = [(1.0, reward)]
    if isinstance(reward, WeightedSum):
        pairs = reward.weighted
    apart = WeightedSum(
        [(weight, Standardized(part)) for weight, part in pairs]
    )
    return grpo(speaker, apart, **{"standardize": "batch"} | options)


@takes(Options)
def rloo(
    speaker: Any,
    reward: Any,
    *,
    num_samples: int = 4,
    reference: Any = None,
    kl_weight: float = 0.05,
    normalize: str = "sequence",
    clip: ClippedRatio | None = None,
    updates_per_rollout: int = 1,
    baseline: str = "leave_one_out",
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a reward, with the leave-one-out baseline: RLOO.

    ```
    reward = reward(sample) - kl_weight * log(p(sample) / reference(sample))
    loss = -(reward - mean of the others' rewards) * sum_t log p(word[t])
    ```

    As `scst()` with several samples, and a KL penalty.

    Args:
        kl_weight: Float, of the penalty.
        baseline: `"leave_one_out"`, or `"greedy"`, the reward of the greedy
            caption.
        num_samples, reference, normalize, clip, updates_per_rollout,
            **options: As in `grpo()`.

    Raises:
        ValueError: If `clip` is given for a single update.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.rloo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    - Ahmadian et al., Back to Basics: Revisiting REINFORCE Style Optimization
      for Learning from Human Feedback in LLMs, ACL 2024, section 3
    """
    given = Options.read(rloo, speaker, options)
    check_choice(baseline, "baseline", ("leave_one_out", "greedy"))
    reward = as_reward(reward)
    if reference is not None:
        check_reference(speaker, reference)
        reward = reward + kl_weight * KLPenalty(reference)
    elif kl_weight:
        given.check_unread("reference=None", kl_weight=kl_weight)
    return given.training(
        given.self_critical(reward, num_samples, baseline, normalize),
        **_clipped_updates(clip, updates_per_rollout),
    )


def ppo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `rloo()`, with several clipped updates per rollout: PPO.

    ```
    loss = mean over samples and words of -min(
        ratio * advantage, clip(ratio, 0.8, 1.2) * advantage
    )
    ```

    The baseline is the greedy caption or the other samples, as in captioning
    toolkits; `actor_critic()` has a critic, and takes one update.

    Args:
        **options: As in `rloo()`; `updates_per_rollout` defaults to `4`, and
            `normalize` to `"token"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.ppo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Schulman et al., Proximal Policy Optimization Algorithms, 2017
    """
    own = {"updates_per_rollout": 4, "normalize": "token"}
    return rloo(speaker, reward, **own | options)


@takes(Options)
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
    **options: Any,
) -> JointTraining:
    """Trains a speaker on preferences between its samples, by a reward: DPO.

    ```
    margin = log(p(w) / reference(w)) - log(p(l) / reference(l))
    loss = -log sigmoid(beta * margin)
    ```

    of the best and the worst of an image's samples, drawn anew at every step.
    It logs the share of pairs with a positive margin as `accuracy`, the mean
    `margin`, and the number of `pairs` of a row.

    Args:
        reference: As in `grpo()`.
        beta: Float, positive.
        num_samples: Integer `S`, captions drawn of an image.
        pairs: `"best_worst"`, one pair a row, or `"all"`.
        loss: `"dpo"`, `"ipo"` or `"simpo"`.
        gamma: Float, target margin, of SimPO alone.
        human_weight, **options: As in `scst()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> reference = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> for each in (speaker, reference):
    ...     _ = each({
    ...         "image": np.zeros((1, 1, 3), "float32"),
    ...         "caption": np.array([[[5, 2]]]),
    ...     })
    >>> reference.set_weights(speaker.get_weights())
    >>> training = tfcap.methods.dpo(speaker, tfcap.rewards.BLEU(4), reference)

    Reference:

    - Rafailov et al., Direct Preference Optimization, NeurIPS 2023
    - Guo et al., Direct Language Model Alignment from Online AI Feedback,
      2024, for pairs of the model's own samples
    """
    given = Options.read(dpo, speaker, options)
    if reference is not None:
        check_reference(speaker, reference)
    samples = given.sample(num_samples=num_samples)
    objective = PreferenceLoss(
        reward, samples, reference, loss, beta, gamma, pairs
    )
    return given.training(with_people(objective, human_weight))


def ipo(
    speaker: Any, reward: Any, reference: Any, **options: Any
) -> JointTraining:
    """Trains as `dpo()`, by the squared error of margins: IPO.

    ```
    loss = (margin - 1 / (2 * beta)) ** 2
    ```

    which has a target for the margin, while that of DPO grows without bound.

    Args:
        reference, **options: As in `dpo()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> reference = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> for each in (speaker, reference):
    ...     _ = each({
    ...         "image": np.zeros((1, 1, 3), "float32"),
    ...         "caption": np.array([[[5, 2]]]),
    ...     })
    >>> training = tfcap.methods.ipo(speaker, tfcap.rewards.BLEU(4), reference)

    Reference:

    - Azar et al., A General Theoretical Paradigm to Understand Learning from
      Human Preferences, AISTATS 2024
    """
    return dpo(speaker, reward, reference, **{"loss": "ipo"} | options)


def simpo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `dpo()`, by mean log probabilities, without a reference: SimPO.

    ```
    loss = -log sigmoid(beta * (mean log p(w) - mean log p(l)) - gamma)
    ```

    Args:
        **options: As in `dpo()`; `beta` defaults to `2.0`, and `gamma` to
            `1.0`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.simpo(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Meng et al., SimPO: Simple Preference Optimization with a Reference-Free
      Reward, NeurIPS 2024
    """
    own = {"loss": "simpo", "beta": 2.0, "gamma": 1.0}
    return dpo(speaker, reward, None, **own | options)


@takes(Options)
def structured(
    speaker: Any,
    reward: Any,
    *,
    loss: str = "risk",
    scale: float = 1.0,
    num_samples: int = 5,
    human_weight: float = 0.0,
    **options: Any,
) -> JointTraining:
    """Trains a speaker to rank its samples by a reward.

    ```
    risk = sum_u softmax(mean log p)(u) * (best reward - reward(u))
    ```

    Minimum risk, or one of the other losses of
    `tfcap.objectives.StructureLoss`: `"sequence_likelihood"`,
    `"softmax_margin"`, `"max_margin"`, `"multi_margin"`.

    Args:
        loss, scale: As in `tfcap.objectives.StructureLoss`.
        num_samples: Integer `S`, captions drawn of an image.
        human_weight, **options: As in `scst()`.

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
    given = Options.read(structured, speaker, options)
    samples = given.sample(num_samples=num_samples)
    objective = StructureLoss(reward, samples, loss, scale)
    return given.training(with_people(objective, human_weight))


def check_reference(speaker: Any, reference: Any) -> None:
    """Freezes a reference speaker; rejects the speaker itself."""
    if reference is speaker:
        raise ValueError(
            "`reference` must be another object than `speaker`, which is "
            "trained. Received: the same. Pass a copy, or "
            "`tfcap.models.WithoutAdapters(speaker)`."
        )
    check_speaker(reference, "reference")
    frozen(reference)


def _clipped_updates(clip, updates):
    """Returns arguments of the training: updates of a rollout, and the clip.

    A single update has ratios of 1, and takes no clip.
    """
    if updates == 1:
        if clip is None:
            return {}
        raise ValueError(
            "`clip` must be left out with a single update, whose ratios are "
            "1. Received: a clip, and updates_per_rollout=1. Pass "
            "`updates_per_rollout=4`, or leave out `clip`."
        )
    ratio = clip or ClippedRatio()
    return {"updates_per_rollout": updates, "clipped_ratio": ratio}


def _with_own_clip(clip, options):
    """Returns options of a method with its own clip, and four updates.

    The clip is left out of a single update, which rejects the caller's.
    """
    options = {"updates_per_rollout": 4} | options
    if options["updates_per_rollout"] == 1:
        return options
    return {"clip": clip} | options
