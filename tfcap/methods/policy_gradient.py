"""Policy gradient of any reward, word by word."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import check_unread
from tfcap.methods.parts import with_baseline
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining


def policy_gradient(
    speaker: Any,
    reward: Any,
    *,
    state_units: int,
    num_continuations: int = 3,
    rollout_every: int = 1,
    baseline_units: tuple = (512,),
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric, every word by what it leads to.

    ```
    loss = -sum_t (Q[t] - baseline[t]) * log p(word[t])
    Q[t] = mean over K of reward(words[: t + 1], continuation k)
    baseline loss = mean_t (Q[t] - baseline[t]) ** 2
    ```

    The baseline is a network that reads the speaker's state. Fit it alone
    first, before the speaker moves:

    ```
    training = policy_gradient(speaker, reward, state_units=512)
    alone = tfcap.training.JointTraining(
        speaker, {"baseline": training.learners["baseline"]}
    )
    alone.compile("adam")
    alone.fit(dataset)
    ```

    Args:
        speaker: As that of `psst()`.
        reward: `tfcap.rewards.Reward`, such as `SPIDEr`, `BCMR` or `CIDErD`.
        state_units: Integer, size of what `tfcap.decoding.state_vector()`
            makes of the speaker's state.
        num_continuations: Integer `K`, of each beginning; 0 for plain
            REINFORCE, in which all words have the reward of the sentence.
        rollout_every: Integer, words from one beginning that is continued to
            the next.
        baseline_units: Tuple of integers, hidden layers of the baseline.
        max_length, suppress, seed, global_clipnorm: As those of `psst()`.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and
        `"baseline"`.

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
    >>> training = tfcap.methods.policy_gradient(
    ...     speaker, tfcap.rewards.BLEU(4), state_units=8
    ... )
    >>> training.compile({"speaker": "adam", "baseline": "adam"})

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, section 3, "PG-*" of its tables
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(keep_states=True)
    baseline = LearnedBaseline(state_units, baseline_units)
    credit = None
    if num_continuations:
        credit = MonteCarlo(num_continuations, rollout_every)
    else:
        variant = "num_continuations=0"
        check_unread(policy_gradient, variant, rollout_every=rollout_every)
    objective = ScoreFunction(reward, samples, baseline, credit=credit)
    return with_baseline(speaker, baseline, objective, global_clipnorm, options)
