"""Credit for every word, and baselines of words."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.decoding import Rollout
from tfcap.objectives.estimator import Baseline
from tfcap.objectives.estimator import Credit
from tfcap.objectives.estimator import RunningMeanBaseline
from tfcap.objectives.estimator import as_part
from tfcap.rewards.reward import ABSTAINED
from tfcap.rewards.reward import by_word
from tfcap.rewards.reward import check_of_sequences


class MonteCarlo(Credit):
    """Credits a word with the mean reward of sampled continuations.

    ```
    credit[t] = mean over K of reward(words[: t + 1], continuation k)
    credit[last] = reward(words)
    ```

    with continuations that the estimator's decoder draws. A wrong word loses
    credit by itself, rather than with all words of the sentence, and the
    expected gradient is that of the plain reward for every `K`. Continuations
    cost about `K * T / 2` times as much as sampling the sequences, without
    gradient.

    In long sentences, some prefixes are enough. A word then has the value of
    the next prefix that is continued, and words after the last one have the
    reward of the whole sequence:

    ```
    credit[t] = mean over K of reward(words[: u + 1], continuation k)
        for the first u >= t that is continued
    ```

    The expected gradient is still the same: the value of any continuation of
    a word is a valid credit, whether its next words are the sampled ones or
    new ones.

    The reward scores all continuations of the batch at once, as samples of
    their row, by their tokens alone. It must not compare samples, as
    `tfcap.rewards.PairwiseDiversity` does, nor read log probabilities, as
    `tfcap.rewards.Surprisal` does: use another `ScoreFunction` of the same
    decoder for such a reward.

    Args:
        num_continuations: Integer `K`. Defaults to `3`.
        rollout_every: Integer `n`: prefixes of `n`, `2 * n`, `3 * n` and so
            on words are continued. Defaults to `1`, all of them.

    Call arguments:
        rewards: Float tensor of shape `(B, S)`, of the whole sequences.
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

    def __init__(self, num_continuations=3, rollout_every=1):
        self.num_continuations = checked_integer(
            num_continuations, "num_continuations"
        )
        self.rollout_every = checked_integer(rollout_every, "rollout_every")

    def prefixes(self, length):
        """Returns the indices of the last words of continued prefixes.

        Args:
            length: Integer `T`.

        Returns:
            Tuple of integers.
        """
        return tuple(
            range(self.rollout_every - 1, length - 1, self.rollout_every)
        )

    def check(self, reward, decoder):
        if not hasattr(decoder, "continuations"):
            raise TypeError(
                "`decoder` must have `continuations()` for MonteCarlo. "
                f"Received: decoder={type(decoder).__name__}. Use Sample."
            )
        decoder.logits_processors.check_no_prefix()
        if reward.compares_samples or reward.reads_log_probs:
            raise ValueError(
                "`reward` must not compare samples or read log probabilities "
                "for MonteCarlo, which scores all continuations together by "
                f"their tokens. Received: reward={reward.name!r}. Use another "
                "ScoreFunction, without `credit`, for that term."
            )

    def __call__(self, rewards, episode, reward, decoder):
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
        """Computes values `(B, S, N)` of prefixes."""
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
    """Fills missing values of prefixes by those of the next, or the whole."""
    filled = [rewards]
    for value in reversed(ops.unstack(values, axis=-1)):
        filled.append(ops.where(value != ABSTAINED, value, filled[-1]))
    return ops.stack(filled[:0:-1], axis=-1)


