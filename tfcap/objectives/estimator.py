"""Objectives, the base class of estimators, and plain baselines."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops import mean_over_replicas
from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap._printed import printed
from tfcap.decoding import Decoder
from tfcap.rewards.reward import ABSTAINED
from tfcap.rewards.reward import Linear
from tfcap.rewards.reward import by_word
from tfcap.rewards.reward import check_of_sequences
from tfcap.rewards.reward import check_several
from tfcap.rewards.reward import distinct
from tfcap.rewards.reward import with_axes_of
from tfcap.rewards.text_rewards import as_reward


class Term(NamedTuple):
    """One estimator with its weight, a number or a `keras.Variable`."""

    weight: Any
    estimator: "Objective"


class Objective(Linear):
    """A weighted sum of estimators.

    ```
    objective = sum_i weight_i * Estimator_i(reward_i, decoder_i)
    ```

    Estimators are objectives of one term, added and scaled as in the papers:

    ```
    objective = 0.5 * TeacherForcing() + Pathwise(reward, decoder)
    ```

    A weight may be a `keras.Variable` on the right, `TeacherForcing() *
    weight`, which a callback can change during training, and restores in a
    resumed run (`get_state()`).

    Args:
        terms: Iterable of pairs `(weight, estimator)`.

    Example:

    >>> half = 0.5 * tfcap.objectives.TeacherForcing()
    >>> [term.weight for term in (half + 2.0 * half).terms]
    [0.5, 1.0]
    """

    def __init__(self, terms: Iterable[tuple[Any, "Objective"]]):
        self._terms = tuple(Term(*term) for term in terms)
        for _, estimator in self._terms:
            if not isinstance(estimator, Objective):
                raise TypeError(
                    "`terms` must hold estimators. Received: "
                    f"{estimator!r}. Wrap a reward in an estimator, such as "
                    "`ScoreFunction(reward, decoder)`."
                )

    @property
    def terms(self) -> tuple[Term, ...]:
        """Tuple of `Term`."""
        return self._terms

    def loss(self, episode: Any) -> tuple[Any, dict]:
        """Computes the loss of one step.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            This replica's share of the loss over the global batch, a float32
            scalar; and a dict of scalars to log, by name.
        """
        losses, logs = self.losses(episode)
        return sum(losses.values(), 0.0), logs

    def losses(self, episode: Any) -> tuple[dict, dict]:
        """Computes the loss of one step, term by term.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            Dict of this replica's shares of the weighted losses, by the names
            of the terms; and a dict of scalars to log, by name.
        """
        losses, logs = {}, {}
        for name, (weight, estimator) in self.named_terms().items():
            loss, logs[name], statistics = estimator.reduced_loss(episode)
            losses[name] = ops.cast(weight, "float32") * loss
            logs |= {f"{name}/{key}": x for key, x in statistics.items()}
        return losses, logs

    def named_terms(self) -> dict[str, Term]:
        """Returns the terms by unique names, numbered if they repeat."""
        names = distinct(term.estimator.name for term in self.terms)
        return dict(zip(names, self.terms))

    def reward_names(self) -> tuple[str, ...]:
        """Returns the names under which rewards and their parts are logged."""
        return self._names("parts")

    def log_names(self) -> tuple[str, ...]:
        """Returns the names of rewards, their parts and all statistics."""
        return self._names("statistics")

    def _names(self, attribute):
        return tuple(
            logged
            for name, (_, estimator) in self.named_terms().items()
            for logged in (
                name,
                *(f"{name}/{key}" for key in getattr(estimator, attribute)),
            )
        )

    def layers(self) -> list:
        """Returns the Keras layers that the terms hold, each once."""
        return each_once(x for _, term in self.terms for x in term.layers())

    def _pairs(self):
        return self.terms

    def _sum(self, pairs):
        return Objective(pairs)

    def __mul__(self, weight):
        # A sum is flat: a weight is of one estimator, and one number or
        # variable.
        variable = isinstance(weight, keras.Variable)
        for own, _ in self.terms:
            if isinstance(own, keras.Variable) or (variable and own != 1.0):
                raise ValueError(
                    "A variable `weight` must scale an unweighted term. "
                    "Received: a sum that is weighted already. Scale its terms "
                    "one by one."
                )
        if variable:
            return self._sum([(weight, part) for _, part in self.terms])
        return super().__mul__(weight)

    __rmul__ = __mul__


def each_once(layers: Iterable) -> list:
    """Lists layers, each once, even if several objects hold it."""
    return list({id(layer): layer for layer in layers}.values())


class Baseline:
    """Expected reward, which does not depend on the word or the sample.

    An estimator also takes a plain function `(rewards, episode)` as baseline.
    To write one with layers or a loss, override the methods of this class.

    Args:
        function: Such a function.

    Attributes:
        layers: Tuple of Keras layers, whose weights are saved and trained.
        decoders: Tuple of decoders whose words it reads.

    Example:

    >>> from tfcap.objectives.estimator import Baseline
    >>> half = Baseline(lambda rewards, episode: 0.5)
    >>> half.layers
    ()
    """

    __repr__ = printed

    layers: tuple = ()
    decoders: tuple = ()

    def __init__(self, function: Callable | None = None):
        self.function = function

    def __call__(self, rewards: Any, episode: Any) -> Any:
        """Expects rewards.

        Args:
            rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
            episode: `Episode` whose `scored` is the rollout of these rewards.

        Returns:
            A number, or a float tensor of shape `(B, 1)`, `(B, S)` or
            `(B, S, T)`.
        """
        return self.function(rewards, episode)

    def losses(self, rewards: Any, values: Any, mask: Any) -> Any:
        """Returns losses `(B, S)` of the expected values, to add."""
        return 0.0

    def expected(self, rewards: Any, episode: Any) -> Any:
        """Returns the expected rewards, as a tensor of rank 2 or 3.

        Raises:
            ValueError: If it returns neither a number nor such a tensor.
        """
        expected = ops.convert_to_tensor(self(rewards, episode))
        rank = len(expected.shape)
        if rank not in (0, 2, 3):
            raise ValueError(
                "`baseline` must return a number, or numbers of shape (B, 1), "
                "(B, S) or (B, S, T), for rewards of shape "
                f"{tuple(rewards.shape)}. Received: numbers of shape "
                f"{tuple(expected.shape)}. Return a number for each row as "
                "`x[:, None]`."
            )
        return ops.reshape(expected, (1, 1)) if rank == 0 else expected


class Credit:
    """Gives every word its own reward.

    An estimator also takes a plain function `(rewards, episode, reward,
    decoder)` as credit.

    Args:
        function: Such a function.

    Attributes:
        baseline: `Baseline` of an estimator with this credit; or `None`.
    """

    __repr__ = printed

    baseline = None

    def __init__(self, function: Callable | None = None):
        self.function = function

    def __call__(
        self, rewards: Any, episode: Any, reward: Any, decoder: Any
    ) -> Any:
        """Returns rewards `(B, S, T)` of the words of a decoder's rollout."""
        return self.function(rewards, episode, reward, decoder)

    def check(self, reward: Any, decoder: Any) -> None:
        """Rejects a reward or decoder for which it cannot be computed."""

    def prefixes(self, length: int) -> tuple[int, ...]:
        """Returns the last words `t` of prefixes with their own value."""
        return tuple(range(length - 1))


