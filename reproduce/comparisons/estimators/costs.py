"""CPU time of a gradient by every estimator, and how it grows with sizes."""

import functools
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reproduce.comparisons.estimators.axes import AXES
from reproduce.comparisons.estimators.registry import ESTIMATORS
from reproduce.comparisons.estimators.registry import Setting
from reproduce.comparisons.estimators.small_world import SharedSpeaker
from reproduce.comparisons.estimators.small_world import World
from tfcap.objectives import Episode

ROWS, UNITS = 32, 64
#: Sizes, one of which is moved at a time.
GROWN = {
    "words": (1000, 5000, 20000),
    "length": (4, 16),
    "samples": (2, 4, 8),
    "draws": (1, 4, 16),
}


class Job(NamedTuple):
    """A step whose time is measured: an estimator, and sizes."""

    name: str
    words: int = 5000
    length: int = 4
    samples: int = 2
    draws: int = 10


def costs(chosen: Sequence[str], rounds: int = 15) -> dict[str, float]:
    """CPU seconds of a gradient, over those of the first, by name.

    In a graph, of 64 captions of 4 words from a vocabulary of 5,000, by a
    speaker without a recurrence: what is left is what estimators differ in.
    """
    return dict(zip(chosen, times([Job(name) for name in chosen], rounds)))


def missing_of(grown: dict, chosen: Sequence[str]) -> dict[str, list[str]]:
    """Names by size, of estimators that the figure shows and `grown` lacks."""
    lacking = {
        size: [
            name
            for name in AXES[size].shown
            if name in chosen and name not in grown.get(size, {})
        ]
        for size in GROWN
    }
    return {size: names for size, names in lacking.items() if names}


def grown_costs(asked: dict, rounds: int = 15) -> dict[str, dict]:
    """`costs()` as sizes grow, over those of straight-through as it is there.

    Args:
        asked: Dict of lists of names, by the size that is moved.

    Returns:
        Dict of dicts, by size and by name, of lists of `"value"` and `"cost"`.
    """
    places = [
        (size, name, value)
        for size, names in asked.items()
        for name in names
        for value in GROWN[size]
    ]
    jobs = [Job(name, **{size: value}) for size, name, value in places]
    # What several sizes share is measured once.
    each = list(dict.fromkeys([Job("straight-through"), *jobs]))
    found = dict(zip(each, times(each, rounds)))
    grown = {size: {name: [] for name in asked[size]} for size in asked}
    for (size, name, value), job in zip(places, jobs):
        grown[size][name].append({"value": value, "cost": found[job]})
    return grown


def times(jobs: Sequence[Job], rounds: int) -> list[float]:
    """CPU seconds of steps over those of the first.

    Medians over rounds of all, so that a machine that slows down slows all.
    """
    steps = [_step(job) for job in jobs]

    def seconds(step):
        start = time.process_time()
        step()
        return time.process_time() - start

    found = np.array([[seconds(step) for step in steps] for _ in range(rounds)])
    return np.median(found / found[:, :1], axis=0).tolist()


@functools.cache
def _inputs(words):
    """A speaker's factors, and a batch, for a vocabulary."""
    import tensorflow as tf

    rng = np.random.default_rng(0)
    size = World(words=words).vocabulary_size

    def drawn(*shape):
        return tf.constant(rng.normal(size=shape).astype("float32"))

    factors = [drawn(size, UNITS), drawn(UNITS, size)]
    return factors, {
        "rows": tf.zeros((ROWS, 1)),
        "embedding": drawn(size, UNITS),
        "recurrent": drawn(UNITS, UNITS),
        "worth": drawn(UNITS, 1),
    }


def _step(job):
    """A function that computes a gradient, traced."""
    import tensorflow as tf

    world = World(words=job.words, length=job.length, seeds=1)
    objective = ESTIMATORS[job.name].make(
        Setting(
            length=job.length,
            samples=job.samples,
            draws=job.draws,
            size=world.vocabulary_size,
        )
    )
    factors, inputs = _inputs(job.words)
    speaker = SharedSpeaker(world, *factors)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            tape.watch(factors)
            loss, _ = objective.loss(Episode(speaker, inputs))
        return tape.gradient(loss, factors)

    step()
    return step
