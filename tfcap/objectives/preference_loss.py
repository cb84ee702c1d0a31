"""Preference losses of pairs of samples: DPO, IPO and SimPO."""

from typing import Any

from keras import ops

from tfcap._ops import mean_over_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import checked_number
from tfcap.objectives.baselines import check_of_sequences
from tfcap.objectives.baselines import check_several
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.objectives.estimator import check_discrete
from tfcap.objectives.estimator import scored_anew
from tfcap.rewards.distributions import check_reference
from tfcap.rewards.distributions import reference_log_probs
from tfcap.rewards.text_rewards import as_reward

LOSSES = ("dpo", "ipo", "simpo")
PAIRS = ("best_worst", "all")


class PreferenceLoss(Estimator):
    """Prefers the samples of a row that a reward prefers.

    Of two samples, the one of higher reward is chosen, `w`, the other
    rejected, `l`; equal ones are no pair.

    ```
    margin = log p(w) / r(w) - log p(l) / r(l)       # r: the reference
    dpo:   loss = -log sigmoid(beta * margin)
    ipo:   loss = (margin - 1 / (2 * beta)) ** 2
    margin = log p(w) / length(w) - log p(l) / length(l)
    simpo: loss = -log sigmoid(beta * margin - gamma)
    ```

    with log ratios `log p(w) / r(w)` of whole captions in DPO and IPO. Losses
    are means over the pairs of a row. Pairs come from what the speaker says
    at this step, so that preferences are its own; the reward is read by value
    only. Beside the reward are logged, under the estimator's name and

    - `accuracy`: share of pairs whose margin is positive;
    - `margin`: mean over pairs;
    - `pairs`: pairs of a row.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings.
        decoder: `tfcap.decoding.Decoder` of several discrete words of a row.
        reference: `tfcap.decoding.Speaker` that stays as it is, such as a copy
            of the speaker before training; `None` for SimPO alone.
        loss: `"dpo"`, `"ipo"` or `"simpo"`. Defaults to `"dpo"`.
        beta: Float, positive. Defaults to `0.1`.
        gamma: Float, target margin, of SimPO alone. Defaults to `0.0`.
        pairs: `"best_worst"`, one pair a row, or `"all"`. Defaults to
            `"best_worst"`.
        name: String. Defaults to the reward's name.

    Example:

    >>> samples = tfcap.decoding.Sample(num_samples=4)
    >>> objective = tfcap.objectives.PreferenceLoss(
    ...     tfcap.rewards.BLEU(4), samples, loss="simpo", beta=2.0, gamma=0.5
    ... )
    >>> objective.name
    'bleu_4'

    Reference:

    - Rafailov et al., Direct Preference Optimization, NeurIPS 2023, equation 7
    - Azar et al., A General Theoretical Paradigm to Understand Learning from
      Human Preferences, AISTATS 2024, equation 17
    - Meng et al., SimPO, NeurIPS 2024, equation 6
    """

    scores_words = True

    def __init__(
        self,
        reward: Any,
        decoder: Any,
        reference: Any = None,
        loss: str = "dpo",
        beta: float = 0.1,
        gamma: float = 0.0,
        pairs: str = "best_worst",
        name: str | None = None,
    ):
        reward = as_reward(reward)
        check_decoder(decoder)
        choices = {"loss": (loss, LOSSES), "pairs": (pairs, PAIRS)}
        for argument, (value, known) in choices.items():
            if value not in known:
                raise ValueError(
                    f"`{argument}` must be one of {known}. Received: "
                    f"{argument}={value!r}."
                )
        if (reference is None) != (loss == "simpo"):
            raise ValueError(
                '`reference` must be a speaker for "dpo" and "ipo", and None '
                f'for "simpo". Received: reference={reference!r} with '
                f"loss={loss!r}."
            )
        if reference is not None:
            check_reference(reference)
        gamma = checked_number(gamma, "gamma", "a number", lambda x: True)
        if gamma and loss != "simpo":
            raise ValueError(
                f'`gamma` must be 0 for "dpo" and "ipo", which have no target '
                f"margin. Received: gamma={gamma} with loss={loss!r}. Leave "
                'it out, or choose "simpo".'
            )
        super().__init__(
            name or reward.name,
            reward.terms,
            (decoder,),
            ("std", "accuracy", "margin", "pairs"),
        )
        self.reward = reward
        self.decoder = decoder
        self.reference = reference
        self.kind = loss
        self.beta = checked_number(beta, "beta", "positive", lambda x: x > 0)
        self.gamma = gamma
        self.pairs = pairs

    def rollout(self, episode):
        return self.judged(episode)

    def per_sample_loss(self, episode):
        check_discrete(episode.rollout(self.decoder), self.decoder, self)
        rollout, rewards, own, parts = self.rewarded(episode)
        check_of_sequences(rewards, "PreferenceLoss")
        check_several(rewards, "PreferenceLoss")
        scores = self._scores(rollout, episode)
        pairs = self._preferences(ops.stop_gradient(rewards), rollout.nonempty)
        # margin[b, i, j]: of sample i above sample j.
        margin = scores[:, :, None] - scores[:, None, :]
        losses = self._losses(margin)
        count = ops.sum(pairs, axis=(1, 2))[:, None]
        # Pairs of a row of the global batch: of what is divided by them, the
        # mean over rows is that over pairs.
        share = mean_over_replicas(count, self.mask(count, episode))
        usual = sum_over_replicas(share)
        usual = ops.where(usual > 0, usual, 1.0)

        def total(values):
            # where() rather than a product: what is absent may be infinite.
            values = ops.where(pairs > 0, values, 0.0)
            return ops.sum(values, axis=(1, 2))[:, None]

        right = ops.cast(margin > 0, "float32")
        logs = {
            "accuracy": total(right) / usual,
            "margin": total(margin) / usual,
            "pairs": count,
        }
        losses = total(losses) / ops.maximum(count, 1.0)
        return losses, own, {**parts, **logs}

    def _scores(self, rollout, episode):
        """Numbers to compare, one of every sample: `(B, S)`."""
        rollout = scored_anew(rollout, self.decoder)
        scores = episode.log_probs(rollout)
        if self.reference is not None:
            scores = scores - reference_log_probs(
                self.reference, rollout, episode
            )
        scores = ops.sum(ops.where(rollout.mask > 0, scores, 0.0), axis=-1)
        if self.kind == "simpo":
            words = ops.sum(rollout.mask, axis=-1)
            scores = scores / ops.maximum(words, 1.0)
        return scores

    def _losses(self, margin):
        if self.kind == "ipo":
            return ops.square(margin - 0.5 / self.beta)
        return ops.softplus(self.gamma - self.beta * margin)

    def _preferences(self, rewards, present):
        """Marks pairs `(B, S, S)` of a chosen and a rejected sample."""
        both = ops.logical_and(present[:, :, None], present[:, None, :])
        above = rewards[:, :, None] > rewards[:, None, :]
        pairs = ops.cast(ops.logical_and(above, both), "float32")
        if self.pairs == "all":
            return pairs
        size = rewards.shape[1]
        low = ops.min(rewards) - 1.0
        high = ops.max(rewards) + 1.0
        best = ops.argmax(ops.where(present, rewards, low), axis=1)
        worst = ops.argmin(ops.where(present, rewards, high), axis=1)
        one = ops.one_hot(best, size)[:, :, None]
        one = one * ops.one_hot(worst, size)[:, None, :]
        return pairs * ops.cast(one, "float32")
