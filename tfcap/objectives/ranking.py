"""Losses of the samples of a row, ranked by a reward."""

from typing import Any

from keras import ops

from tfcap._ops import masked_logsumexp
from tfcap._ops import mean_over_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap.objectives.estimator import RewardEstimator
from tfcap.objectives.estimator import check_discrete
from tfcap.objectives.estimator import scored_anew
from tfcap.rewards.distributions import SCORES
from tfcap.rewards.distributions import reference_log_probs
from tfcap.rewards.reward import check_methods
from tfcap.rewards.reward import check_of_sequences
from tfcap.rewards.reward import check_several

PREFERENCES = ("dpo", "ipo", "simpo")
PAIRS = ("best_worst", "all")
STRUCTURES = (
    *("risk", "sequence_likelihood", "softmax_margin"),
    *("max_margin", "multi_margin"),
)


class _Ranking(RewardEstimator):
    """An estimator that compares the samples of a row."""

    def ranked(self, episode, by_length, reference=None):
        """Returns rewards and scores of samples, `(B, S)`, and their presence.

        Args:
            by_length: Boolean, whether scores are means over words, not sums.
            reference: `tfcap.decoding.Speaker` whose log probabilities are
                subtracted, or `None`.

        Returns:
            Rewards without gradient, scores, and booleans; the rewards to log,
            and their parts.
        """
        check_discrete(episode.rollout(self.decoder), self.decoder, self)
        rollout, rewards, own, parts = self.rewarded(episode)
        check_of_sequences(rewards, type(self).__name__)
        check_several(rewards, type(self).__name__)
        rollout = scored_anew(rollout, self.decoder)
        scores = episode.log_probs(rollout)
        if reference is not None:
            scores = scores - reference_log_probs(reference, rollout, episode)
        # where() rather than a product: what is absent may be infinite.
        scores = ops.sum(ops.where(rollout.mask > 0, scores, 0.0), axis=-1)
        if by_length:
            words = ops.sum(rollout.mask, axis=-1)
            scores = scores / ops.maximum(words, 1.0)
        rewards = ops.stop_gradient(rewards)
        return rewards, scores, rollout.nonempty, own, parts


