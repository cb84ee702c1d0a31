"""REINFORCE, and gradients through the words."""

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

    Only the values of the reward are used, so that any score is a reward. With
    a constant reward on ground truth this is teacher forcing.

    A reward that compares samples, such as `tfcap.rewards.Retrieval`, gives
    each sample credit for its effect on the rewards of the others; the
    advantage is then that credit minus the baseline. The logged reward is the
    reward itself.

    With `credit`, every word has its own reward.

    Besides the means of the reward and its parts over sequences, it logs under
    the estimator's name and

    - `std`: standard deviation of the reward over sequences;
    - `mean_length`: words of a sequence, the end token included;
    - `clipped_ratio`: share of sequences that reach `T` words without an end;
    - `entropy`: mean of `-log p` of the sampled words, in nats; of searched or
      given words, their surprisal;
    - `frac_reward_zero_std`: share of rows whose samples have equal credit,
      and thus no gradient with their mean as baseline, if `num_samples` of the
      decoder is at least 2;
    - `baseline`, `advantage` and `advantage_std`, with a baseline: means, and
      the standard deviation of the advantages before `standardize`, over words
      if they have their own.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings such as
            `reward(captions, references)`, see `tfcap.rewards.TextReward`.
        decoder: `tfcap.decoding.Decoder` of discrete words.
        baseline: `Baseline`, such as `DecoderBaseline`, or function of
            `(rewards, episode)` that returns a tensor that broadcasts to the
            rewards; or `None`. A shape of `(B, S)` or `(B, 1)` is for all
            words of a sequence.
        normalize: `"sequence"`: log probabilities are summed over the words
            of a sequence and averaged over sequences, as in the papers;
            `"token"`: averaged over all words of the batch, as in several
            released codes and DAPO; `"length"`: averaged over the words of a
            sequence, and then over sequences, as in GRPO; `"constant"`: summed
            and divided by `T`, as in Dr. GRPO, so that short captions gain
            nothing.
        standardize: Boolean, whether the advantages of a row's samples are
            divided by the standard deviation of their rewards, so that rows
            of similar samples have the same weight: GRPO, with
            `SampleMeanBaseline`. Equal rewards have advantages of 0 with any
            baseline. Or `"batch"`: advantages are standardized over the global
            batch. Either changes the gradient of the mean reward. Defaults to
            `False`.
        name: String. Defaults to the reward's name.
        credit: `Credit`, such as `MonteCarlo`, or function of `(rewards,
            episode, reward, decoder)` that returns rewards of shape
            `(B, S, T)`; or `None`.
        reduction: As in `Estimator`.
        mask_unfinished: Boolean, whether captions that reach `T` words
            without an end have no gradient; baselines and deviations include
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
                '`normalize` must not be "constant" for references, which have '
                "no maximum length. Received: "
                f'decoder={type(decoder).__name__}. Use "sequence", and '
                "divide the term by your own length: `term * (1 / T)`."
            )
        baseline = as_part(baseline, Baseline, "baseline")
        credit = as_part(credit, Credit, "credit")
        owned = getattr(credit, "baseline", None)
        baseline = baseline or owned
        if owned not in (None, baseline):
            raise ValueError(
                "`baseline` must be that of the `credit`, which would not be "
                f"trained otherwise. Received: baseline={baseline!r}, and "
                f"{owned!r} in {type(credit).__name__}. Leave it out."
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
                    '`standardize` must be False or "batch" for weighted '
                    "sequences, whose deviation in a row is not that of "
                    "samples. Received: standardize=True with "
                    f"{type(self.decoder).__name__}."
                )
            advantage = _standardized(advantage, rewards, said)
        scores = self._scores(advantage, log_probs, counted, episode)
        return losses - scores, _per_sequence(own, rollout.mask), logs

    def _scores(self, advantage, log_probs, counted, episode):
        """Returns advantages times normalized log probabilities, `(B, S)`."""
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
        """Standardizes advantages over the global batch."""
        advantage = ops.stop_gradient(advantage)
        advantage = advantage - self._global_mean(advantage, episode)
        variance = self._global_mean(ops.square(advantage), episode)
        return divided(advantage, ops.sqrt(variance))

    def counted(self, rollout):
        """Returns the words whose log probabilities count, `(B, S, T)`.

        In a rollout with given words, the drawn ones.
        """
        if rollout.given is None:
            return rollout.mask
        return rollout.mask * (1.0 - rollout.given)

    def _mean_length(self, counted, episode):
        """Returns words per sequence over the global batch."""
        mean = self._global_mean(ops.sum(counted, axis=-1), episode)
        # Below 1 where few words count, and 0 where none does.
        return ops.stop_gradient(ops.where(mean > 0, mean, 1.0))


def _less(rewards, baseline):
    """Returns the difference, word by word if either is."""
    if len(baseline.shape) != len(rewards.shape):
        rewards, baseline = by_word(rewards), by_word(baseline)
    return rewards - baseline


def _standardized(advantage, rewards, said):
    """Divides by a row's deviation of rewards; 0 where these are equal."""
    check_several(rewards, "`standardize`")
    _, std = deviation(rewards, with_axes_of(said, rewards))
    if len(std.shape) < len(advantage.shape):
        std = std[..., None]
    return divided(advantage, std)


def _per_sequence(rewards, mask):
    """Returns means over the words of sequences, to log."""
    if len(rewards.shape) == 2:
        return rewards
    return masked_mean(rewards, mask, axis=-1)


def _statistics(decoder, baseline):
    """Returns the names of the statistics of a reward."""
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
        present: Boolean tensor of shape `(B, S)`, true for samples that count.

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
            `tfcap.decoding.ScheduledSampling`, or `MixedPrefix`, whose given
            words count. Defaults to `GroundTruth()`.

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

    The gradient reaches the speaker through the word channel: it is exact for
    whole distributions, and a straight-through estimate for words.

    The decision to stop has a gradient only through the vector of the end
    token; `ExpectedEnding` has all of it.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        decoder: `tfcap.decoding.Decoder` whose words carry gradients.
        name: String. Defaults to the reward's name.
        reduction: As in `Estimator`.

    Raises:
        ValueError: If no gradient can pass.

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
    """Differentiates a reward with respect to its network, not the words.

    ```
    loss = -reward(stop_gradient(words))
    ```

    A listener learns by it from human words, from those of a frozen speaker,
    or of a speaker that is trained in other steps. It takes any decoder.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable, such as
            `tfcap.rewards.Retrieval`, of the network that learns.
        decoder: `tfcap.decoding.Decoder`.
        name, reduction: As in `Pathwise`.

    Raises:
        ValueError: If the reward, or a term of it, has no gradient or was
            made with `learning=False`.

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
                f"reward={self.reward.name!r} with learning=False. Make it, or "
                "its terms, with `learning=True`."
            )


class SupervisedLoss(Estimator):
    """A loss that a function computes from an episode.

    A second learner is often trained by an ordinary loss, on labels or on the
    speaker's words.

    Args:
        function: Callable from an `Episode` to losses of shape `(B, S)`.
        name: String.
        decoders: Tuple of `tfcap.decoding.Decoder` whose words `function`
            reads.

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
