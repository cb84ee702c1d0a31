"""Credit for every word, by speaking on."""

import keras
from keras import ops

from tfcap.decoding import Rollout


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

    The reward scores all continuations of the batch at once, as samples of
    their row. It must not compare them with each other, as
    `tfcap.rewards.PairwiseDiversity` does.

    Args:
        num_continuations: Integer `K`. Defaults to `3`.

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

    def __init__(self, num_continuations=3):
        if not isinstance(num_continuations, int) or num_continuations < 1:
            raise ValueError(
                "`num_continuations` must be a positive integer. Received: "
                f"num_continuations={num_continuations}."
            )
        self.num_continuations = num_continuations

    def __call__(self, rewards, episode, reward, decoder):
        if not hasattr(decoder, "continuations"):
            raise TypeError(
                "`decoder` must speak on from any beginning for MonteCarlo. "
                f"Received: decoder={type(decoder).__name__}. Use Sample."
            )
        if len(rewards.shape) != 2:
            raise ValueError(
                "`reward` must give one number a sequence for MonteCarlo. "
                f"Received: rewards of shape {tuple(rewards.shape)}."
            )
        rollout = episode.rollout(decoder)
        whole = ops.broadcast_to(rewards[..., None], ops.shape(rollout.mask))
        if rollout.mask.shape[-1] > 1:
            values = self._values(rollout, episode, reward, decoder)
            values = ops.concatenate([values, whole[..., -1:]], axis=-1)
            goes_on = ops.roll(rollout.mask, -1, axis=-1) > 0
            whole = ops.where(goes_on, values, whole)
        return ops.stop_gradient(whole)

    def _values(self, rollout, episode, reward, decoder):
        """Values `(B, S, T - 1)` of all beginnings that are not the whole."""
        said = decoder.continuations(
            episode.speaker,
            keras.tree.map_structure(ops.stop_gradient, episode.state),
            rollout,
            self.num_continuations,
            training=episode.training,
        )
        _, *beginnings, count, length = said.tokens.shape
        shape = (-1, beginnings[0] * beginnings[1] * count, length)
        values = reward(
            Rollout(
                ops.reshape(said.tokens, shape), ops.reshape(said.mask, shape)
            ),
            episode,
        )
        return ops.mean(ops.reshape(values, (-1, *beginnings, count)), axis=-1)