def as_part(part: Any, kind: type, name: str) -> Any:
    """Converts a function to a `Baseline` or `Credit`."""
    if part is None or isinstance(part, kind):
        return part
    # A part of the methods alone would be left uncalled.
    known = ("layers", "decoders", "losses", "check", "prefixes")
    partly = any(hasattr(part, method) for method in known)
    if isinstance(part, type) or not callable(part) or partly:
        raise TypeError(
            f"`{name}` must be a function or inherit from "
            f"`tfcap.objectives.estimator.{kind.__name__}`. Received: "
            f"{name}={part!r}."
        )
    return kind(part)


def _total(values, mask):
    """Returns the sum of this replica's rows, its share of the global sum."""
    dtype = keras.backend.standardize_dtype(values.dtype)
    # Half precision cannot hold a long sum.
    values = ops.cast(values, keras.backend.result_type(dtype, "float32"))
    return ops.sum(ops.where(ops.cast(mask, "bool"), values, 0))


#: How the losses of a batch become one.
REDUCTIONS = {"mean": mean_over_replicas, "sum": _total}


def check_decoder(decoder: Any) -> None:
    """Rejects an object that is not a decoder.

    Raises:
        TypeError: If it is not a `Decoder`.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(
            "`decoder` must be a `tfcap.decoding.Decoder`. Received: "
            f"decoder={decoder!r}."
        )


def check_discrete(rollout: Any, decoder: Any, estimator: Any) -> None:
    """Rejects relaxed words, which have no log probability."""
    if rollout.discrete:
        return
    name = type(estimator).__name__
    raise ValueError(
        f"`decoder` must emit discrete words for {name}, since a distribution "
        f"has no log probability. Received: decoder={type(decoder).__name__} "
        f"with {type(decoder.channel).__name__}. Use Sample with Categorical, "
        "or Pathwise with a differentiable reward."
    )


def scored_anew(rollout: Any, decoder: Any) -> Any:
    """Returns a rollout whose words are scored again, with gradient.

    Words that are decoded as in inference have log probabilities without
    gradient, if any.
    """
    if decoder.inference:
        return rollout._replace(log_probs=None)
    return rollout


def judged(reward: Any, rollout: Any, *values: Any) -> tuple:
    """Leaves out the sequences that a reward abstains from.

    Args:
        reward: `tfcap.rewards.Reward`.
        rollout: `tfcap.decoding.Rollout`.
        *values: Float tensors of shape `(B, S)` or `(B, S, T)`, rewards.

    Returns:
        The rollout, in which these sequences are absent, as in a row without
        human words, and the values, 0 for them.
    """
    if not reward.abstains:
        return rollout, *values
    known = [
        value != ABSTAINED
        if len(value.shape) == 2
        else ops.any(value != ABSTAINED, axis=-1)
        for value in values
    ]
    # Tokens stay: it is by them that an episode knows whose words these are.
    present, weights = ops.cast(known[0], "float32"), rollout.weights
    rollout = rollout._replace(
        mask=rollout.mask * present[..., None],
        weights=None if weights is None else weights * present,
    )
    return rollout, *(
        ops.where(with_axes_of(own, value), value, 0)
        for own, value in zip(known, values)
    )


class Estimator(Objective):
    """Turns a reward of a decoder's words into a loss.

    To write one, override `per_sample_loss()`, and `rollout()` if losses are
    those of sequences. Only estimators negate rewards.

    Args:
        name: String, under which the reward is logged.
        parts: Strings, names of parts of the reward, whose mean and standard
            deviation are logged as `name/part` and `name/part_std`.
        decoders: `tfcap.decoding.Decoder`s whose words it reads.
        statistics: Strings, further names to log. A name that ends in `std`
            is the standard deviation of the value named before it, or of the
            reward itself.
        reduction: `"mean"` over the sequences of the global batch, or their
            `"sum"`, for the weights of papers that sum over a batch. Means are
            logged in either case. Defaults to `"mean"`.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[str] = (),
        decoders: Sequence[Any] = (),
        statistics: Sequence[str] = (),
        reduction: str = "mean",
    ):
        check_choice(reduction, "reduction", REDUCTIONS)
        self.name = name
        self.parts = tuple(parts)
        self.decoders = tuple(decoders)
        self.reduction = reduction
        pairs = [(part, f"{part}_std") for part in self.parts]
        self.statistics = (*(k for pair in pairs for k in pair), *statistics)

    @property
    def terms(self) -> tuple[Term, ...]:
        return (Term(1.0, self),)

    def layers(self) -> list:
        """Returns the Keras layers held, each once: channels, baselines."""
        reward = getattr(self, "reward", None)
        decoders = (*self.decoders, *getattr(reward, "decoders", ()))
        channels = [getattr(d, "channel", None) for d in decoders]
        return each_once(c for c in channels if c is not None)

    def rollout(self, episode: Any) -> Any:
        """Returns the rollout of the losses, or `None` for losses of rows."""
        return None

    def counted(self, rollout: Any) -> Any:
        """Returns the mask `(B, S, T)` of the words that count."""
        return rollout.mask

    def per_sample_loss(self, episode: Any) -> tuple[Any, Any, dict]:
        """Computes losses, rewards and statistics of a step.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            Losses, a float tensor of shape `(B, S)`, or `(B, 1)` of rows; the
            rewards to log, of shape `(B, S)` or `(B, S, T)`; and a dict of
            such tensors by the names of parts and statistics, without
            standard deviations.
        """
        raise NotImplementedError

    def reduced_loss(self, episode: Any) -> tuple[Any, Any, dict]:
        """Reduces a step's losses and rewards.

        Returns:
            This replica's share of the reduced loss; the global mean of the
            rewards; and a dict of scalars by the names of `statistics`.
        """
        losses, rewards, values = self.per_sample_loss(episode)
        rows = ops.shape(losses)[0]
        mean, std = self._mean(rewards, rows, "std", episode)
        logs = dict(std)
        for name, value in values.items():
            logs[name], std = self._mean(value, rows, f"{name}_std", episode)
            logs |= std
        loss = REDUCTIONS[self.reduction](
            self._weighed(losses, episode), self.mask(losses, episode)
        )
        return loss, mean, logs

    def _weighed(self, values, episode):
        """Returns values whose mean over S sequences is the weighted sum."""
        weights = getattr(self.rollout(episode), "weights", None)
        if weights is None or len(values.shape) == 3 or values.shape[1] == 1:
            return values
        return values * ops.cast(weights * weights.shape[1], values.dtype)

    def _mean(self, values, rows, std, episode):
        """Returns the global mean, and the deviation if it is logged."""
        values = ops.stop_gradient(values)
        rollout = self.rollout(episode)
        if len(values.shape) == 2:
            values = ops.broadcast_to(values, (rows, ops.shape(values)[1]))
        elif getattr(rollout, "weights", None) is not None:
            # Weights are of sequences.
            values = masked_mean(values, self.counted(rollout), axis=-1)
        mask = self.mask(values, episode)
        if getattr(getattr(self, "reward", None), "abstains", False):
            # Parts of a sum may abstain where others do not.
            known = values != ABSTAINED
            mask = mask * ops.cast(known, mask.dtype)
            values = ops.where(known, values, 0)
        share = mean_over_replicas(self._weighed(values, episode), mask)
        if std not in self.statistics:
            return share * num_replicas(), {}
        mean = sum_over_replicas(share)
        squares = ops.square(ops.cast(values, mean.dtype) - mean)
        squares = self._weighed(squares, episode)
        variance = sum_over_replicas(mean_over_replicas(squares, mask))
        return share * num_replicas(), {std: ops.sqrt(variance)}

    def mask(self, values: Any, episode: Any) -> Any:
        """Masks values of absent sequences, words and rows.

        Args:
            values: Float tensor of shape `(B, S)`, `(B, S, T)`, or `(B, 1)`
                of rows.
            episode: `tfcap.objectives.Episode`.

        Returns:
            Float tensor of the shape of `values`.
        """
        rollout, rank = self.rollout(episode), len(values.shape)
        if rollout is None:
            present = ops.reshape(episode.present, (-1, *[1] * (rank - 1)))
        elif rank == 3:
            present = self.counted(rollout)
        else:
            present = ops.cast(rollout.nonempty, "float32")
            # Sequences that are absent weigh nothing where any are weighed.
            if values.shape[1] == 1 or rollout.weights is not None:
                present = ops.max(present, axis=1, keepdims=True)
        return ops.broadcast_to(present, ops.shape(values))


