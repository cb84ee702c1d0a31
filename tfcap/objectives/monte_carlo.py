"""Credit for every word by Monte-Carlo rollouts, and its baseline."""

import keras
import numpy as np
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import checked_integer
from tfcap.decoding import Rollout
from tfcap.objectives.baseline import Baseline
from tfcap.objectives.baseline import Credit
from tfcap.objectives.baseline import as_baseline
from tfcap.objectives.baseline import as_credit
from tfcap.objectives.baseline import expectation
from tfcap.objectives.baselines import check_of_sequences
from tfcap.rewards.reward import ABSTAINED


class MonteCarlo(Credit):
    """The mean reward of sentences that begin with a word's prefix.

    ```
    credit[t] = mean over K of reward(words[: t + 1], continuation k)
    credit[last] = reward(words)
    ```

    with continuations that the estimator's decoder draws. A word that spoils
    the sentence is told so at once, rather than all words of it, and the
    expected gradient is that of the plain reward, whatever `K` is. Continuing
    costs about `K * T / 2` times as much as saying the sequences did, without
    the gradient.

    Of long sentences some prefixes are enough. Then a word has the value of
    the next beginning that is continued, with which it stands, and words after
    the last have the reward of the whole:

    ```
    credit[t] = mean over K of reward(words[: u + 1], continuation k)
        for the first u >= t that is continued
    ```

    The expected gradient is still the same: a word may be given credit by
    what any continuation of it is worth, whether its next words were said or
    are drawn anew. What is not continued is not computed.

    The reward scores all continuations of the batch at once, as samples of
    their row, and reads their tokens alone. It must not compare them with each
    other, as `tfcap.rewards.PairwiseDiversity` does, nor read log
    probabilities, as `tfcap.rewards.Surprisal` does: such a reward is for
    another `ScoreFunction` of the same decoder.

    Args:
        num_continuations: Integer `K`. Defaults to `3`.
        rollout_every: Integer `n`: prefixes of `n`, `2 * n`, `3 * n` and so
            on words are continued. Defaults to `1`, all of them.
        max_rollouts: Integer, how many prefixes of a sentence are continued
            at most, the first ones. Defaults to `None`, all of them.

    Call arguments:
        rewards: Float tensor of shape `(B, S)`, those of the whole sequences.
        episode: `tfcap.objectives.Episode`.
        reward: `tfcap.rewards.Reward`.
        decoder: `tfcap.decoding.Sample` of discrete words, or another decoder
            with its method `continuations()`.

    Returns:
        Float tensor of shape `(B, S, T)`, without gradient. After the end of a
        sequence it is the reward of the whole.

    Example:

    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.BLEU(4),
    ...     tfcap.decoding.Sample(),
    ...     baseline=tfcap.objectives.PrefixBaseline(),
    ...     credit=tfcap.objectives.MonteCarlo(num_continuations=3),
    ... )

    Reference:

    - Yu et al., SeqGAN, AAAI 2017, section 2.3
    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, section 3
    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.3, "early feedback"
    """

    def __init__(self, num_continuations=3, rollout_every=1, max_rollouts=None):
        self.num_continuations = checked_integer(
            num_continuations, "num_continuations"
        )
        self.rollout_every = checked_integer(rollout_every, "rollout_every")
        if max_rollouts is not None:
            max_rollouts = checked_integer(max_rollouts, "max_rollouts")
        self.max_rollouts = max_rollouts

    @property
    def skips(self):
        """True if words may have the value of a longer prefix."""
        return self.rollout_every > 1 or self.max_rollouts is not None

    def prefixes(self, length):
        """Indices of the last words of the prefixes that are continued.

        Args:
            length: Integer `T`.

        Returns:
            Tuple of integers.
        """
        every = self.rollout_every
        return tuple(range(every - 1, length - 1, every))[: self.max_rollouts]

    def check(self, reward, decoder):
        if not hasattr(decoder, "continuations"):
            raise TypeError(
                "`decoder` must continue any prefix for MonteCarlo. "
                f"Received: decoder={type(decoder).__name__}. Use Sample."
            )
        decoder.logits_processors.check_no_prefix()
        refused = {
            "compare samples": reward.compares_samples,
            "read log probabilities": reward.reads_log_probs,
        }
        for what, does in refused.items():
            if does:
                raise ValueError(
                    f"`reward` must not {what} for MonteCarlo, which scores "
                    "continuations beside each other by their tokens. "
                    f"Received: reward={reward.name!r}. Give what does a "
                    "ScoreFunction of its own, without `credit`."
                )

    def __call__(self, rewards, episode, reward, decoder):
        self.check(reward, decoder)
        check_of_sequences(rewards, "MonteCarlo")
        rollout = episode.rollout(decoder)
        length = rollout.mask.shape[-1]
        prefixes = self.prefixes(length)
        known = rewards[..., None]
        if prefixes:
            values = self._values(rollout, prefixes, episode, reward, decoder)
            after = [last + 1 for last in prefixes]
            goes_on = ops.take(rollout.mask, after, axis=-1) > 0
            values = ops.where(goes_on, values, known)
            if reward.abstains:
                values = _filled(values, rewards)
            known = ops.concatenate([values, known], axis=-1)
        # Of every word, the first prefix that it is in, or the whole.
        own = np.searchsorted(prefixes, np.arange(length))
        return ops.stop_gradient(ops.take(known, own, axis=-1))

    def _values(self, rollout, prefixes, episode, reward, decoder):
        """Values `(B, S, N)` of prefixes that are not the whole."""
        said = decoder.continuations(
            episode.speaker,
            keras.tree.map_structure(ops.stop_gradient, episode.state),
            rollout,
            self.num_continuations,
            training=episode.training,
            prefixes=prefixes,
        )
        _, *table, count, length = said.tokens.shape
        shape = (-1, table[0] * table[1] * count, length)
        continued = Rollout(
            ops.reshape(said.tokens, shape), ops.reshape(said.mask, shape)
        )
        values = reward.scored(continued, episode).values
        values = ops.reshape(values, (-1, *table, count))
        if not reward.abstains:
            return ops.mean(values, axis=-1)
        judged = values != ABSTAINED
        mean = masked_mean(ops.where(judged, values, 0), judged, axis=-1)
        return ops.where(ops.any(judged, axis=-1), mean, ABSTAINED)


