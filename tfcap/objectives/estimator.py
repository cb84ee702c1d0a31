"""Base class of the estimators."""

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import call_on_host
from tfcap._ops import masked_mean
from tfcap._ops import mean_over_replicas
from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap.decoding import Decoder
from tfcap.objectives.objective import Objective
from tfcap.objectives.objective import Term
from tfcap.objectives.objective import each_once
from tfcap.rewards.reward import ABSTAINED


def _total(values, mask):
    """This replica's share of the global sum: the sum of its own rows."""
    dtype = keras.backend.standardize_dtype(values.dtype)
    # Half precision cannot hold a long sum.
    values = ops.cast(values, keras.backend.result_type(dtype, "float32"))
    return ops.sum(ops.where(ops.cast(mask, "bool"), values, 0))


def _tell_of_rows(name, said, known):
    """Warns of rows that a reward abstains from; which sequences it judged."""
    if np.any(said.any(axis=1) & ~known.any(axis=1)):
        warnings.warn(
            f"The reward {name!r} abstains from all captions of a row, which "
            "teaches nothing by it. See that it finds there what it compares "
            "with, or add a reward that judges all captions.",
            stacklevel=1,
        )
    return known


#: How the losses of a batch become one.
REDUCTIONS = {"mean": mean_over_replicas, "sum": _total}


def check_decoder(decoder: Any) -> None:
    """Refuses what is no decoder.

    Raises:
        TypeError: If it is none.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(
            "`decoder` must be a `tfcap.decoding.Decoder`. Received: "
            f"decoder={decoder!r}."
        )


def check_discrete(rollout: Any, decoder: Any, estimator: Any) -> None:
    """Refuses words that are no words, which have no log probability."""
    if rollout.discrete:
        return
    name = type(estimator).__name__
    raise ValueError(
        f"`decoder` must emit discrete words for {name}: a distribution has "
        f"no log probability. Received: decoder={type(decoder).__name__} with "
        f"{type(decoder.channel).__name__}. Use Sample with Categorical, or "
        "Pathwise with a differentiable reward."
    )


def scored_anew(rollout: Any, decoder: Any) -> Any:
    """A rollout whose words get scores with a gradient, if asked for.

    The log probabilities of what decodes as at inference, if any, have none.
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
        The rollout, in which these sequences are absent, as those of a row
        without a human word are, and the values, 0 for them.
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
        ops.where(own if len(value.shape) == 2 else own[..., None], value, 0)
        for own, value in zip(known, values)
    )


class Estimator(Objective):
    """Turns one reward of one decoder's words into a loss.

    To write one, override `per_sample_loss()`, and `rollout()` if the losses
    are of sequences. Only estimators negate.

    Args:
        name: String, under which the reward is logged.
        parts: Strings, names of parts of the reward, whose mean and standard
            deviation are logged under `name_part` and `name_part_std`.
        decoders: `tfcap.decoding.Decoder`s that it asks the episode for.
        statistics: Strings, further names to log. One that ends in `std`
            is the standard deviation of the value named before it, of the
            reward itself if there is none.
        reduction: `"mean"` over the sequences of the global batch, or their
            `"sum"`, for weights that a paper gives for sums over a batch.
            Means are logged in either case. Defaults to `"mean"`.
    """

    #: True if all gradients pass through the log probabilities of words that
    #: the episode is asked for, so that a batch may be divided.
    scores_words = False

    def __init__(
        self,
        name: str,
        parts: Sequence[str] = (),
        decoders: Sequence[Any] = (),
        statistics: Sequence[str] = (),
        reduction: str = "mean",
    ):
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"`reduction` must be one of {tuple(REDUCTIONS)}. Received: "
                f"reduction={reduction!r}."
            )
        self.name = name
        self.parts = tuple(parts)
        self.decoders = tuple(decoders)
        self.reduction = reduction
        pairs = [(part, f"{part}_std") for part in self.parts]
        self.statistics = (*(k for pair in pairs for k in pair), *statistics)
        taken = [part for part in self.parts if part in statistics]
        if taken:
            raise ValueError(
                "`reward` must have parts with names of their own, since "
                f"{', '.join(statistics)} are logged beside them. Received: a "
                f"part named {taken[0]!r}. Give that reward another `name`."
            )

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

    def rewarded(
        self, episode: Any, credit: bool = False, gradient: bool = False
    ) -> tuple:
        """Asks the reward about what the decoder says.

        Args:
            episode: `tfcap.objectives.Episode`.
            credit: Boolean, whether to learn from what samples are worth to
                all of them, see `tfcap.rewards.Reward`. Defaults to `False`.
            gradient: Boolean, whether one reaches the words. Defaults to
                `False`.

        Returns:
            The rollout, without the sequences that the reward abstains from;
            the reward to learn from; the reward to log; and the dict of what
            to log beside it.
        """
        said = episode.rollout(self.decoder)
        read = said if gradient else said.stop_gradient()
        found = self.reward.scored(read, episode)
        rollout, values, logged = judged(
            self.reward,
            said,
            found.credit() if credit else found.values,
            found.logged,
        )
        if self.reward.abstains:
            told = functools.partial(_tell_of_rows, self.name)
            present = said.nonempty, rollout.nonempty
            shape = rollout.mask.shape[:2]
            known = call_on_host(told, present, shape)[..., None]
            rollout = rollout._replace(mask=rollout.mask * known)
            episode.judged[id(self)] = rollout
        return rollout, values, logged, found.terms

    def judged(self, episode: Any) -> Any:
        """Returns the rollout of `rewarded()`, once that is known."""
        return episode.judged.get(id(self)) or episode.rollout(self.decoder)

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
            such tensors by the names of parts and statistics, but the
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
        """Values whose mean over S sequences is the sum that is weighted."""
        weights = getattr(self.rollout(episode), "weights", None)
        if weights is None or len(values.shape) == 3 or values.shape[1] == 1:
            return values
        return values * ops.cast(weights * weights.shape[1], values.dtype)

    def _mean(self, values, rows, std, episode):
        """The global mean, and the standard deviation if it is logged."""
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
        """Masks values of sequences, words and rows that are absent.

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
