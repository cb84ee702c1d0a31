"""Losses of structured prediction over the samples of a row."""

from typing import Any

from keras import ops

from tfcap._ops import masked_logsumexp
from tfcap._ops.masking import LARGE_NEGATIVE
from tfcap.objectives.baselines import check_of_sequences
from tfcap.objectives.baselines import check_several
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.objectives.estimator import check_discrete
from tfcap.objectives.estimator import scored_anew
from tfcap.rewards.text_rewards import as_reward

LOSSES = (
    *("risk", "sequence_likelihood", "softmax_margin"),
    *("max_margin", "multi_margin"),
)


class StructureLoss(Estimator):
    """Ranks the samples of a row by their rewards.

    With the candidates `u` of a row, their scores `s(u)`, mean log
    probabilities of a word, their `cost(u)`, how far below the best reward of
    the row theirs is, and `best` the candidate of that reward,

    ```
    risk:                 sum_u softmax(s)(u) * cost(u)
    sequence_likelihood:  -log softmax(s)(best)
    softmax_margin:       -s(best) + log sum_u exp(s(u) + cost(u))
    max_margin:           max(0, cost(top) - s(best) + s(top)),
                          top the candidate of the highest score
    multi_margin:         sum_u max(0, cost(u) - s(best) + s(u)), u not best
    ```

    The candidates take the place of all captions, the best of them that of a
    reference. Rewards are read by value only. Beside them is logged, under
    the estimator's name and `accuracy`, the share of rows whose best candidate
    has the highest score.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings.
        decoder: `tfcap.decoding.Decoder` of several discrete words of a row:
            `Sample`, or `BeamSearch`, as in the paper.
        loss: One of the names above. Defaults to `"risk"`.
        scale: Float, factor on costs, which are to be compared with nats of a
            word. Defaults to `1.0`.
        length_normalized: Boolean, whether scores are means over words, not
            sums. Defaults to `True`.
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
      score in [0, 1]; a constant of a row changes no gradient here, so that
      rewards of any scale are cost enough.
    - Shen et al., Minimum Risk Training for Neural Machine Translation, ACL
      2016
    """

    scores_words = True

    def __init__(
        self,
        reward: Any,
        decoder: Any,
        loss: str = "risk",
        scale: float = 1.0,
        length_normalized: bool = True,
        name: str | None = None,
    ):
        reward = as_reward(reward)
        check_decoder(decoder)
        if loss not in LOSSES:
            raise ValueError(
                f"`loss` must be one of {LOSSES}. Received: loss={loss!r}."
            )
        if loss == "sequence_likelihood" and scale != 1.0:
            raise ValueError(
                '`scale` must be 1 for loss="sequence_likelihood", which has '
                f"no costs. Received: scale={scale!r}. Leave it out."
            )
        super().__init__(
            name or reward.name, reward.terms, (decoder,), ("std", "accuracy")
        )
        self.reward = reward
        self.decoder = decoder
        self.kind = loss
        self.scale = scale
        self.length_normalized = length_normalized

    def rollout(self, episode):
        return self.judged(episode)

    def per_sample_loss(self, episode):
        check_discrete(episode.rollout(self.decoder), self.decoder, self)
        rollout, rewards, own, parts = self.rewarded(episode)
        check_of_sequences(rewards, "StructureLoss")
        check_several(rewards, "StructureLoss")
        rollout = scored_anew(rollout, self.decoder)
        present = rollout.nonempty
        scores = episode.log_probs(rollout)
        # where() rather than a product: what is absent may be infinite.
        scores = ops.sum(ops.where(rollout.mask > 0, scores, 0.0), axis=-1)
        if self.length_normalized:
            words = ops.sum(rollout.mask, axis=-1)
            scores = scores / ops.maximum(words, 1.0)
        values = ops.stop_gradient(rewards)
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
