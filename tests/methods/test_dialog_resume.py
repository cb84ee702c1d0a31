"""Visual dialog methods go on where a fit stopped."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import dialogs
from tests.training.test_checkpoint import NOISY
from tests.training.test_checkpoint import train
from tfcap import methods

EPOCHS = 2


def ranking():
    network = dialogs.discriminator(settings=NOISY)
    model = methods.n_pair(network)
    model.compile(keras.optimizers.Adam(0.01))
    batches = dialogs.batches(negatives=3, in_batch_negatives=2)
    return model, [network], batches, []


def adversaries():
    networks = [
        f(settings=NOISY) for f in (dialogs.generator, dialogs.discriminator)
    ]
    model = methods.gan2(*networks, max_length=3, seed=1)
    names = "generator", "discriminator"
    model.compile({name: keras.optimizers.Adam(0.01) for name in names})
    return model, networks, dialogs.batches(negatives=3), []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
@pytest.mark.parametrize("make", [ranking, adversaries])
def test_a_fit_that_was_stopped_ends_as_one_that_was_not(make, tmp_path):
    tf.config.run_functions_eagerly(True)
    try:
        whole = train(make, tmp_path / "whole", EPOCHS)
        first = train(make, tmp_path / "parts", 1)
        # A new object, with other weights and seeds of its own.
        rest = train(make, tmp_path / "parts", EPOCHS, seed=99)
    finally:
        tf.config.run_functions_eagerly(False)
    assert any((a != b).any() for a, b in zip(first, whole))
    for a, b in zip(whole, rest):
        np.testing.assert_array_equal(a, b)
