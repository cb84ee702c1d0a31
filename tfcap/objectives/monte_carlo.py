"""Credit for every word, by speaking on."""

import keras
import numpy as np
from keras import ops

from tfcap.decoding import Rollout
from tfcap.ops.arguments import checked_integer


class MonteCarlo:
    """A reward for every word: what sentences that begin so are worth.

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
        """Whether words may have the value of a longer beginning."""
        return self.rollout_every > 1 or self.max_rollouts is not None

    def prefixes(self, length):
        """Places of the words up to which sentences are continued.

        Args:
            length: Integer `T`.

        Returns:
            Tuple of integers.
        """
        every = self.rollout_every
        return tuple(range(every - 1, length - 1, every))[: self.max_rollouts]

    def check(self, reward, decoder):
        """Refuses what an estimator cannot continue, or score when continued.

        Args:
            reward: `tfcap.rewards.Reward`.
            decoder: `tfcap.decoding.Decoder`.
        """
        if not hasattr(decoder, "continuations"):
            raise TypeError(
                "`decoder` must speak on from any beginning for MonteCarlo. "
                f"Received: decoder={type(decoder).__name__}. Use Sample."
            )
        if hasattr(decoder, "logits_processors"):
            decoder.logits_processors.check_continuations()
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
        if len(rewards.shape) != 2:
            raise ValueError(
                "`reward` must give one number a sequence for MonteCarlo. "
                f"Received: rewards of shape {tuple(rewards.shape)}."
            )
        rollout = episode.rollout(decoder)
        length = rollout.mask.shape[-1]
        prefixes = self.prefixes(length)
        known = rewards[..., None]
        if prefixes:
            values = self._values(rollout, prefixes, episode, reward, decoder)
            after = [last + 1 for last in prefixes]
            goes_on = ops.take(rollout.mask, after, axis=-1) > 0
            values = ops.where(goes_on, values, known)
            known = ops.concatenate([values, known], axis=-1)
        # Of every word, the first beginning that it is in, or the whole.
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
        values = reward(
            Rollout(
                ops.reshape(said.tokens, shape), ops.reshape(said.mask, shape)
            ),
            episode,
        )
        return ops.mean(ops.reshape(values, (-1, *table, count)), axis=-1)