class PrefixBaseline(Baseline):
    """Uses the value of the words before a word as its baseline.

    ```
    baseline[t] = credit[t - 1]
    ```

    for a credit that estimates every prefix separately, such as `MonteCarlo`:
    the value of a prefix does not depend on the next word, so that the
    baseline leaves the expected gradient unchanged, at no cost.

    If `MonteCarlo` does not continue every prefix, `credit[t - 1]` may be the
    value of a longer prefix, which depends on word `t`: the baseline is then
    the value of the last continued prefix before the word.

    Args:
        first: The baseline of the first word, a `Baseline` such as
            `DecoderBaseline` or a function of `(rewards, episode)`: values of
            shape `(B, S)`, `(B, 1)` or `(B, S, 1)`. Defaults to `None`, 0.

    Example:

    >>> credit = np.array([[[1.0, 2.0, 6.0]]])
    >>> print(tfcap.objectives.PrefixBaseline()(credit, None).numpy())
    [[[0. 1. 2.]]]
    """

    def __init__(self, first=None):
        self.first = as_part(first, Baseline, "first")
        if first is not None:
            self.layers = self.first.layers
            self.decoders = self.first.decoders

    def __call__(self, rewards, episode):
        if len(rewards.shape) != 3:
            raise ValueError(
                "PrefixBaseline needs a reward for every word. Received: "
                f"rewards of shape {tuple(rewards.shape)}. Pass the estimator "
                "a `credit`, such as MonteCarlo."
            )
        first = ops.zeros_like(rewards[..., :1])
        if self.first is not None:
            first = first + by_word(self.first.expected(rewards, episode))
        length = rewards.shape[-1]
        credit = getattr(episode, "credit", None)
        ends = range(length - 1)
        if credit is not None:
            ends = credit.prefixes(length)
        known = ops.concatenate(
            [first, ops.take(rewards, np.array(ends, int), axis=-1)], axis=-1
        )
        # Of every word, the last prefix that it is not in.
        return ops.take(known, np.searchsorted(ends, range(length)), axis=-1)


class GAE(Credit):
    """Generalized advantage estimation by a critic's values.

    ```
    delta[t] = reward[t] + gamma * value[t + 1] - value[t]
    advantage[t] = sum_l (gamma * lambda_) ** l * delta[t + l]
    credit[t] = advantage[t] + value[t]
    ```

    with the values of a baseline before each word, bootstrapped by the
    critic's expectations. The reward of the whole caption comes with its last
    word, after which values are 0, also if `max_length` cuts it. The estimator
    has the same baseline, so that the difference is the advantage, and a
    learned baseline is trained towards the credit, the lambda-return. With
    `lambda_=1` and `gamma=1` the credit is the reward; smaller values trade
    variance for the bias of the critic.

    Args:
        baseline: `Baseline` with a value for each word, such as
            `LearnedBaseline`. It is called twice a step, and must not change
            in between.
        lambda_: Float in `[0, 1]`. Defaults to `0.95`.
        gamma: Float in `[0, 1]`, discount of a word. Defaults to `1.0`.

    Example:

    >>> decoder = tfcap.decoding.Sample(num_samples=2, keep_states=True)
    >>> critic = tfcap.objectives.LearnedBaseline(64)
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.BLEU(4),
    ...     decoder,
    ...     credit=tfcap.objectives.GAE(critic, lambda_=0.95),
    ... )

    Reference:

    - Schulman et al., High-Dimensional Continuous Control Using Generalized
      Advantage Estimation, ICLR 2016, equation 16
    """

    def __init__(
        self, baseline: Baseline, lambda_: float = 0.95, gamma: float = 1.0
    ):
        if not isinstance(baseline, Baseline) or isinstance(
            baseline, RunningMeanBaseline
        ):
            raise TypeError(
                "`baseline` of GAE must have a value for each word, and must "
                "not change between two calls of a step. Received: "
                f"baseline={baseline!r}. Use LearnedBaseline."
            )
        self.baseline = baseline
        self.lambda_, self.gamma = (
            checked_number(value, name, "in [0, 1]", lambda x: 0 <= x <= 1)
            for name, value in (("lambda_", lambda_), ("gamma", gamma))
        )

    def __call__(self, rewards, episode, reward, decoder):
        check_of_sequences(rewards, "GAE")
        mask = episode.rollout(decoder).mask
        values = by_word(self.baseline.expected(rewards, episode))
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


