"""Saved networks load in a process that only imports tfcap."""

import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from tests import dialogs
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy
from tfcap.recipes.visdial import ENCODERS


def saved(folder):
    """Saves networks of every encoder; compiled, as they are after training."""
    inputs, _ = dialogs.batches(2, negatives=3).batch(0)
    losses = {"generator": SequenceCrossentropy(), "discriminator": NPairLoss()}
    for encoder in ENCODERS:
        for role, loss in losses.items():
            network = getattr(dialogs, role)(encoder)
            network.compile("adam", loss=loss)
            path = folder / f"{encoder}_{role}.keras"
            network.save(path)
            said = keras.ops.convert_to_numpy(network(inputs))
            np.savez(path.with_suffix(".npz"), said=said, **inputs)
            yield path.stem


@pytest.mark.slow
def test_every_network_loads_in_a_new_process(tmp_path):
    names = list(saved(tmp_path))
    script = pathlib.Path(__file__).parent / "load_saved.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == sorted(names)


def test_training_goes_on_after_loading(tmp_path):
    batches = dialogs.batches(2, negatives=3)
    inputs, labels = batches.batch(0)
    network = dialogs.discriminator("lf")
    network.compile("adam", loss=NPairLoss())
    network.train_on_batch(inputs, labels)
    network.save(tmp_path / "d.keras")
    again = keras.saving.load_model(tmp_path / "d.keras")
    for _ in range(2):
        expected = network.train_on_batch(inputs, labels)
        np.testing.assert_allclose(
            again.train_on_batch(inputs, labels), expected, rtol=1e-6
        )
