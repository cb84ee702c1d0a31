"""REINFORCE, and gradients that pass through the words."""

from collections.abc import Callable
from typing import Any

from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops import mean_over_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import check_choice
from tfcap.decoding import GroundTruth
from tfcap.objectives.estimator import Baseline
from tfcap.objectives.estimator import Credit
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import RewardEstimator
from tfcap.objectives.estimator import as_part
from tfcap.objectives.estimator import check_discrete
from tfcap.objectives.estimator import each_once
from tfcap.objectives.estimator import from_first
from tfcap.objectives.estimator import scored_anew
from tfcap.rewards import ConstantReward
from tfcap.rewards import Reward
from tfcap.rewards.reward import EQUAL
from tfcap.rewards.reward import by_word
from tfcap.rewards.reward import check_several
from tfcap.rewards.reward import deviation
from tfcap.rewards.reward import divided
from tfcap.rewards.reward import finished
from tfcap.rewards.reward import with_axes_of

NORMALIZATIONS = ("sequence", "token", "length", "constant")
STANDARDIZATIONS = (False, True, "batch")


class ScoreFunction(RewardEstimator):
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

    - `std`: standard deviation of the reward over sequences;
    - `mean_length`: words of a sequence, the end token included;
    - `clipped_ratio`: share of sequences that reach `T` words without an end;
    - `entropy`: mean of `-log p` of the words that were drawn, in nats; of
      words that a decoder searches or is given, their surprisal;
    - `frac_reward_zero_std`: share of rows whose samples have equal credit,
      from which a baseline of these leaves nothing to learn. Where
      `num_samples` of the decoder is 2 or more;
    - `baseline`, `advantage` and `advantage_std`: means, and the standard
      deviation of the advantages before `standardize`, over all words where
      they are of words. Where there is a baseline.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings such as
            `reward(captions, references)`, see `tfcap.rewards.TextReward`.
        decoder: `tfcap.decoding.Decoder` of discrete words.
        baseline: `Baseline`, such as `DecoderBaseline`, or function of
            `(rewards, episode)` that returns a tensor which broadcasts to the
            rewards; or `None`. One of shape `(B, S)` or `(B, 1)` is that of
            all words of a sequence.
        normalize: `"sequence"`: log probabilities are summed over the words
            of a sequence and averaged over sequences, as the papers write it;
            `"token"`: averaged over all words of the batch, as several
            released codes and DAPO have it; `"length"`: averaged over the
            words of a sequence, and then over sequences, as GRPO has it;
            `"constant"`: summed and divided by `T`, as Dr. GRPO has it, of
            which no caption gets more for being short.
        standardize: Boolean, whether the advantages of a row's samples are
            divided by the standard deviation of their rewards, so that rows
            whose samples hardly differ weigh as much as others: GRPO, with
            `SampleMeanBaseline`. Where they do not differ, advantages are 0,
            whatever the baseline is. Or `"batch"`: advantages less their mean
            over the global batch, over their standard deviation. Defaults to
            `False`; with either, the gradient is another than that of the
            mean reward.
        name: String. Defaults to the reward's name.
        credit: `Credit`, such as `MonteCarlo`, or function of `(rewards,
            episode, reward, decoder)` that returns rewards of shape
            `(B, S, T)`; or `None`.
        reduction: As that of `Estimator`.
        mask_unfinished: Boolean, whether captions that reach `T` words
            without an end teach nothing; baselines and deviations still have
            their rewards, as in DAPO's overlong filtering. Defaults to
            `False`.

    Example:

    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.ConstantReward(),
    ...     tfcap.decoding.Sample(num_samples=5, max_length=16),
    ...     baseline=tfcap.objectives.LeaveOneOutBaseline(),
    ... )
    >>> objective.name
    'constant'

    Reference:

    - Williams, Simple Statistical Gradient-Following Algorithms for
      Connectionist Reinforcement Learning, 1992
    - Rennie et al., Self-critical Sequence Training, CVPR 2017
    - Shao et al., DeepSeekMath, 2024 (GRPO); Liu et al., Understanding
      R1-Zero-Like Training, 2025 (Dr. GRPO); Yu et al., DAPO, 2025
    """

    def __init__(
        self,
        reward: Reward | Callable,
        decoder: Any,
        baseline: Baseline | Callable | None = None,
        normalize: str = "sequence",
        name: str | None = None,
        credit: Credit | Callable | None = None,
        standardize: bool | str = False,
        reduction: str = "mean",
        mask_unfinished: bool = False,
    ):
        check_choice(normalize, "normalize", NORMALIZATIONS)
        check_choice(standardize, "standardize", STANDARDIZATIONS)
        if normalize == "constant" and not hasattr(decoder, "max_length"):
            raise ValueError(
                '`normalize` must not be "constant" for references, whose '
                "greatest length is that of a batch's padding. Received: "
                f'decoder={type(decoder).__name__}. Use "sequence", and '
                "divide the term by a length of your own: `term * (1 / T)`."
            )
        baseline = as_part(baseline, Baseline, "baseline")
        credit = as_part(credit, Credit, "credit")
        owned = getattr(credit, "baseline", None)
        baseline = baseline or owned
        if owned not in (None, baseline):
            raise ValueError(
                "`baseline` must be that of the `credit`, which nobody would "
                f"train. Received: baseline={baseline!r}, and {owned!r} in "
                f"{type(credit).__name__}. Leave it out."
            )
        super().__init__(
            *(reward, decoder, name, _statistics(decoder, baseline), reduction),
            decoders=() if baseline is None else baseline.decoders,
        )
        if credit is not None:
            credit.check(self.reward, decoder)
        self.baseline = baseline
        self.normalize = normalize
        self.credit = credit
        self.standardize = standardize
        self.mask_unfinished = mask_unfinished

    def layers(self):
        learned = () if self.baseline is None else self.baseline.layers
        return each_once([*super().layers(), *learned])

    def per_sample_loss(self, episode):
        check_discrete(episode.rollout(self.decoder), self.decoder, self)
        rollout, rewards, own, parts = self.rewarded(episode, credit=True)
        said = rollout.nonempty
        rewards = ops.where(with_axes_of(said, rewards), rewards, 0)
        rollout = scored_anew(rollout, self.decoder)
        log_probs = episode.log_probs(rollout)
        ends = finished(rollout, episode.speaker.eos)
        logs = {k: _per_sequence(x, rollout.mask) for k, x in parts.items()}
        logs |= {
            "mean_length": ops.sum(rollout.mask, axis=-1),
            "clipped_ratio": 1.0 - ends,
            "entropy": -log_probs,
        }
        if "frac_reward_zero_std" in self.statistics:
            logs["frac_reward_zero_std"] = equal_rewards(
                _per_sequence(rewards, rollout.mask), said
            )
        scoring = episode.scoring(rollout, self.credit)
        if self.credit is not None:
            rewards = self.credit(rewards, scoring, self.reward, self.decoder)
        counted = self.counted(rollout)
        if self.mask_unfinished:
            counted = counted * ends[..., None]
        # advantage = reward - baseline, (B, S) or (B, S, T)
        advantage, losses = rewards, 0.0
        if self.baseline is not None:
            expected = self.baseline.expected(rewards, scoring)
            advantage = _less(rewards, expected)
            losses = self.baseline.losses(rewards, expected, counted)
            # As it applies: of every sequence, or every word.
            logs["baseline"] = _less(rewards, advantage)
            logs["advantage"] = advantage
        if self.standardize == "batch":
            advantage = self._standardized_by_batch(advantage, episode)
        elif self.standardize:
            if rollout.weights is not None:
                raise ValueError(
                    '`standardize` must be False or "batch" for sequences that '
                    "are weighed, whose deviation in a row is no sample's. "
                    "Received: standardize=True with "
                    f"{type(self.decoder).__name__}."
                )
            advantage = _standardized(advantage, rewards, said)
        scores = self._scores(advantage, log_probs, counted, episode)
        return losses - scores, _per_sequence(own, rollout.mask), logs

    def _scores(self, advantage, log_probs, counted, episode):
        """Advantages times normalised log probabilities: `(B, S)`."""
        advantage = ops.cast(by_word(advantage), log_probs.dtype)
        advantage = ops.stop_gradient(advantage)
        # where() rather than a product: what is absent may be infinite.
        advantage = ops.where(counted > 0, advantage, 0)
        log_probs = ops.where(counted > 0, log_probs, 0)
        scores = ops.sum(advantage * log_probs * counted, axis=-1)
        if self.normalize == "token":
            return scores / self._mean_length(counted, episode)
        if self.normalize == "constant":
            return scores / self.decoder.max_length
        if self.normalize == "length":
            return scores / ops.maximum(ops.sum(counted, axis=-1), 1.0)
        return scores

    def _global_mean(self, values, episode):
        mask = self.mask(values, episode)
        values = self._weighed(values, episode)
        return sum_over_replicas(mean_over_replicas(values, mask))

    def _standardized_by_batch(self, advantage, episode):
        """Less their mean over the global batch, over their deviation."""
        advantage = ops.stop_gradient(advantage)
        advantage = advantage - self._global_mean(advantage, episode)
        variance = self._global_mean(ops.square(advantage), episode)
        return divided(advantage, ops.sqrt(variance))

    def counted(self, rollout):
        """The words whose log probabilities count: `(B, S, T)`.

        Of a rollout that was given some words, those that were drawn.
        """
        if rollout.given is None:
            return rollout.mask
        return rollout.mask * (1.0 - rollout.given)

    def _mean_length(self, counted, episode):
        """Words per sequence over the global batch."""
        mean = self._global_mean(ops.sum(counted, axis=-1), episode)
        # Below 1 where few words count, and 0 where none does.
        return ops.stop_gradient(ops.where(mean > 0, mean, 1.0))


def _less(rewards, baseline):
    """The difference, word by word where either is."""
    if len(baseline.shape) != len(rewards.shape):
        rewards, baseline = by_word(rewards), by_word(baseline)
    return rewards - baseline


def _standardized(advantage, rewards, said):
    """Over a row's standard deviation of rewards; 0 where these are equal."""
    check_several(rewards, "`standardize`")
    _, std = deviation(rewards, with_axes_of(said, rewards))
    if len(std.shape) < len(advantage.shape):
        std = std[..., None]
    return divided(advantage, std)


