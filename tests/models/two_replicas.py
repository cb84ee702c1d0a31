"""Caption speakers trained on two replicas end in the weights of one.

Run by `tests/two_replicas.py`.
"""

import contextlib

import keras
import numpy as np
import tensorflow as tf

from tests import speakers
from tests.eager import run_eagerly
from tfcap.models.transformer_speaker import TransformerBlock
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining


# Not Adam: where a gradient is 0 but for float error, it steps all the same.
def train(kind):
    speaker = speakers.speaker(kind)
    model = JointTraining(speaker, TeacherForcing("token"))
    model.compile(keras.optimizers.SGD(0.1))
    batch = speakers.batch(images=8, length=4)
    data = tf.data.Dataset.from_tensor_slices(batch)
    model.fit(data.batch(4), shuffle=False, verbose=0)
    return speaker.get_weights()


def masks(strategy):
    """Zeros of a transformer block's dropout on every replica."""
    with strategy.scope():
        block = TransformerBlock(8, 2, 16, dropout=0.5)
        block.build((None, None, 8))
    ones = tf.ones((1, 3, 8))
    graph = tf.function(
        lambda: strategy.run(lambda: block.drop(ones, True)), autograph=False
    )
    return [np.array(x) for x in strategy.experimental_local_results(graph())]


def check_all(strategy):
    one, other = masks(strategy)
    if (one == other).all():
        raise SystemExit("transformer block: one mask for all replicas")
    for kind, mode in (
        ("show_tell_every_step", contextlib.nullcontext),
        ("up_down", run_eagerly),
        ("transformer", run_eagerly),
    ):
        keras.utils.set_random_seed(1)
        with run_eagerly():
            expected = train(kind)
        keras.utils.set_random_seed(1)
        with strategy.scope(), mode():
            found = train(kind)
        gap = max(np.abs(a - b).max() for a, b in zip(expected, found))
        print(f"{kind}: largest difference of a weight {gap:.1e}")
        if not gap < 2e-6:
            raise SystemExit(f"{kind}: weights differ by {gap}")