def _filled(values, rewards):
    """Gives a prefix that none judged the value of the next one, or whole."""
    filled = [rewards]
    for value in reversed(ops.unstack(values, axis=-1)):
        filled.append(ops.where(value != ABSTAINED, value, filled[-1]))
    return ops.stack(filled[:0:-1], axis=-1)


class PrefixBaseline(Baseline):
    """The value of the prefix before a word, as its baseline.

    ```
    baseline[t] = credit[t - 1]
    ```

    of a credit that is an estimate of its own for every prefix, such as
    `MonteCarlo`: the value of a prefix does not depend on the word that came
    next, so the baseline leaves the expected gradient as it is, and costs
    nothing to compute.

    Where `MonteCarlo` does not continue every prefix, `credit[t - 1]` may be
    the value of a longer prefix, which does depend on word `t`: the baseline
    would take away what the word is worth. It is then the value of the last
    prefix before the word that was continued, which `credit` knows.

    Args:
        first: The `Baseline` of the first word, which has nothing before it,
            or a function of `(rewards, episode)`: values of shape `(B, S)`,
            `(B, 1)` or `(B, S, 1)`, such as those of `DecoderBaseline`.
            Defaults to `None`, 0.
        credit: The credit of the estimator; needed where it is `MonteCarlo`
            with `rollout_every` or `max_rollouts`. Defaults to `None`, every
            prefix has a value of its own.

    Example:

    >>> credit = np.array([[[1.0, 2.0, 6.0]]])
    >>> print(tfcap.objectives.PrefixBaseline()(credit, None).numpy())
    [[[0. 1. 2.]]]
    """

    def __init__(self, first=None, credit=None):
        self.first = as_baseline(first)
        self.credit = as_credit(credit)

    @property
    def layers(self):
        return () if self.first is None else self.first.layers

    @property
    def decoders(self):
        return getattr(self.first, "decoders", ())

    def check(self, decoder, credit):
        unknown = self.credit is None and credit is not None and credit.skips
        if unknown or self.credit not in (None, credit):
            raise ValueError(
                "`credit` of PrefixBaseline must be the estimator's, which "
                "does not continue every prefix. Received: "
                f"credit={self.credit}, and {credit}. Give both the same "
                "object."
            )

    def __call__(self, rewards, episode):
        if len(rewards.shape) != 3:
            raise ValueError(
                "PrefixBaseline needs a reward for every word. Received: "
                f"rewards of shape {tuple(rewards.shape)}. Give the estimator "
                "a `credit`, such as MonteCarlo."
            )
        first = ops.zeros_like(rewards[..., :1])
        if self.first is not None:
            first = first + self._of_first(rewards, episode)
        length = rewards.shape[-1]
        ends = list(range(length - 1))
        if self.credit is not None:
            ends = list(self.credit.prefixes(length))
        known = ops.concatenate(
            [first, ops.take(rewards, np.array(ends, int), axis=-1)], axis=-1
        )
        # Of every word, the last prefix that it is not in.
        return ops.take(known, np.searchsorted(ends, range(length)), axis=-1)

    def _of_first(self, rewards, episode):
        """The baseline of the first word, `(B, S, 1)` or broadcast to it."""
        values = expectation(self.first, rewards, episode)
        if len(values.shape) == 2:
            return values[..., None]
        if len(values.shape) != 3 or values.shape[-1] != 1:
            raise ValueError(
                "`first` must give one number a sequence. Received: "
                f"first={type(self.first).__name__}, which gives values of "
                f"shape {tuple(values.shape)}. Use DecoderBaseline or "
                "RunningMeanBaseline."
            )
        return values
