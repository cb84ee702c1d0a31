"""Bias and variance of estimators in the small world."""

from dataclasses import replace

import keras
import numpy as np

from reproduce.comparisons.estimators.registry import ESTIMATORS
from reproduce.comparisons.estimators.registry import Setting
from reproduce.comparisons.estimators.small_world import Heard
from reproduce.comparisons.estimators.small_world import RowSpeaker
from reproduce.comparisons.estimators.small_world import World
from tfcap._ops import sequence_mask
from tfcap.curves import mean_interval
from tfcap.decoding import Rollout
from tfcap.objectives import Episode

#: Steps in which critics learn.
CRITIC_STEPS = 60


def exact_gradients(world: World) -> np.ndarray:
    """Gradients of the expected rewards, `(seeds, V * V)`.

    By the sum over all captions, without sampling.
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
    """Trains the critic of an estimator, if it has one."""
    import tensorflow as tf

    layers = objective.layers()[1:]
    variables = [v for layer in layers for v in layer.trainable_variables]
    inputs = {k: tf.constant(x) for k, x in world.inputs(rows).items()}
    optimizer = keras.optimizers.Adam(0.2)
    optimizer.build(variables)

    def step():
        with tf.GradientTape() as tape:
            loss, _ = objective.loss(Episode(speaker, inputs, training=True))
        if variables:
            slopes = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(slopes, variables))

    if variables:
        # Layers make their variables at once, not in the graph.
        step()
        step = tf.function(step, autograph=False)
    for _ in range(CRITIC_STEPS if variables else len(layers)):
        step()


def errors(found: np.ndarray, exact: np.ndarray) -> dict:
    """Bias and deviation of estimates, relative to the exact gradient.

    ```
    bias = |E g - g*| / |g*|,  deviation = sqrt(trace of Cov g) / |g*|
    cosine = E g . g* / |E g| |g*|
    correlation = E g . g* / sqrt(E |g| ** 2) |g*|
    ```

    The last two do not depend on the scale of estimates, which a learning rate
    sets. The cosine is 1 if the bias is one of scale alone. The correlation
    combines bias and deviation: the error at the best scale is
    `sqrt(1 - correlation ** 2)`.

    Args:
        found: Float array of shape `(seeds, rows, P)`.
        exact: Float array of shape `(seeds, P)`.

    Returns:
        Dict of these, each a mean over seeds with its 95 % interval. The
        squares of the bias and of the mean's norm are corrected for the noise
        of the mean. `"seeds"` has the values of each seed, for paired
        comparisons.
    """
    size = np.linalg.norm(exact, axis=-1)
    variance = found.var(axis=1, ddof=1).sum(-1)
    noise = variance / found.shape[1]
    mean = found.mean(axis=1)
    bias = np.square(mean - exact).sum(-1) - noise
    # Of an estimator without bias, this is below 0 as often as above.
    bias = np.sqrt(np.maximum(bias, 0))
    along = (mean * exact).sum(-1) / size
    # Noise may make what is along longer than the whole.
    length = np.maximum(np.square(mean).sum(-1) - noise, np.square(along))
    values = {
        "bias": bias / size,
        "deviation": np.sqrt(variance) / size,
        "cosine": along / np.sqrt(length + 1e-24),
        "correlation": along / np.sqrt(length + variance + 1e-24),
    }
    means = {name: list(mean_interval(x)) for name, x in values.items()}
    each = {name: [round(y, 6) for y in x] for name, x in values.items()}
    return {**means, "seeds": each}


def measured(
    name: str, world: World, setting: Setting, rows: int, exact: np.ndarray
) -> dict:
    """`errors()` of an estimator in a world."""
    setting = replace(
        setting,
        length=world.length,
        ends=world.ends,
        size=world.vocabulary_size,
        state_units=world.state_units,
    )
    return errors(estimates(name, world, setting, rows), exact)
