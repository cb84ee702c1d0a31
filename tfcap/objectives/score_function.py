"""REINFORCE."""

from keras import ops

from tfcap.objectives.estimator import Estimator
from tfcap.objectives.reward_health import FLAT
from tfcap.objectives.reward_health import check_parts
from tfcap.objectives.reward_health import flat_groups
from tfcap.objectives.reward_health import health_keys
from tfcap.objectives.reward_health import health_of_words
from tfcap.objectives.several_samples import check_several
from tfcap.ops import masked_mean
from tfcap.ops import mean_over_replicas
from tfcap.ops import sum_over_replicas
from tfcap.rewards import as_reward

NORMALIZATIONS = ("sequence", "token", "constant")


class ScoreFunction(Estimator):
    """The score-function estimator, REINFORCE.

    ```
    advantage = stop_gradient(reward - baseline)
    loss = -sum_t advantage * log p(word_t)
    ```

    The reward is read by value only, so it may be anything that can be
    computed. With a constant reward on ground truth this is teacher forcing.

    A reward that compares samples, such as `tfcap.rewards.Retrieval`, gives
    each the credit for what it does to the rewards of the others; the
    advantage is then that credit less the baseline. What is logged as the
    reward remains the reward.

    With `credit`, every word has a reward of its own in the place of its
    sequence's.

    Beside the reward's mean over sequences, and that of its parts, are
    logged, under the estimator's name and

    - `std`: deviation of the reward over sequences;
    - `length`: words of a sequence, the end token included;
    - `clipped`: share of sequences that reach `T` words without an end;
    - `entropy`: mean of `-log p` of the words that were drawn, in nats; of
      words that a decoder searches or is given, their surprise;
    - `flat_groups`: share of rows whose samples have equal credit, from which
      a baseline of these leaves nothing to learn. Where `num_samples` of the
      decoder is 2 or more;
    - `baseline`, `advantage` and `advantage_std`: means, and the deviation of
      the advantages before `standardize`, over all words where they are of
      words. Where there is a baseline.

    Args:
        reward: `tfcap.rewards.Reward`.
        decoder: `tfcap.decoding.Decoder` of discrete words.
        baseline: Callable from `(rewards, episode)` to a tensor that broadcasts
            to the rewards, such as `DecoderBaseline`; or `None`. One of shape
            `(B, S)` or `(B, 1)` is that of all words of a sequence.
        normalize: `"sequence"`: log probabilities are summed over the words
            of a sequence and averaged over sequences, as the papers write it;
            `"token"`: averaged over all words of the batch, as several
            released codes have it; `"constant"`: summed and divided by `T`,
            of which no caption gets more for being short.
        standardize: Boolean, whether the advantages of a row's samples are
            divided by the deviation of their rewards, so that rows whose
            samples hardly differ weigh as much as others. Where they do not
            differ, advantages are 0, whatever the baseline is. Defaults to
            `False`; with it, the gradient is another than that of the mean
            reward.
        name: String. Defaults to the reward's name.
        credit: `MonteCarlo`, or another callable from `(rewards, episode,
            reward, decoder)` to rewards of shape `(B, S, T)`; or `None`.
        reduction: As that of `Estimator`.

    Example:

    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.Constant(),
    ...     tfcap.decoding.Sample(num_samples=5, max_length=16),
    ...     baseline=tfcap.objectives.LeaveOneOutBaseline(),
    ... )
    >>> objective.name
    'constant'

    Reference:

    - Williams, Simple Statistical Gradient-Following Algorithms for
      Connectionist Reinforcement Learning, 1992
    - Rennie et al., Self-critical Sequence Training, CVPR 2017
    """

    def __init__(
        self,
        reward,
        decoder,
        baseline=None,
        normalize="sequence",
        name=None,
        credit=None,
        standardize=False,
        reduction="mean",
    ):
        if normalize not in NORMALIZATIONS:
            raise ValueError(
                f"`normalize` must be one of {NORMALIZATIONS}. Received: "
                f"normalize={normalize!r}."
            )
        if normalize == "constant" and not hasattr(decoder, "max_length"):
            raise ValueError(
                '`normalize` must not be "constant" for references, whose '
                "greatest length is that of a batch's padding. Received: "
                f'decoder={type(decoder).__name__}. Use "sequence", and '
                "divide the term by a length of your own: `term * (1 / T)`."
            )
        reward = as_reward(reward)
        super().__init__(name or reward.name, reward.terms, reduction)
        self.health = health_keys(decoder, baseline)
        check_parts(reward, self.health)
        if hasattr(baseline, "check"):
            baseline.check(decoder, credit)
        if hasattr(credit, "check"):
            credit.check(reward, decoder)
        self.reward = reward
        self.decoder = decoder
        self.baseline = baseline
        self.normalize = normalize
        self.credit = credit
        self.standardize = standardize

    def parts(self):
        channel = getattr(self.decoder, "channel", None)
        learned = getattr(self.baseline, "layers", ())
        return (*(() if channel is None else (channel,)), *learned)

    def log_keys(self):
        return (*super().log_keys(), *self.health)

    def deviating(self):
        return ("", "advantage", *self.parts_of_reward)

    def sequences(self, episode):
        return episode.rollout(self.decoder)

    def values(self, episode):
        rollout = episode.rollout(self.decoder)
        if not rollout.discrete:
            raise ValueError(
                "`decoder` must emit discrete words for ScoreFunction: a "
                "distribution has no log probability. Received: "
                f"decoder={type(self.decoder).__name__} with "
                f"{type(self.decoder.channel).__name__}. Use Sample with "
                "Categorical, or Pathwise with a differentiable reward."
            )
        rewards, own, terms = self.reward.credited(
            rollout.stop_gradient(), episode
        )
        rewards = ops.where(_beside(rollout.nonempty, rewards), rewards, 0)
        if self.decoder.inference:
            # Their log probabilities, if any, are of no gradient.
            rollout = rollout._replace(log_probs=None)
        log_probs = episode.log_probs(rollout)
        logs = {"": own, **terms}
        logs = {k: _per_sequence(x, rollout.mask) for k, x in logs.items()}
        if "flat_groups" in self.health:
            logs["flat_groups"] = flat_groups(
                _per_sequence(rewards, rollout.mask), rollout.nonempty
            )
        logs |= health_of_words(rollout, log_probs, episode.speaker.eos)
        if self.credit is not None:
            rewards = self.credit(rewards, episode, self.reward, self.decoder)
        advantage, baseline = rewards, None
        if self.baseline is not None:
            baseline = self.baseline(rewards, episode.scoring(rollout))
            advantage = _less(rewards, baseline)
            logs["advantage"] = advantage
            # As it applies: of every sequence, or every word.
            logs["baseline"] = _less(rewards, advantage)
        if self.standardize:
            advantage = _standardized(advantage, rewards, rollout.nonempty)
        counted = self.counted(rollout)
        losses = -self._scores(advantage, log_probs, counted, episode)
        if hasattr(self.baseline, "losses"):
            losses = losses + self.baseline.losses(rewards, baseline, counted)
        return losses, logs

    def _scores(self, advantage, log_probs, counted, episode):
        """Advantages times normalised log probabilities: `(B, S)`."""
        if len(advantage.shape) == 2:
            advantage = advantage[..., None]
        advantage = ops.stop_gradient(ops.cast(advantage, log_probs.dtype))
        # where() rather than a product: what is absent may be infinite.
        advantage = ops.where(counted > 0, advantage, 0)
        scores = ops.sum(advantage * log_probs * counted, axis=-1)
        if self.normalize == "token":
            return scores / self._mean_length(counted, episode)
        if self.normalize == "constant":
            return scores / self.decoder.max_length
        return scores

    def counted(self, rollout):
        """The words whose log probabilities count: `(B, S, T)`.

        Of a rollout that was given some words, those that were drawn.
        """
        if rollout.given is None:
            return rollout.mask
        return rollout.mask * (1.0 - rollout.given)

    def _mean_length(self, counted, episode):
        """Words per sequence over the global batch."""
        lengths = ops.sum(counted, axis=-1)
        present = self.mask(lengths, episode)
        mean = sum_over_replicas(mean_over_replicas(lengths, present))
        return ops.maximum(ops.stop_gradient(mean), 1.0)


def _less(rewards, baseline):
    """The difference, word by word where either is."""
    if len(baseline.shape) < len(rewards.shape):
        baseline = baseline[..., None]
    elif len(rewards.shape) < len(baseline.shape):
        rewards = rewards[..., None]
    return rewards - baseline


def _beside(said, rewards):
    """Which sequences are present, `(B, S)`, with the axes of rewards."""
    return said if len(rewards.shape) == 2 else said[..., None]


def _standardized(advantage, rewards, said):
    """Over the deviation of a row's rewards, and 0 where these are equal."""
    check_several(rewards, "`standardize`")
    said = _beside(said, rewards)
    mean = ops.expand_dims(masked_mean(rewards, said, axis=1), 1)
    squares = ops.square(rewards - mean)
    spread = ops.sqrt(ops.expand_dims(masked_mean(squares, said, axis=1), 1))
    if len(spread.shape) < len(advantage.shape):
        spread = spread[..., None]
    return ops.where(spread > FLAT, advantage / ops.maximum(spread, FLAT), 0)


def _per_sequence(rewards, mask):
    """What to log: the mean over the words of a sequence."""
    if len(rewards.shape) == 2:
        return rewards
    return masked_mean(rewards, mask, axis=-1)