def _per_sequence(rewards, mask):
    """Means over the words of sequences, to be logged."""
    if len(rewards.shape) == 2:
        return rewards
    return masked_mean(rewards, mask, axis=-1)


def _statistics(decoder, baseline):
    """Names of what is logged beside a reward, as far as it can be known."""
    names = "std", "mean_length", "clipped_ratio", "entropy"
    if getattr(decoder, "num_samples", 1) > 1:
        names = (*names, "frac_reward_zero_std")
    if baseline is not None:
        names = (*names, "baseline", "advantage", "advantage_std")
    return names


def equal_rewards(rewards: Any, present: Any) -> Any:
    """Marks rows whose samples have equal rewards.

    Args:
        rewards: Float tensor of shape `(B, S)`.
        present: Boolean tensor of shape `(B, S)`, which samples count.

    Returns:
        Float tensor of shape `(B, 1)`, 1 for such rows.
    """
    _, above = from_first(rewards, present)
    gap = ops.max(above, axis=1) - ops.min(above, axis=1)
    return ops.cast(gap < EQUAL, "float32")[:, None]


class TeacherForcing(ScoreFunction):
    """Maximum likelihood of the references.

    `ScoreFunction(ConstantReward(1.0), GroundTruth())`, logged as the negative
    log likelihood of a sequence.

    Args:
        normalize: `"sequence"`, `"token"` or, with a decoder that has a
            `max_length`, `"constant"`, as in `ScoreFunction`. Defaults to
            `"sequence"`.
        name: String. Defaults to `"teacher_forcing"`.
        decoder: `tfcap.decoding.Decoder` of the references, such as
            `tfcap.decoding.ScheduledSampling`; of `MixedPrefix`, the words
            that it gives count. Defaults to `GroundTruth()`.

    Example:

    >>> objective = 0.5 * tfcap.objectives.TeacherForcing()
    >>> objective.terms[0].weight
    0.5
    """

    def __init__(
        self, normalize="sequence", name="teacher_forcing", decoder=None
    ):
        super().__init__(
            ConstantReward(1.0),
            GroundTruth() if decoder is None else decoder,
            normalize=normalize,
            name=name,
        )
        self.statistics = ()

    def counted(self, rollout):
        if rollout.given is None:
            return rollout.mask
        return rollout.mask * rollout.given

    def per_sample_loss(self, episode):
        losses, _, _ = super().per_sample_loss(episode)
        return losses, losses, {}


