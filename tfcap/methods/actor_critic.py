"""Advantage actor-critic with generalized advantage estimation."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import with_baseline
from tfcap.objectives import GAE
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining


def actor_critic(
    speaker: Any,
    reward: Any,
    *,
    state_units: int,
    lambda_: float = 0.95,
    gamma: float = 1.0,
    num_samples: int = 1,
    baseline_units: tuple = (),
    normalize: str = "sequence",
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a reward, and a critic that values its words.

    ```
    delta[t] = reward[t] + gamma * value[t + 1] - value[t]
    advantage[t] = sum_l (gamma * lambda_) ** l * delta[t + l]
    loss = sum_t -advantage[t] * log p(word[t])
    ```

    Args:
        speaker, reward: As those of `grpo()`.
        state_units, baseline_units: As those of `policy_gradient()`, of the
            critic.
        lambda_, gamma: As those of `tfcap.objectives.GAE`.
        num_samples: Integer `S`, captions drawn of an image.
        normalize: As that of `tfcap.objectives.ScoreFunction`.
        max_length, suppress, seed, global_clipnorm, **options: As those of
            `policy_gradient()`.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and
        `"baseline"`.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, or a number out of range.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.actor_critic(
    ...     speaker, tfcap.rewards.BLEU(4), state_units=24
    ... )

    Reference:

    - Schulman et al., High-Dimensional Continuous Control Using Generalized
      Advantage Estimation, ICLR 2016
    - Mnih et al., Asynchronous Methods for Deep Reinforcement Learning, ICML
      2016
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(num_samples=num_samples, keep_states=True)
    critic = LearnedBaseline(state_units, baseline_units)
    objective = ScoreFunction(
        reward,
        samples,
        critic,
        normalize,
        credit=GAE(critic, lambda_, gamma),
    )
    return with_baseline(speaker, critic, objective, global_clipnorm, options)
