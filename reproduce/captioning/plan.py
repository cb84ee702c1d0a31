"""What a row is to train."""

from typing import Any
from typing import NamedTuple


class Partner(NamedTuple):
    """Who learns beside a speaker.

    Args:
        network: `keras.Model`.
        objective: `tfcap.objectives.Objective`.
        rate: Float, learning rate.
    """

    network: Any
    objective: Any
    rate: float


class Plan(NamedTuple):
    """What a row is to train.

    Args:
        objective: `tfcap.objectives.Objective` of the speaker.
        partners: Dict of `Partner` by name.
        callbacks: List of `keras.callbacks.Callback`.
        fit_first: Boolean, whether partners learn alone before.
    """

    objective: Any
    partners: Any = {}
    callbacks: Any = ()
    fit_first: bool = False
