"""Training on two replicas ends in the weights of one.

Run by a test as a process of its own; exits with 0 if all is well.
"""

import keras
import numpy as np
import tensorflow as tf

from tests import dialogs
from tfcap.decoding import Sample
from tfcap.layers import WordChannel
from tfcap.losses import NPairLoss
from tfcap.objectives import Pathwise
from tfcap.objectives import Supervised
from tfcap.objectives import TeacherForcing
from tfcap.recipes.visdial_players import rank_with_fakes
from tfcap.rewards import DialogScore
from tfcap.training import Game
from tfcap.training import ObjectiveModel
from tfcap.training import Player

STEPS = 3


# Not Adam: where a gradient is 0 but for float error, it steps all the same.
def fit(model, **negatives):
    batches = dialogs.batches(**negatives)
    model.fit(
        batches.dataset(epochs=2),
        steps_per_epoch=STEPS,
        shuffle=False,
        verbose=0,
    )


class Whole(WordChannel):
    """Passes whole distributions, and ends without chance."""

    def draw(self, logits):
        words = keras.ops.softmax(logits, axis=-1)
        return words, keras.ops.argmax(logits, axis=-1)


def perceptual(discriminator):
    sample = Sample(Whole(), max_length=3, feedback="relaxed")
    return 10.0 * Pathwise(DialogScore(discriminator), sample), sample


def one_objective():
    generator, discriminator = dialogs.generator(), dialogs.discriminator()
    discriminator.trainable = False
    objective = perceptual(discriminator)[0] + 0.5 * TeacherForcing("token")
    model = ObjectiveModel(
        objective, generator, {"d": discriminator}, global_clipnorm=0.5
    )
    model.compile(keras.optimizers.SGD(0.1))
    fit(model)
    return generator.get_weights()


def supervised():
    discriminator = dialogs.discriminator()
    discriminator.compile(
        keras.optimizers.SGD(0.1), loss=NPairLoss(), jit_compile=False
    )
    fit(discriminator, negatives=3, in_batch_negatives=2)
    return discriminator.get_weights()


def game():
    generator, discriminator = dialogs.generator(), dialogs.discriminator()
    term, sample = perceptual(discriminator)
    fakes = Supervised(rank_with_fakes(discriminator, sample), "n", (sample,))
    model = Game(
        generator,
        {
            "g": Player(generator, term, keras.optimizers.SGD(0.1), 0.5),
            "d": Player(discriminator, fakes, keras.optimizers.SGD(0.1)),
        },
    )
    model.compile()
    fit(model, negatives=3)
    return generator.get_weights() + discriminator.get_weights()


def compare(train, strategy):
    keras.utils.set_random_seed(1)
    expected = train()
    keras.utils.set_random_seed(1)
    with strategy.scope():
        found = train()
    gap = max(np.abs(a - b).max() for a, b in zip(expected, found))
    print(f"{train.__name__}: largest difference of a weight {gap:.1e}")
    if not gap < 2e-6:
        raise SystemExit(f"{train.__name__}: weights differ by {gap}")


if __name__ == "__main__":
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
    # One strategy a process: the collectives of two would mix.
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for train in (one_objective, supervised, game):
        compare(train, strategy)