class Pathwise(RewardEstimator):
    """Differentiates a reward through the sampled words.

    ```
    loss = -reward(words)
    ```

    The gradient reaches the speaker through the word channel: exactly, where
    it passes whole distributions, and by its straight-through estimate, where
    it passes words.

    The decision to stop has no gradient in this, but through the vector of
    the end token; with `ExpectedEnding` it has.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        decoder: `tfcap.decoding.Decoder` whose words carry gradients.
        name: String. Defaults to the reward's name.
        reduction: As that of `Estimator`.

    Raises:
        ValueError: If no gradient could pass.

    Example:

    >>> tfcap.objectives.Pathwise(
    ...     tfcap.rewards.ConstantReward(), tfcap.decoding.GroundTruth()
    ... )
    Traceback (most recent call last):
    ValueError: `reward` must be differentiable for Pathwise. Received: \
reward=ConstantReward. Use ScoreFunction, which needs the reward's values only.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.3
    """

    #: Whether the gradient reaches the words.
    through_words = True

    def __init__(self, reward, decoder, name=None, reduction="mean"):
        super().__init__(reward, decoder, name, reduction=reduction)
        if not self.reward.differentiable:
            raise ValueError(
                f"`reward` must be differentiable for {type(self).__name__}. "
                f"Received: reward={type(self.reward).__name__}. Use "
                "ScoreFunction, which needs the reward's values only."
            )
        if self.through_words and not decoder.pathwise:
            raise ValueError(
                "`decoder` must emit words that carry gradients for Pathwise. "
                f"Received: decoder={type(decoder).__name__}. Use Sample with "
                "a straight-through channel such as GumbelSoftmaxST, or "
                "ScoreFunction."
            )

    def per_sample_loss(self, episode):
        _, rewards, _, parts = self.rewarded(
            episode, gradient=self.through_words
        )
        return -rewards, rewards, parts


