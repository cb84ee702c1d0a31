"""The rows of a paper, and how an experiment trains and evaluates them."""

import inspect
import os
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import NamedTuple


class Training(NamedTuple):
    """One row, ready to be trained.

    Args:
        rates: Dict of learning rates by the name of a learner.
        networks: Dict of networks to keep, by role.
        prepare: Function without arguments that is called before the fit, such
            as one that loads a fitted baseline; or `None`.
    """

    model: Any
    rates: Mapping
    networks: Mapping
    batches: Any
    epochs: int
    callbacks: Any = ()
    prepare: Callable | None = None


@dataclass(frozen=True)
class Paper:
    """A paper: its rows, and how each is trained and evaluated.

    Args:
        name: String, how commands call it.
        settings: Dict of settings by the name of the data.
        rows: Dict by the name of a row of its tables, as records name it.
        starts: Dict of the phase of pretraining by the name of a row that is
            evaluated as that phase leaves it.
        phases: Dict of functions of an `Experiment` that pretrain, by the name
            under which it keeps the networks they return.
        train: Function of an `Experiment`, a row and a point that returns a
            `Training`.
        heard: Function of an `Experiment`, a row and a point that returns a
            speaker, its listener or `None`, and a dict of other listeners.
        axes: Dict of the rows that a number moves, by the name of the number.
        default: Sequence of rows that the command trains by default.
        decodings: Function of an `Experiment` that returns decoders by what
            stands before the names of their scores, `""` first. Defaults to
            greedy decoding alone.
        usual: Dict of the default values of an axis, by its name.
        seeds: Dict of the default seeds by the name of the data; for other
            data, seed 0.
        results: Dict of options of `tables` by folder of a sweep whose tables
            the paper's page shows.
        folder: String, in which an experiment keeps its rows.
        abbreviations: Dict of names of numbers as they are in that folder.
        human: Dict by the name of a row of human captions: the row whose
            listener evaluates them.
        more: Function of an `Experiment`, a folder's name, a speaker or `None`
            and names of metrics that returns further scores of a point; with
            `None`, of what is kept of it. Or `None`.
        left: Function of an `Experiment` and a phase that returns the phase
            whose networks it leaves, where settings may skip one.
        tables: Function of records and what they were found on that returns
            the paper's tables.
        draw: Function of a path, records and what they were found on that
            draws the paper's figure. Or `None`.
        compare: Function of a folder that writes titles and published results
            for the Trade-off tab of TensorBoard. Or `None`.
    """

    name: str
    settings: Mapping
    rows: Mapping
    starts: Mapping
    phases: Mapping
    train: Callable
    heard: Callable
    axes: Mapping
    default: tuple
    decodings: Callable = lambda experiment: {"": experiment.greedy}
    usual: Mapping = field(default_factory=dict)
    seeds: Mapping = field(default_factory=dict)
    results: Mapping = field(default_factory=dict)
    folder: str = "rows"
    abbreviations: Mapping = field(default_factory=dict)
    human: Mapping = field(default_factory=dict)
    more: Callable | None = None
    left: Callable = lambda experiment, phase: phase
    tables: Callable | None = None
    draw: Callable | None = None
    compare: Callable | None = None

    def known(self):
        """Names of all rows, in the order of tables."""
        return list(dict.fromkeys([*self.starts, *self.rows, *self.human]))

    def place(self, row, point):
        """The folder of a point, within the experiment's."""
        if row in self.phases:
            return row
        names = self.abbreviations
        parts = [f"{names.get(k, k)}_{v:g}" for k, v in point.items()]
        return os.path.join(self.folder, "_".join([row, *parts]))

    def grid(self, rows, seeds=None, **axes) -> list[dict]:
        """The grid of a sweep, seed by seed.

        Args:
            seeds: Iterable of integers. Defaults to `None`, seed 0 alone.
            **axes: Iterables of floats by the name of a number, `lambda_` for
                lambda: rows that it
                moves get a point for each, the others are as they are. None,
                and the number is that of the settings. A row of human captions
                has the first alone.
        """
        rows, known = list(rows), self.known()
        axes = {name.rstrip("_"): values for name, values in axes.items()}
        for row in rows:
            if row not in known:
                raise ValueError(
                    f"`methods` must be among {', '.join(known)}. Received: "
                    f"{row!r}."
                )
        unknown = [name for name in axes if name not in self.axes]
        if unknown:
            raise ValueError(
                f"`axes` must be among {', '.join(self.axes)}. Received: "
                f"{unknown[0]!r}, which moves no row of {self.name}."
            )
        grid = []
        for seed in (0,) if seeds is None else seeds:
            for row in rows:
                first = 1 if row in self.human else None
                moved = {
                    name: list(axes[name])[:first]
                    for name, movable in self.axes.items()
                    if axes.get(name) and row in movable
                }
                grid.append({"method": row, "seed": seed, **moved})
        return grid


def build(row, networks, numbers, about=None):
    """The model of a row.

    Args:
        row: Dict with the `"method"`, a function of `tfcap.methods`, and what
            sets the row apart: arguments by their names. One that depends on
            the settings is a function of `about`. `"unread"` names those of
            `numbers` that the method does not read, so chosen.
        numbers: Dict of arguments that all rows of a paper share. Those that
            the method does not know are left out.

    Example:

    >>> from reproduce.paper import build
    >>> def method(speaker, *, rho=0.25, seed=None):
    ...     return speaker, rho, seed
    >>> row = {"method": method, "rho": lambda about: 1 - about}
    >>> build(row, ["speaker"], {"seed": 3, "margin": 0.2}, about=0.25)
    ('speaker', 0.75, 3)
    """
    method, unread = row["method"], row.get("unread", ())
    known = inspect.signature(method).parameters.keys() - {*unread}
    shared = {k: v for k, v in numbers.items() if k in known}
    own = {
        name: value(about) if callable(value) else value
        for name, value in row.items()
        if name not in ("method", "unread")
    }
    return method(*networks, **shared | own)
