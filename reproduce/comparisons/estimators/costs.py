"""CPU time of a gradient by every estimator."""

import time
from dataclasses import replace

import numpy as np

from reproduce.comparisons.estimators.registry import ESTIMATORS
from reproduce.comparisons.estimators.registry import Setting
from reproduce.comparisons.estimators.small_world import SharedSpeaker
from reproduce.comparisons.estimators.small_world import World
from tfcap.objectives import Episode

ROWS, UNITS = 32, 64
#: Sizes of the batch whose gradient is taken.
WORDS, SETTING = 5000, Setting(length=4, samples=2, draws=10)


def add_costs(record: dict, rounds: int = 15) -> bool:
    """Adds CPU seconds of a gradient, over those of straight-through.

    In a graph, for 64 captions of 4 words from a vocabulary of 5,000, by a
    speaker without a recurrence, so that the estimator dominates the cost.

    Returns:
        Boolean, whether something was missing.
    """
    costs = record["costs"]
    missing = [name for name in ESTIMATORS if name not in costs]
    if missing:
        costs |= times(["straight-through", *missing], rounds)
    return bool(missing)


def times(names: list[str], rounds: int) -> dict[str, float]:
    """CPU seconds of steps over those of the first.

    Medians over rounds of all, so that a slowdown of the machine affects all.
    """
    steps = [_step(name) for name in names]

    def seconds(step):
        start = time.process_time()
        step()
        return time.process_time() - start

    found = np.array([[seconds(step) for step in steps] for _ in range(rounds)])
    return dict(zip(names, np.median(found / found[:, :1], axis=0).tolist()))


def _step(name):
    """A function that computes a gradient, traced."""
    import tensorflow as tf

    world = World(words=WORDS, length=SETTING.length)
    size, rng = world.vocabulary_size, np.random.default_rng(0)

    def drawn(*shape):
        return tf.constant(rng.normal(size=shape).astype("float32"))

    factors = [drawn(size, UNITS), drawn(UNITS, size)]
    inputs = {
        "rows": tf.zeros((ROWS, 1)),
        "embedding": drawn(size, UNITS),
        "recurrent": drawn(UNITS, UNITS),
        "worth": drawn(UNITS, 1),
    }
    objective = ESTIMATORS[name].make(replace(SETTING, size=size))
    speaker = SharedSpeaker(world, *factors)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            tape.watch(factors)
            loss, _ = objective.loss(Episode(speaker, inputs))
        return tape.gradient(loss, factors)

    step()
    return step
