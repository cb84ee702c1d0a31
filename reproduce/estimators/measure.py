"""Bias, variance and cost of estimators in the small world."""

import time
from dataclasses import replace
from typing import Any

import keras
import numpy as np

from reproduce.estimators.registry import ESTIMATORS
from reproduce.estimators.registry import Setting
from reproduce.estimators.small_world import Heard
from reproduce.estimators.small_world import RowSpeaker
from reproduce.estimators.small_world import SharedSpeaker
from reproduce.estimators.small_world import World
from tfcap.curves import mean_interval
from tfcap.decoding import Rollout
from tfcap.objectives import Episode
from tfcap.ops import sequence_mask

#: Words, captions and their number in the step whose cost is measured.
COST_WORLD = World(words=5000, length=4, seeds=1)
COST_ROWS, COST_UNITS = 32, 64
#: Steps in which critics learn.
CRITIC_STEPS = 60


def exact_gradients(world: World) -> np.ndarray:
    """Gradients of the expected rewards, `(seeds, V * V)`.

    By the sum over all captions; no estimate is in them.
    """
    import tensorflow as tf

    captions = world.captions()
    tokens = np.repeat(captions[None], world.seeds, axis=0)
    inputs = world.inputs()
    inputs["table"] = tf.constant(inputs["table"])
    speaker = RowSpeaker(world)
    mask = sequence_mask(tokens, speaker.eos)
    with tf.GradientTape() as tape:
        tape.watch(inputs["table"])
        episode = Episode(speaker, inputs)
        scores = speaker.log_probs(episode.state, tokens)
        chances = tf.exp(tf.reduce_sum(scores, axis=-1))
        rewards = Heard()(Rollout(tokens, mask), episode)
        value = tf.reduce_sum(chances * rewards)
    np.testing.assert_allclose(tf.reduce_sum(chances, axis=-1), 1, rtol=1e-4)
    slopes = tape.gradient(value, inputs["table"])
    return np.reshape(slopes, (world.seeds, -1)).astype("float64")


def estimates(
    name: str, world: World, setting: Setting, rows: int
) -> np.ndarray:
    """Independent estimates of these gradients, `(seeds, rows, V * V)`."""
    import tensorflow as tf

    objective = ESTIMATORS[name].make(setting)
    speaker = RowSpeaker(world)
    _train_critic(objective, speaker, world)
    inputs = world.inputs(rows)
    inputs["table"] = tf.constant(inputs["table"])
    with tf.GradientTape() as tape:
        tape.watch(inputs["table"])
        loss, _ = objective.loss(Episode(speaker, inputs, training=True))
    slopes = tape.gradient(loss, inputs["table"])
    # A loss is a mean over rows; of each it has a share.
    slopes = -np.asarray(slopes, "float64") * world.seeds * rows
    return slopes.reshape((world.seeds, rows, -1))


def _train_critic(objective, speaker, world, rows=100):
    """Trains what an estimator learns beside the speaker, if anything."""
    import tensorflow as tf

    layers = objective.layers()[1:]
    variables = [v for layer in layers for v in layer.trainable_variables]
    optimizer = keras.optimizers.Adam(0.2)
    for _ in range(CRITIC_STEPS if variables else len(layers)):
        with tf.GradientTape() as tape:
            episode = Episode(speaker, world.inputs(rows), training=True)
            loss, _ = objective.loss(episode)
        slopes = tape.gradient(loss, variables)
        if variables:
            optimizer.apply_gradients(zip(slopes, variables))


def errors(found: np.ndarray, exact: np.ndarray) -> dict:
    """Bias and deviation of estimates, relative to the exact gradient.

    ```
    bias = |E g - g*| / |g*|,  deviation = sqrt(trace of Cov g) / |g*|
    ```

    Args:
        found: Float array of shape `(seeds, rows, P)`.
        exact: Float array of shape `(seeds, P)`.

    Returns:
        Dict of `"bias"`, `"deviation"` and `"error"`, the root of the sum of
        their squares: each a mean over seeds with its 95 % interval. Of the
        square of the bias, what the noise of the mean adds to it is taken
        off; `"floor"` is the root of that, the mean over seeds. `"seeds"` has
        the values of each seed, to be compared in pairs.
    """
    size = np.linalg.norm(exact, axis=-1)
    variance = found.var(axis=1, ddof=1).sum(-1)
    noise = variance / found.shape[1]
    gap = np.square(found.mean(axis=1) - exact).sum(-1)
    bias = np.sqrt(np.maximum(gap - noise, 0))
    values = {
        "bias": bias / size,
        "deviation": np.sqrt(variance) / size,
        "error": np.sqrt(np.square(bias) + variance) / size,
    }
    means = {name: list(mean_interval(x)) for name, x in values.items()}
    each = {name: [round(y, 6) for y in x] for name, x in values.items()}
    floor = float(np.mean(np.sqrt(noise) / size))
    return {**means, "floor": floor, "seeds": each}


def measured(
    name: str, world: World, setting: Setting, rows: int, exact: Any = None
) -> dict:
    """`errors()` of an estimator in a world."""
    setting = replace(
        setting,
        length=world.length,
        ends=world.ends,
        size=world.vocabulary_size,
        state_units=world.state_units,
    )
    entry = ESTIMATORS[name]
    if setting.samples < entry.least:
        raise ValueError(
            f"`samples` must be {entry.least} or more for {name!r}. Received: "
            f"samples={setting.samples}."
        )
    exact = exact_gradients(world) if exact is None else exact
    return errors(estimates(name, world, setting, rows), exact)


def costs(chosen: list[str], rounds: int = 15) -> dict[str, float]:
    """CPU seconds of a gradient, over those of the first, by name.

    In a graph, of 64 captions of 4 words from a vocabulary of 5,000, by a
    speaker without a recurrence: what is left is what estimators differ in.
    Medians over rounds of all, so that a machine that slows down slows all.
    """
    import tensorflow as tf

    world, size = COST_WORLD, COST_WORLD.vocabulary_size
    setting = Setting(length=world.length, size=size)
    rng = np.random.default_rng(0)

    def drawn(*shape):
        return tf.constant(rng.normal(size=shape).astype("float32"))

    factors = [drawn(size, COST_UNITS), drawn(COST_UNITS, size)]
    speaker = SharedSpeaker(world, *factors)
    inputs = {
        "rows": tf.zeros((COST_ROWS, 1)),
        "embedding": drawn(size, COST_UNITS),
        "recurrent": drawn(COST_UNITS, COST_UNITS),
        "worth": drawn(COST_UNITS, 1),
    }

    def step_of(objective):
        @tf.function(autograph=False)
        def step():
            with tf.GradientTape() as tape:
                tape.watch(factors)
                loss, _ = objective.loss(Episode(speaker, inputs))
            return tape.gradient(loss, factors)

        step()
        return step

    steps = {name: step_of(ESTIMATORS[name].make(setting)) for name in chosen}

    def seconds(step):
        start = time.process_time()
        step()
        return time.process_time() - start

    measured = [
        [seconds(step) for step in steps.values()] for _ in range(rounds)
    ]
    ratios = np.array(measured) / np.array(measured)[:, :1]
    return dict(zip(steps, np.median(ratios, axis=0).tolist()))