class RewardEstimator(Estimator):
    """Base class of estimators of the losses of sequences, by rewards.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings.
        decoder: `tfcap.decoding.Decoder` of the sequences.
        name: String. Defaults to the reward's name.
        statistics, reduction: As in `Estimator`.
        decoders: Further decoders whose words it reads.
    """

    def __init__(
        self,
        reward: Any,
        decoder: Any,
        name: str | None = None,
        statistics: Sequence[str] = (),
        reduction: str = "mean",
        decoders: Sequence[Any] = (),
    ):
        self.reward = as_reward(reward)
        check_decoder(decoder)
        self.decoder = decoder
        super().__init__(
            name or self.reward.name,
            self.reward.terms,
            (decoder, *decoders),
            statistics,
            reduction,
        )

    def rollout(self, episode: Any) -> Any:
        # Once that is known, without what the reward abstains from.
        return episode.judged.get(id(self)) or episode.rollout(self.decoder)

    def rewarded(
        self, episode: Any, credit: bool = False, gradient: bool = False
    ) -> tuple:
        """Computes the rewards of the decoder's words.

        Args:
            episode: `tfcap.objectives.Episode`.
            credit: Boolean, whether to return the effect of a sample on all
                rewards, see `tfcap.rewards.Reward`. Defaults to `False`.
            gradient: Boolean, whether the words have a gradient. Defaults to
                `False`.

        Returns:
            The rollout, without the sequences that the reward abstains from;
            the reward to learn from; the reward to log; and a dict of its
            parts to log.
        """
        said = episode.rollout(self.decoder)
        read = said if gradient else said.stop_gradient()
        found = self.reward.scored(read, episode)
        values = found.credit() if credit else found.values
        rollout, values, logged = judged(
            self.reward, said, values, found.logged
        )
        if self.reward.abstains:
            episode.judged[id(self)] = rollout
        return rollout, values, logged, found.terms


