"""Schedules where variables are handed over, as on JAX."""

import keras
import numpy as np
import pytest
from keras import ops

from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST

CHANNELS = {
    "rho": lambda schedule: PartialSamplingST(rho=schedule, seed=0),
    "temperature": lambda schedule: GumbelSoftmaxST(schedule, seed=0),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_stateless_call_hands_on_the_next_step(name):
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    channel, logits = CHANNELS[name](schedule), np.zeros((4, 5), "float32")
    channel.build(logits.shape)
    place = [id(v) for v in channel.non_trainable_variables].index(
        id(channel.step)
    )
    state = [v.value for v in channel.non_trainable_variables]
    for step in range(1, 3):
        _, state = channel.stateless_call([], state, logits, training=True)
        assert int(ops.convert_to_numpy(state[place])) == step
    _, state = channel.stateless_call([], state, logits, training=False)
    assert int(ops.convert_to_numpy(state[place])) == 2
    assert int(ops.convert_to_numpy(channel.step)) == 0