class LearnedBaseline(Baseline):
    """A network that predicts the reward from a state.

    ```
    baseline[t] = network(stop_gradient(state[t]))
    loss = mean_t (reward[t] - baseline[t]) ** 2
    ```

    with the state in which word `t` is drawn. The state does not depend on the
    word, so that the expected gradient is unchanged. The estimator's decoder
    must keep the states, `tfcap.decoding.Sample(keep_states=True)`.
    `ScoreFunction` adds the loss to its own, without gradient to the speaker.

    As a second learner it has its own optimizer, and may be fitted alone at
    first, with a fixed speaker:

    ```
    adam = Adam(1e-3)
    fitted = Learner(baseline.network, objective)
    alone = JointTraining(speaker, {"baseline": fitted})
    alone.compile(adam)
    alone.fit(batches)
    learner = Learner(speaker, objective)
    both = JointTraining(speaker, {"speaker": learner, "baseline": fitted})
    both.compile({"speaker": Adam(1e-5), "baseline": adam})
    both.fit(batches)
    ```

    Learners that share one `objective` share its loss.

    Args:
        state_units: Integer, size of the `tfcap.decoding.state_vector()` of
            the speaker's state.
        units: Tuple of integers, sizes of hidden layers. Defaults to `()`, a
            linear regression.
        weight: Float, of the loss. Defaults to `1.0`.

    Example:

    >>> decoder = tfcap.decoding.Sample(num_samples=2, keep_states=True)
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.BLEU(4),
    ...     decoder,
    ...     baseline=tfcap.objectives.LearnedBaseline(64, (32,)),
    ... )
    >>> len(objective.layers())
    2

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, section 3. The paper sums over the words of a
      sequence, so that long ones have more weight, and the loss is larger.
    - Ranzato et al., Sequence Level Training with Recurrent Neural Networks,
      ICLR 2016, section 3.2.1 (a linear regression)
    """

    def __init__(self, state_units, units=(), weight=1.0):
        self.weight = weight
        self.network = critic_network(state_units, units, 1, "learned_baseline")
        self.layers = (self.network,)

    def __call__(self, rewards, episode):
        return values_of_states(self.network, episode.scored)[..., 0]

    def losses(self, rewards, values, mask):
        """Computes squared errors, to add to the loss of every sequence.

        Args:
            rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
            values: Float tensor of shape `(B, S, T)`, of `__call__()`.
            mask: Float tensor of shape `(B, S, T)`.

        Returns:
            Float tensor of shape `(B, S)`, means over words.
        """
        rewards = ops.stop_gradient(ops.cast(by_word(rewards), "float32"))
        errors = ops.square(rewards - values)
        return self.weight * masked_mean(errors, mask, axis=-1)


def critic_network(
    state_units: int, units: tuple, outputs: int, name: str
) -> keras.Sequential:
    """Makes a network of values of states: ReLU layers and a linear one."""
    state_units = checked_integer(state_units, "state_units")
    units = [checked_integer(n, "units") for n in units]
    hidden = [keras.layers.Dense(n, activation="relu") for n in units]
    return keras.Sequential(
        [keras.Input((state_units,)), *hidden, keras.layers.Dense(outputs)],
        name=name,
    )


def values_of_states(network: keras.Sequential, rollout: Rollout) -> Any:
    """Computes the values of a rollout's states, `(B, S, T, N)`.

    Raises:
        ValueError: If there are no states, or they have another size.
    """
    states, expected = rollout.states, network.input_shape[-1]
    if states is None:
        raise ValueError(
            "`decoder` must keep the states that a critic reads. Received: a "
            "rollout without states. Use `Sample(keep_states=True)`."
        )
    if states.shape[-1] not in (None, expected):
        raise ValueError(
            "`state_units` must be the size of the speaker's states. "
            f"Received: state_units={expected} for states of shape "
            f"{tuple(states.shape)}."
        )
    rows = ops.reshape(ops.stop_gradient(states), (-1, expected))
    values = ops.cast(network(rows), "float32")
    return ops.reshape(values, (*ops.shape(states)[:-1], values.shape[-1]))
