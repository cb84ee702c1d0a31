"""PSST on two replicas ends in the weights of one.

Run by `tests/two_replicas.py`.
"""

import keras
import numpy as np
import tensorflow as tf

from tests.eager import run_eagerly
from tests.methods import stranger
from tfcap import methods
from tfcap.layers import WordChannel
from tfcap.rewards import CIDErD


def rho(step):
    """Above a draw in the first steps, and below it in the last."""
    return 1.0 / (1.0 + 0.4 * step)


def train():
    speaker, listener = stranger.speaker(), stranger.listener()
    training = methods.psst(
        speaker,
        listener,
        lambda_=0.5,
        naturalness=CIDErD(stranger.frequencies(), jit_compile=False),
        rho=rho,
        max_length=2,
        global_clipnorm=0.5,
    )
    training.compile({k: keras.optimizers.SGD(0.1) for k in training.learners})
    # The last batch is of two rows.
    data = tf.data.Dataset.from_tensor_slices(stranger.batch(10)).batch(4)
    history = training.fit(data, epochs=2, shuffle=False, verbose=0).history
    (channel,) = training.scheduled()
    told = [history["rho"], [int(keras.ops.convert_to_numpy(channel.step))]]
    return [*speaker.get_weights(), *listener.get_weights(), *told]


def check_all(strategy):
    # Draws are those of a replica: here all are the same.
    uniform = WordChannel.uniform
    WordChannel.uniform = lambda self, shape, minval=0.0: keras.ops.full(
        shape, 0.5
    )
    try:
        with run_eagerly():
            wanted = train()
        with strategy.scope():
            found = train()
    finally:
        WordChannel.uniform = uniform
    for one, two in zip(wanted, found, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(found[-1], [6.0])
    np.testing.assert_allclose(found[-2], [rho(2), rho(5)], rtol=1e-6)
