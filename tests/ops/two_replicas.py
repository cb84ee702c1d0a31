"""The replica operations on two replicas, rows and masks spread unevenly.

Run by `tests/two_replicas.py`.
"""

import keras
import numpy as np
import tensorflow as tf

from tfcap._ops import SeedGenerator
from tfcap._ops import gather_across_replicas
from tfcap._ops import mean_over_replicas
from tfcap._ops import num_replicas
from tfcap._ops import rows_across_replicas
from tfcap._ops import sum_over_replicas

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(4, 3)).astype("float32")
MASK = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 1, 0]])
HALVES = (slice(0, 2), slice(2, 4))


def run(strategy, function, *values, rows=HALVES):
    """What a function returns on either replica, inside a graph."""

    def spread(array):
        parts = [tf.constant(array[part]) for part in rows]
        return strategy.experimental_distribute_values_from_function(
            lambda context: parts[context.replica_id_in_sync_group]
        )

    graph = tf.function(
        lambda *x: strategy.run(function, args=x), autograph=False
    )
    found = strategy.experimental_local_results(graph(*map(spread, values)))
    return [keras.tree.map_structure(np.asarray, x) for x in found]


def gather(strategy):
    """Rows receive the gradient of every replica."""
    weights = RNG.normal(size=(2, 4, 3)).astype("float32")

    def function(x):
        w = tf.gather(weights, tf.cast(x[0, 0] == VALUES[2, 0], "int32"))
        with tf.GradientTape() as tape:
            tape.watch(x)
            every = gather_across_replicas(x)
            loss = tf.reduce_sum(every**2 * w)
        return every, tape.gradient(loss, x)

    expected = 2 * VALUES * weights.sum(0)
    for part, (every, found) in zip(HALVES, run(strategy, function, VALUES)):
        np.testing.assert_array_equal(every, VALUES)
        np.testing.assert_allclose(found, expected[part], rtol=1e-5, atol=1e-6)


def places(strategy):
    """Every row knows where it stands among those of all replicas."""
    for rows in (HALVES, (slice(0, 3), slice(3, 4))):

        def function(x):
            return tf.gather(gather_across_replicas(x), rows_across_replicas(x))

        found = run(strategy, function, VALUES, rows=rows)
        for part, values in zip(rows, found):
            np.testing.assert_array_equal(values, VALUES[part])


def other_dtypes(strategy):
    """What the collectives do not take travels as something else."""
    for dtype in ("bfloat16", "float16", "bool", "int32"):

        def function(x, dtype=dtype):
            every = gather_across_replicas(tf.cast(x, dtype))
            assert_(every.dtype == dtype, f"{every.dtype} for {dtype}")
            return tf.cast(every, "float32")

        for found in run(strategy, function, VALUES):
            expected = tf.cast(tf.cast(VALUES, dtype), "float32")
            np.testing.assert_array_equal(found, expected)
    for dtype in ("bfloat16", "float16"):

        def mean(x, m, dtype=dtype):
            return tf.cast(mean_over_replicas(tf.cast(x, dtype), m), "float32")

        found = run(strategy, mean, VALUES, MASK)
        np.testing.assert_allclose(
            sum(found), VALUES[MASK > 0].mean(), atol=0.01
        )


def means(strategy):
    """Shares add up to the mean, however masks and rows are spread."""
    hidden = np.where(MASK, VALUES, np.float32(np.inf))
    found = run(strategy, mean_over_replicas, hidden, MASK)
    np.testing.assert_allclose(
        sum(found), VALUES[MASK > 0].mean(), rtol=1e-5, atol=1e-6
    )
    found = run(strategy, mean_over_replicas, VALUES, 0 * MASK)
    np.testing.assert_array_equal(found, [0, 0])
    for rows in (HALVES, (slice(0, 3), slice(3, 4))):
        found = run(strategy, mean_over_replicas, VALUES, rows=rows)
        np.testing.assert_allclose(
            sum(found), VALUES.mean(), rtol=1e-5, atol=1e-6
        )
    for found in run(strategy, sum_over_replicas, VALUES):
        np.testing.assert_allclose(
            found, VALUES[:2] + VALUES[2:], rtol=1e-6, atol=1e-6
        )


def seeds(strategy):
    """Streams differ on replicas; outside they are Keras' own."""
    alone, keras_own = SeedGenerator(7), keras.random.SeedGenerator(7)
    for _ in range(3):
        np.testing.assert_array_equal(alone.next(), keras_own.next())
    with strategy.scope():
        generator = SeedGenerator(7)

    def function(x):
        shape = (1000,)
        return [keras.random.uniform(shape, seed=generator) for _ in range(2)]

    first, second = run(strategy, function, VALUES)
    draws = np.stack([*first, *second])
    near = np.abs(np.corrcoef(draws) - np.eye(4))
    assert_(near.max() < 0.15, f"streams resemble each other: {near}")


def assert_(truth, message):
    if not truth:
        raise SystemExit(message)


def check_all(strategy):
    assert_(num_replicas() == 1, "replicas outside a strategy")
    count = run(strategy, lambda x: x[0, 0] * 0 + num_replicas(), VALUES)
    assert_([*map(int, count)] == [2, 2], f"replicas in a strategy: {count}")
    for check in (gather, places, other_dtypes, means, seeds):
        check(strategy)
        print(check.__name__)