class DecoderBaseline(Baseline):
    """The reward of another decoder's words, such as the greedy ones.

    With `Greedy`, self-critical training, SCST; with `GroundTruth`, the reward
    of the human words. It does not depend on the samples, and leaves the
    expected gradient unchanged.

    For a reward that compares samples it is their credit, which includes the
    effect on the other words of that decoder; see `tfcap.rewards.Reward`. That
    effect is scaled to the number of scored samples, since a sample affects
    all S samples of another row.

    Args:
        reward: `tfcap.rewards.Reward`, or a function, as in `ScoreFunction`.
        decoder: `tfcap.decoding.Decoder`.

    Example:

    >>> reward, greedy = tfcap.rewards.ConstantReward(), tfcap.decoding.Greedy()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward,
    ...     tfcap.decoding.Sample(),
    ...     baseline=tfcap.objectives.DecoderBaseline(reward, greedy),
    ... )

    Reference:

    - Rennie et al., Self-critical Sequence Training, CVPR 2017
    """

    def __init__(self, reward, decoder):
        reward = as_reward(reward)
        check_decoder(decoder)
        self.reward = reward
        self.decoder = decoder
        self.decoders = (decoder, *reward.decoders)

    def __call__(self, rewards, episode):
        rollout = episode.rollout(self.decoder).stop_gradient()
        found = self.reward.scored(rollout, episode)
        rollout, values, own = judged(
            self.reward, rollout, found.credit(), found.logged
        )
        said = rollout.nonempty
        if self.reward.compares_samples:
            ratio = _count(present_samples(rewards, episode)) / _count(said)
            values = own + (values - own) * ops.cast(ratio, values.dtype)
        values = _row_mean(ops.stop_gradient(values), rollout)
        values = ops.expand_dims(values, 1)
        if not self.reward.abstains:
            return values
        # Without a word to compare with, a sample counts for nothing.
        known = ops.any(said, axis=1, keepdims=True)
        if 3 in (len(values.shape), len(rewards.shape)):
            known, values = by_word(known), by_word(values)
        return ops.where(known, values, rewards)


