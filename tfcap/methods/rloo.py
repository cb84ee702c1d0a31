"""REINFORCE with the mean of an image's other samples as baseline."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import anchored
from tfcap.methods.parts import check_choice
from tfcap.methods.parts import check_unread
from tfcap.methods.parts import clipped_updates
from tfcap.methods.parts import self_critical_term
from tfcap.objectives import ClippedRatio
from tfcap.rewards import KLPenalty
from tfcap.rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner


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
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a reward, above the mean of its other samples.

    ```
    reward = reward(sample) - kl_weight * log(p(sample) / reference(sample))
    loss = -(reward - mean of the others' rewards) * sum_t log p(word[t])
    ```

    As `scst()` with several samples, and a penalty of leaving a reference.

    Args:
        speaker, reward, reference: As those of `grpo()`.
        num_samples: Integer `S`, captions drawn of an image. Defaults to `4`.
        kl_weight: Float, of the penalty. Defaults to `0.05`.
        normalize: As that of `tfcap.objectives.ScoreFunction`.
        clip, updates_per_rollout: As those of `grpo()`.
        baseline: `"leave_one_out"`, or `"greedy"`, the reward of the greedy
            caption.
        max_length, suppress, seed, global_clipnorm, **options: As those of
            `scst()`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, a number out of range, or `clip` would
            not be read.

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
    check_speaker(speaker)
    check_choice(baseline, "baseline", ("leave_one_out", "greedy"))
    words, reward = WordLimits(max_length, suppress, seed), as_reward(reward)
    anchored(speaker, reference)
    if reference is not None:
        reward = reward + kl_weight * KLPenalty(reference)
    elif kl_weight:
        check_unread(rloo, "reference=None", kl_weight=kl_weight)
    objective = self_critical_term(
        reward, words, num_samples, baseline, normalize
    )
    options |= clipped_updates(clip, updates_per_rollout, options)
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)


def ppo(speaker: Any, reward: Any, **options: Any) -> JointTraining:
    """Trains as `rloo()`, with several clipped updates a rollout.

    ```
    loss = mean over samples and words of -min(
        ratio * advantage, clip(ratio, 0.8, 1.2) * advantage
    )
    ```

    Advantages are above the greedy caption or the other samples, as toolkits
    of captioning have it; with a critic, `actor_critic()`, one update is
    taken.

    Args:
        speaker, reward: As those of `grpo()`.
        **options: As those of `rloo()`; `updates_per_rollout` defaults to `4`,
            and `normalize` to `"token"`.

    Returns:
        `tfcap.training.JointTraining`.

    Reference:

    - Schulman et al., Proximal Policy Optimization Algorithms, 2017

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.ppo(speaker, tfcap.rewards.BLEU(4))
    """
    own = {"updates_per_rollout": 4, "normalize": "token"}
    return rloo(speaker, reward, **own | options)