class PreferenceLoss(_Ranking):
    """Trains on preferences between the samples of a row, by a reward.

    Of two samples, the one with the higher reward is chosen, `w`, the other
    rejected, `l`; equal rewards make no pair.

    ```
    margin = log p(w) / r(w) - log p(l) / r(l)       # r: the reference
    dpo:   loss = -log sigmoid(beta * margin)
    ipo:   loss = (margin - 1 / (2 * beta)) ** 2
    margin = log p(w) / length(w) - log p(l) / length(l)
    simpo: loss = -log sigmoid(beta * margin - gamma)
    ```

    with log ratios `log p(w) / r(w)` of whole captions in DPO and IPO. Losses
    are means over the pairs of a row. Pairs are sampled from the speaker at
    every step; only the values of the reward are used. Besides the reward, it
    logs under the estimator's name and

    - `accuracy`: share of pairs whose margin is positive;
    - `margin`: mean over pairs;
    - `pairs`: pairs of a row.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings.
        decoder: `tfcap.decoding.Decoder` of several discrete words of a row.
        reference: Fixed `tfcap.decoding.Speaker`, such as a copy of the
            speaker before training; `None` for SimPO alone.
        loss: `"dpo"`, `"ipo"` or `"simpo"`. Defaults to `"dpo"`.
        beta: Float, positive. Defaults to `0.1`.
        gamma: Float, target margin, of SimPO alone. Defaults to `0.0`.
        pairs: `"best_worst"`, one pair a row, or `"all"`. Defaults to
            `"best_worst"`.
        name: String. Defaults to the reward's name.

    Example:

    >>> from tfcap.objectives.ranking import PreferenceLoss
    >>> samples = tfcap.decoding.Sample(num_samples=4)
    >>> objective = PreferenceLoss(
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
        statistics = ("std", "accuracy", "margin", "pairs")
        super().__init__(reward, decoder, name, statistics)
        check_choice(loss, "loss", PREFERENCES)
        check_choice(pairs, "pairs", PAIRS)
        if (reference is None) != (loss == "simpo"):
            raise ValueError(
                '`reference` must be a speaker for "dpo" and "ipo", and None '
                f'for "simpo". Received: reference={reference!r} with '
                f"loss={loss!r}."
            )
        if reference is not None:
            check_methods(reference, "reference", *SCORES)
        if gamma and loss != "simpo":
            raise ValueError(
                f'`gamma` must be 0 for "dpo" and "ipo", which have no target '
                f"margin. Received: gamma={gamma} with loss={loss!r}."
            )
        self.reference = reference
        self.kind = loss
        self.beta = checked_number(beta, "beta", "positive", lambda x: x > 0)
        self.gamma = float(gamma)
        self.pairs = pairs

    def per_sample_loss(self, episode):
        rewards, scores, present, own, parts = self.ranked(
            episode, self.kind == "simpo", self.reference
        )
        pairs = self._preferences(rewards, present)
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


class StructureLoss(_Ranking):
    """A loss on the ranking of an image's samples by reward.

    With the candidates `u` of a row, their scores `s(u)`, the mean log
    probabilities of a word, their `cost(u)`, the difference to the best reward
    of the row, and `best`, the candidate with that reward,

    ```
    risk:                 sum_u softmax(s)(u) * cost(u)
    sequence_likelihood:  -log softmax(s)(best)
    softmax_margin:       -s(best) + log sum_u exp(s(u) + cost(u))
    max_margin:           max(0, cost(top) - s(best) + s(top)),
                          top the candidate of the highest score
    multi_margin:         sum_u max(0, cost(u) - s(best) + s(u)), u not best
    ```

    The candidates stand for all captions, the best of them for a reference.
    Only the values of rewards are used. It also logs, under the estimator's
    name and `accuracy`, the share of rows whose best candidate has the highest
    score.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings.
        decoder: `tfcap.decoding.Decoder` of several discrete words of a row:
            `Sample`, or `BeamSearch`, as in the paper.
        loss: One of the names above. Defaults to `"risk"`.
        scale: Float, factor on costs, in nats of a word. Defaults to `1.0`.
        name: String. Defaults to the reward's name.

    Example:

    >>> samples = tfcap.decoding.Sample(num_samples=5)
    >>> objective = tfcap.objectives.StructureLoss(
    ...     tfcap.rewards.BLEU(4), samples, "softmax_margin"
    ... )
    >>> objective.name
    'bleu_4'

    Reference:

    - Edunov et al., Classical Structured Prediction Losses for Sequence to
      Sequence Learning, NAACL 2018, section 3. There, the cost is 1 minus a
      score in [0, 1]; a constant of a row changes no gradient, so that rewards
      may have any scale here.
    - Shen et al., Minimum Risk Training for Neural Machine Translation, ACL
      2016
    """

    def __init__(
        self,
        reward: Any,
        decoder: Any,
        loss: str = "risk",
        scale: float = 1.0,
        name: str | None = None,
    ):
        super().__init__(reward, decoder, name, ("std", "accuracy"))
        check_choice(loss, "loss", STRUCTURES)
        self.kind = loss
        self.scale = scale

    def per_sample_loss(self, episode):
        values, scores, present, own, parts = self.ranked(episode, True)
        values = ops.where(present, values, ops.min(values) - 1.0)
        best = ops.one_hot(ops.argmax(values, axis=1), values.shape[1])
        top = ops.where(present, scores, ops.min(scores) - 1.0)
        top = ops.one_hot(ops.argmax(top, axis=1), values.shape[1])
        cost = self.scale * (ops.max(values, axis=1, keepdims=True) - values)
        losses = self._losses(scores, cost, best, top, present)
        logs = {"accuracy": ops.sum(best * top, axis=1, keepdims=True)}
        # A row of which nothing is said has no best sequence.
        said = ops.any(present, axis=1, keepdims=True)
        return ops.where(said, losses, 0.0), own, {**parts, **logs}

    def _losses(self, scores, cost, best, top, present):
        """Losses of rows, `(B, 1)`."""

        def of(chosen, values):
            return ops.sum(chosen * values, axis=1, keepdims=True)

        chosen = of(best, scores)
        if self.kind == "max_margin":
            return ops.relu(of(top, cost + scores) - chosen)
        if self.kind == "multi_margin":
            hinges = ops.relu(cost + scores - chosen) * (1.0 - best)
            hinges = ops.where(present, hinges, 0.0)
            return ops.sum(hinges, axis=1, keepdims=True)
        if self.kind == "softmax_margin":
            scores = scores + cost
        total = masked_logsumexp(scores, present, axis=1)
        total = ops.reshape(total, (-1, 1))
        if self.kind == "risk":
            # Masked before exp(), which of a row without a sample is infinite:
            # its total is far below its scores.
            scores = ops.where(present, scores - total, LARGE_NEGATIVE)
            return of(ops.exp(scores), cost)
        return total - chosen