def _row_mean(values, rollout):
    """Returns the weighted mean of a row's sequences, `(B,)` or `(B, T)`."""
    said, weights = with_axes_of(rollout.nonempty, values), rollout.weights
    if weights is None:
        return masked_mean(values, said, axis=1)
    weights = with_axes_of(weights, values)
    mean = masked_mean(values * weights, said, axis=1)
    share = masked_mean(weights, said, axis=1)
    return mean / ops.where(share > 0, share, 1.0)


def _count(present):
    """Returns the number of scored sequences of the batch, on all replicas."""
    count = sum_over_replicas(ops.sum(ops.cast(present, "float32")))
    return ops.maximum(count, 1)


class LeaveOneOutBaseline(Baseline):
    """The mean reward of an image's other samples: RLOO.

    It leaves the expected gradient unchanged if the rewards of the others do
    not depend on the sample. Rewards that compare the samples of a row, or
    whose hardest negative may be another sample of the row, do depend on it.

    Absent references are ignored. A single one in its row is its own baseline,
    and thus has no effect.

    For the weighted sequences of `tfcap.decoding.SumAndSample`, it is the
    expected reward without a sample's own part,

    ```
    baseline = sum over the beam of p(y) * reward(y)
               + (1 - p(beam)) * mean reward of the other samples
    ```

    which includes all samples for sequences of the beam, and is the mean over
    the beam for a single sample. Its expectation is equal for all sequences
    of a row.

    Example:

    >>> baseline = tfcap.objectives.LeaveOneOutBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[4.  3.5 1.5]]

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    - Kool et al., Estimating Gradients for Discrete Random Variables by
      Sampling without Replacement, ICLR 2020
    """

    def __call__(self, rewards, episode):
        rollout = getattr(episode, "scored", None)
        if getattr(rollout, "weights", None) is not None:
            check_of_sequences(rewards, "LeaveOneOutBaseline")
            return _expected_by_others(rewards, rollout, episode)
        check_several(rewards, "LeaveOneOutBaseline")
        present = present_samples(rewards, episode)
        # From the first one on: of equal numbers, the mean is that number.
        first, above = from_first(rewards, present)
        total = ops.sum(above, axis=1, keepdims=True)
        count = ops.sum(ops.cast(present, above.dtype), axis=1, keepdims=True)
        return first + (total - above) / ops.maximum(count - 1, 1)


