"""CPU time of a gradient by every estimator, and how it grows with sizes."""

import functools
import time
from typing import NamedTuple

import numpy as np

from reproduce.comparisons.estimators.registry import AXES
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


def add_costs(record: dict, rounds: int = 15) -> bool:
    """Adds CPU seconds of a gradient, over those of straight-through.

    In a graph, of 64 captions of 4 words from a vocabulary of 5,000, by a
    speaker without a recurrence: what is left is what estimators differ in.
    Of the estimators that the figure shows along a size also as it grows.

    Returns:
        Boolean, whether something was missing.
    """
    costs, grown = record["costs"], record.setdefault("grown", {})
    alone = {name: Job(name) for name in ESTIMATORS if name not in costs}
    along = {
        (size, name): [Job(name, **{size: value}) for value in values]
        for size, values in GROWN.items()
        for name in AXES[size].shown
        if name not in grown.get(size, {})
    }
    # What several sizes share is measured once.
    jobs = [*alone.values(), *(job for line in along.values() for job in line)]
    first = Job("straight-through")
    found = times(list(dict.fromkeys([first, *jobs])), rounds) if jobs else {}
    costs.update({name: found[job] for name, job in alone.items()})
    for (size, name), line in along.items():
        grown.setdefault(size, {})[name] = [
            {"value": getattr(job, size), "cost": found[job]} for job in line
        ]
    return bool(jobs)


def times(jobs: list[Job], rounds: int) -> dict[Job, float]:
    """CPU seconds of steps over those of the first.

    Medians over rounds of all, so that a machine that slows down slows all.
    """
    steps = [_step(job) for job in jobs]

    def seconds(step):
        start = time.process_time()
        step()
        return time.process_time() - start

    found = np.array([[seconds(step) for step in steps] for _ in range(rounds)])
    return dict(zip(jobs, np.median(found / found[:, :1], axis=0).tolist()))


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
