"""Word channels and `SoftEmbedding` in an ordinary functional model.

    python examples/drop_in_channel.py

A speaker sees one of 64 objects and emits two words of sixteen; a listener
identifies the object. Gradients pass through the words of `PartialSamplingST`,
whose `rho` decreases, and of `GumbelSoftmaxST`, whose temperature decreases.
Inference uses plain words.
"""

import tempfile

import keras
import numpy as np

from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import SoftEmbedding
from tfcap.training import ExponentialTemperature

THINGS, STEPS, VOCABULARY = 64, 2, 16


def game(channel):
    thing = keras.Input((THINGS,))
    hidden = keras.layers.Dense(128, "relu")(thing)
    logits = keras.layers.Dense(STEPS * VOCABULARY)(hidden)
    words = channel(keras.layers.Reshape((STEPS, VOCABULARY))(logits))
    heard = keras.layers.Flatten()(SoftEmbedding(VOCABULARY, 64)(words))
    heard = keras.layers.Dense(256, "relu")(heard)
    return keras.Model(thing, keras.layers.Dense(THINGS)(heard))


def learn(channel, epochs):
    keras.utils.set_random_seed(0)
    y = np.random.default_rng(0).integers(0, THINGS, 8000)
    model, path = game(channel), f"{tempfile.mkdtemp()}/game.keras"
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
    model.fit(np.eye(THINGS)[y], y, 100, epochs, 2)
    model.save(path)
    heard = keras.saving.load_model(path).predict(np.eye(THINGS), verbose=0)
    return float(np.mean(heard.argmax(-1) == np.arange(THINGS)))


def main(epochs=15):
    schedule = ExponentialTemperature(0.9, rate=0.002, minimum=0.1)
    channels = (
        PartialSamplingST(rho=schedule, seed=0),
        GumbelSoftmaxST(temperature=schedule, seed=0),
    )
    told = {channel.name: learn(channel, epochs) for channel in channels}
    for name, share in told.items():
        print(f"{name}: {share:.0%} of objects identified after loading")
    return told


if __name__ == "__main__":
    main()