def _expected_by_others(rewards, rollout, episode):
    """Returns the expected reward of beam and samples, without a sample."""
    decoder = episode.decoder_of(rollout)
    width, rest = decoder.width, decoder.rest
    weights = ops.cast(rollout.weights, rewards.dtype)
    parts = weights * rewards
    found = ops.sum(parts[:, :width], axis=1, keepdims=True)
    if rest == 1:
        known = ops.sum(weights[:, :width], axis=1, keepdims=True)
        value = found / ops.maximum(known, 1e-12)
        return ops.broadcast_to(value, ops.shape(rewards))
    sampled = ops.sum(parts[:, width:], axis=1, keepdims=True)
    beam = ops.broadcast_to(found + sampled, ops.shape(rewards[:, :width]))
    # All weights of a row's samples are equal.
    others = (sampled - parts[:, width:]) * (rest / (rest - 1.0))
    return ops.concatenate([beam, found + others], axis=1)


class SampleMeanBaseline(Baseline):
    """The mean reward of an image's samples: GRPO.

    With `tfcap.rewards.PairwiseDiversity`, the mean distance of all pairs.
    Identical samples have an advantage of exactly 0.

    Since a sample counts in its own baseline, the expected gradient is
    `(S - 1) / S` times that without a baseline, and `(S - 2) / S` times for a
    reward such as `PairwiseDiversity`, a mean of symmetric distances to the
    other samples. With `LeaveOneOutBaseline` these factors are 1 and
    `(S - 2) / (S - 1)`.

    Example:

    >>> baseline = tfcap.objectives.SampleMeanBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[3.]]

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, equation 16
    """

    def __call__(self, rewards, episode):
        check_several(rewards, "SampleMeanBaseline")
        # From the first one on: of equal numbers, the mean is that number.
        present = present_samples(rewards, episode)
        first, above = from_first(rewards, present)
        return first + ops.expand_dims(masked_mean(above, present, axis=1), 1)


