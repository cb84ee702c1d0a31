"""Generalized advantage estimation."""

from typing import Any

import numpy as np
from keras import ops

from tfcap._ops.arguments import checked_number
from tfcap.objectives.baseline import Baseline
from tfcap.objectives.baseline import Credit
from tfcap.objectives.baseline import expectation
from tfcap.objectives.baselines import RunningMeanBaseline
from tfcap.objectives.baselines import check_of_sequences


class GAE(Credit):
    """Credit of every word by a critic's values of the words after it.

    ```
    delta[t] = reward[t] + gamma * value[t + 1] - value[t]
    advantage[t] = sum_l (gamma * lambda_) ** l * delta[t + l]
    credit[t] = advantage[t] + value[t]
    ```

    of the values of a baseline before each word, bootstrapped: what comes
    after a word is worth what the critic expects. The reward is of the whole
    caption and comes with its last word, after which nothing has a value, also
    where `max_length` cuts it. The same baseline, given to the `ScoreFunction`,
    leaves the advantage, and, where it learns, learns the credit, the
    lambda-return. With `lambda_=1` and `gamma=1` the credit is the reward;
    with less, noise is traded for the errors of the critic.

    Args:
        baseline: `Baseline` of a value for each word, such as
            `LearnedBaseline`, the estimator's own, which is asked twice a
            step and must not count it.
        lambda_: Float in `[0, 1]`. Defaults to `0.95`.
        gamma: Float in `[0, 1]`, discount of a word. Defaults to `1.0`.

    Example:

    >>> decoder = tfcap.decoding.Sample(num_samples=2, keep_states=True)
    >>> critic = tfcap.objectives.LearnedBaseline(decoder, 64)
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.BLEU(4),
    ...     decoder,
    ...     baseline=critic,
    ...     credit=tfcap.objectives.GAE(critic, lambda_=0.95),
    ... )

    Reference:

    - Schulman et al., High-Dimensional Continuous Control Using Generalized
      Advantage Estimation, ICLR 2016, equation 16
    """

    def __init__(
        self, baseline: Baseline, lambda_: float = 0.95, gamma: float = 1.0
    ):
        if not isinstance(baseline, Baseline):
            raise TypeError(
                "`baseline` must be a `tfcap.objectives.Baseline`, the "
                f"estimator's own. Received: baseline={baseline!r}."
            )
        if isinstance(baseline, RunningMeanBaseline):
            raise ValueError(
                "`baseline` of GAE must value words, and be asked twice a "
                "step without moving. Received: RunningMeanBaseline. Use "
                "LearnedBaseline; or give this one to the estimator, without "
                "`credit`."
            )
        self.baseline = baseline
        self.lambda_, self.gamma = (
            checked_number(value, name, "in [0, 1]", lambda x: 0 <= x <= 1)
            for name, value in (("lambda_", lambda_), ("gamma", gamma))
        )

    def check(self, reward: Any, decoder: Any) -> None:
        self.baseline.check(decoder, self)

    def __call__(self, rewards, episode, reward, decoder):
        check_of_sequences(rewards, "GAE")
        rollout = episode.rollout(decoder)
        mask = rollout.mask
        scoring = episode.scoring(rollout)
        values = expectation(self.baseline, rewards, scoring)
        if len(values.shape) == 2:
            values = values[..., None]
        values = ops.stop_gradient(values) * mask
        after = ops.pad(values[..., 1:], [(0, 0), (0, 0), (0, 1)])
        last = mask - ops.pad(mask[..., 1:], [(0, 0), (0, 0), (0, 1)])
        delta = rewards[..., None] * last + self.gamma * after - values
        length = mask.shape[-1]
        # decay[u, t] = (gamma * lambda) ** (u - t), 0 where u < t.
        steps = np.arange(length)[:, None] - np.arange(length)
        decay = (self.gamma * self.lambda_) ** np.maximum(steps, 0)
        decay = np.where(steps >= 0, decay, 0.0).astype("float32")
        credit = ops.matmul(delta, decay) + values
        # Past the end it is the reward, which a deviation of rows reads.
        credit = ops.where(mask > 0, credit, rewards[..., None])
        return ops.stop_gradient(credit)