class ListenerLoss(Pathwise):
    """Differentiates a reward by its network, and not by the words.

    ```
    loss = -reward(stop_gradient(words))
    ```

    What a listener learns from when the words are nobody's fault: human ones,
    those of a speaker that is frozen, or of one that has its turn later. Any
    decoder will do.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable, such as
            `tfcap.rewards.Retrieval`, and computed by who learns.
        decoder: `tfcap.decoding.Decoder`.
        name, reduction: As those of `Pathwise`.

    Raises:
        ValueError: If the reward, or a term of it, has no gradient or is
            built with `learning=False`.

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 6.2: "the speaker and listener were trained alternately"
    """

    through_words = False

    def __init__(self, reward, decoder, name=None, reduction="mean"):
        super().__init__(reward, decoder, name, reduction)
        if not getattr(self.reward, "learning", True):
            raise ValueError(
                "`reward` must train its network for ListenerLoss. Received: "
                f"reward={self.reward.name!r} with learning=False. Give it, or "
                "its terms, `learning=True`."
            )


class SupervisedLoss(Estimator):
    """A loss that a function computes from an episode.

    A second learner is often trained by an ordinary loss: on
    labels, or on what the speaker said.

    Args:
        function: Callable from an `Episode` to losses of shape `(B, S)`.
        name: String.
        decoders: Tuple of `tfcap.decoding.Decoder`, those that `function` asks
            the episode for.

    Example:

    >>> from tfcap.objectives.score_function import SupervisedLoss
    >>> term = SupervisedLoss(lambda episode: None, "n_pair")
    >>> term.name
    'n_pair'
    """

    def __init__(self, function, name, decoders=()):
        super().__init__(name, decoders=decoders)
        self.function = function

    def per_sample_loss(self, episode):
        losses = self.function(episode)
        return losses, losses, {}