class RunningMeanBaseline(Baseline):
    """An exponential moving average of the reward.

    ```
    mean = momentum * mean + (1 - momentum) * mean(rewards)
    ```

    without the bias of the first steps towards 0. It is part of a checkpoint.
    A step whose mean reward is not finite does not change it.

    Args:
        momentum: Float in `(0, 1)`. Defaults to `0.99`.

    Example:

    >>> from types import SimpleNamespace as Namespace
    >>> baseline = tfcap.objectives.RunningMeanBaseline(momentum=0.5)
    >>> step = Namespace(training=True, present=np.ones(2, "float32"))
    >>> rewards = np.array([[1.0], [3.0]])
    >>> for _ in range(3):
    ...     print(float(baseline(rewards, step)[0, 0]))
    0.0
    2.0
    2.0

    Reference:

    - Williams, Simple Statistical Gradient-Following Algorithms for
      Connectionist Reinforcement Learning, 1992, section 4
    """

    def __init__(self, momentum=0.99):
        momentum = checked_number(
            momentum, "momentum", "in (0, 1)", lambda x: 0 < x < 1
        )
        self.momentum = momentum
        layer = keras.layers.Layer(name="running_mean", dtype="float32")
        self.total, self.missing = (
            layer.add_weight(
                shape=(),
                initializer=initializer,
                trainable=False,
                aggregation="mean",
                name=name,
            )
            for name, initializer in (("total", "zeros"), ("missing", "ones"))
        )
        layer.built = True
        self.layers = (layer,)

    def value(self):
        """The mean so far, without the bias of the start at 0."""
        known = 1.0 - self.missing
        return ops.where(known > 0, self.total / ops.maximum(known, 1e-12), 0.0)

    def __call__(self, rewards, episode):
        rewards, rank = ops.cast(rewards, "float32"), len(rewards.shape)
        value = self.value()
        if episode.training:
            share = mean_over_replicas(*_counted(rewards, episode))
            mean = ops.stop_gradient(sum_over_replicas(share))
            # What is not finite would stay in the mean for good.
            finite = ops.isfinite(mean)
            kept = ops.where(finite, self.momentum, 1.0)
            new = ops.where(finite, (1.0 - self.momentum) * mean, 0.0)
            self.total.assign(kept * self.total + new)
            self.missing.assign(kept * self.missing)
        return ops.reshape(value, (1,) * rank)


def _counted(rewards, episode):
    """Returns rewards, and a mask of present words, sequences or rows."""
    rollout, rank = getattr(episode, "scored", None), len(rewards.shape)
    if rollout is None:
        present = ops.reshape(episode.present, (-1, *[1] * (rank - 1)))
    elif rollout.weights is not None:
        if rank == 3:
            rewards = masked_mean(rewards, rollout.mask, axis=-1)
        rewards = _row_mean(rewards, rollout)
        present = ops.cast(ops.any(rollout.nonempty, axis=1), "float32")
    elif rank == 3:
        present = rollout.mask
    else:
        present = ops.cast(rollout.nonempty, "float32")
    return rewards, ops.broadcast_to(present, ops.shape(rewards))


def present_samples(rewards: Any, episode: Any) -> Any:
    """Masks the samples that a baseline compares.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.

    Returns:
        Boolean tensor of shape `(B, S)` or `(B, S, 1)`.
    """
    rollout = getattr(episode, "scored", None)
    if rollout is None:
        said = ops.ones(ops.shape(rewards)[:2], dtype="bool")
    else:
        if getattr(rollout, "weights", None) is not None:
            raise ValueError(
                "`decoder` must not weight its sequences for a baseline that "
                "is their mean. Received: a rollout with weights. Use "
                "LeaveOneOutBaseline."
            )
        said = rollout.nonempty
    return with_axes_of(said, rewards)


def from_first(rewards: Any, present: Any) -> tuple[Any, Any]:
    """Subtracts the first reward of a row from all.

    Means of the differences of equal numbers are exactly 0.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
        present: Boolean tensor of shape `(B, S)` or `(B, S, 1)`.

    Returns:
        The first present reward of a row, `(B, 1)` or `(B, 1, T)`, and the
        differences, of the shape of `rewards`, 0 where absent.
    """
    rewards = ops.where(present, rewards, 0)
    index = ops.argmax(ops.cast(present, "int32"), axis=1, keepdims=True)
    index = ops.broadcast_to(index, ops.shape(rewards[:, :1]))
    first = ops.take_along_axis(rewards, index, axis=1)
    return first, ops.where(present, rewards - first, 0)
