"""Protocols of baselines and of credit."""

from collections.abc import Callable
from typing import Any
from typing import Protocol
from typing import runtime_checkable

from keras import ops


@runtime_checkable
class Baseline(Protocol):
    """Expects a reward, without the word or the sample that earns it.

    Where an estimator takes a baseline, a plain function `(rewards, episode)`
    does as well. One that has layers, learns, or does not go with every
    estimator inherits from this class and overrides what it needs.

    Attributes:
        layers: Tuple of Keras layers, whose weights are saved and trained.
        decoders: Tuple of the decoders whose words it asks an episode for;
            absent where it asks for none.

    Example:

    >>> class Half(tfcap.objectives.Baseline):
    ...     def __call__(self, rewards, episode):
    ...         return 0.5
    >>> Half().layers
    ()
    """

    layers: tuple = ()

    def __call__(self, rewards: Any, episode: Any) -> Any:
        """Expects rewards.

        Args:
            rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.

        Returns:
            A number, or a float tensor of shape `(B, 1)`, `(B, S)` or
            `(B, S, T)`.
        """
        raise NotImplementedError

    def check(self, decoder: Any, credit: Any) -> None:
        """Raises where the estimator has a decoder or credit of others."""

    def losses(self, rewards: Any, values: Any, mask: Any) -> Any:
        """Losses `(B, S)` to be added, of the values that it expected."""
        return 0.0


@runtime_checkable
class Credit(Protocol):
    """Gives every word a reward of its own.

    A plain function `(rewards, episode, reward, decoder)` does as well.

    Attributes:
        skips: Boolean, true if words may have the value of a longer prefix.

    Example:

    >>> isinstance(tfcap.objectives.MonteCarlo(), tfcap.objectives.Credit)
    True
    """

    skips: bool = False

    def __call__(
        self, rewards: Any, episode: Any, reward: Any, decoder: Any
    ) -> Any:
        """Returns rewards `(B, S, T)` of the words of a decoder's rollout."""
        raise NotImplementedError

    def check(self, reward: Any, decoder: Any) -> None:
        """Raises where it cannot be given for this reward and decoder."""

    def prefixes(self, length: int) -> tuple[int, ...]:
        """Returns the last words `t` whose prefix has a value of its own."""
        return tuple(range(length - 1))


def expectation(baseline: Baseline, rewards: Any, episode: Any) -> Any:
    """Calls a baseline.

    Returns:
        Float tensor of rank 2 or 3, which broadcasts over samples and words.

    Raises:
        ValueError: If it gives neither a number nor a tensor of such a rank.
    """
    expected = ops.convert_to_tensor(baseline(rewards, episode))
    rank = len(expected.shape)
    if rank not in (0, 2, 3):
        raise ValueError(
            "`baseline` must return a number, or numbers of shape (B, 1), "
            "(B, S) or (B, S, T), for rewards of shape "
            f"{tuple(rewards.shape)}. Received: numbers of shape "
            f"{tuple(expected.shape)}. Give one for each row as `x[:, None]`."
        )
    return ops.reshape(expected, (1, 1)) if rank == 0 else expected


def as_baseline(baseline: Baseline | Callable | None) -> Baseline | None:
    """Makes a `Baseline` of a function; leaves one, and `None`, as it is."""
    return _as(baseline, Baseline, _FunctionBaseline, "baseline")


def as_credit(credit: Credit | Callable | None) -> Credit | None:
    """Makes a `Credit` of a function; leaves one, and `None`, as it is."""
    return _as(credit, Credit, _FunctionCredit, "credit")


def _as(value, protocol, adapter, name):
    if value is None or isinstance(value, protocol):
        return value
    # A part of the methods alone would be left uncalled.
    known = ("layers", "decoders", "check", "losses", "prefixes", "skips")
    partly = [method for method in known if hasattr(value, method)]
    if isinstance(value, type) or not callable(value) or partly:
        raise TypeError(
            f"`{name}` must be a function or a "
            f"`tfcap.objectives.{protocol.__name__}`. Received: "
            f"{name}={value!r}. Inherit from that class."
        )
    return adapter(value)


class _FunctionBaseline(Baseline):
    def __init__(self, function):
        self.function = function

    def __call__(self, rewards, episode):
        return self.function(rewards, episode)


class _FunctionCredit(Credit):
    def __init__(self, function):
        self.function = function

    def __eq__(self, other):
        # One function may be given twice.
        alike = isinstance(other, _FunctionCredit)
        return alike and self.function == other.function

    def __hash__(self):
        return hash(self.function)

    def __call__(self, rewards, episode, reward, decoder):
        return self.function(rewards, episode, reward, decoder)
