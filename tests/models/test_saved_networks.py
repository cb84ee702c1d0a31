"""Saved networks load in a process that only imports tfcap."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest

import tfcap
from reproduce.visdial import ENCODERS
from tests import dialogs
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy
from tfcap.models import GrammarClassifier
from tfcap.models import PairDiscriminator


def networks():
    """Networks of every encoder, compiled, and judges; with their inputs."""
    inputs, _ = dialogs.batches(2, negatives=3).batch(0)
    losses = {"generator": SequenceCrossentropy(), "discriminator": NPairLoss()}
    for encoder in ENCODERS:
        for role, loss in losses.items():
            network = getattr(dialogs, role)(encoder)
            network.compile("adam", loss=loss)
            yield f"{encoder}_{role}", network, inputs
    pairs = {"image": np.ones((2, 3), "f4"), "text": np.ones((2, 1, 4), "f4")}
    yield "pair_discriminator", PairDiscriminator(units=(5, 4)), pairs
    captions = {"caption": np.array([[[5, 6, 2]], [[6, 2, 0]]], "int32")}
    yield "grammar_classifier", GrammarClassifier(9, 4, 3), captions


def saved(folder):
    """Saves networks as they are after training."""
    for name, network, inputs in networks():
        said = keras.ops.convert_to_numpy(network(inputs))
        network.save(folder / f"{name}.keras")
        np.savez(folder / f"{name}.npz", said=said, **inputs)
        yield name


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


#: Networks of every release, with inputs and their outputs beside them.
ZOO = pathlib.Path(__file__).parent / "saved"
EARLIER = sorted(ZOO.glob("*/*.keras"))


def test_every_release_has_kept_a_speaker_and_a_listener():
    for folder in {path.parent for path in EARLIER} | {ZOO / tfcap.__version__}:
        kept = [keras_type(path) for path in folder.glob("*.keras")]
        lacking = "python -m tests.models.save_release keeps networks"
        assert any("Speaker" in name for name in kept), lacking
        assert any("Listener" in name for name in kept), lacking


def keras_type(path):
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("config.json"))["registered_name"]


@pytest.mark.parametrize(
    "path", EARLIER, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_networks_that_were_saved_earlier_load(path):
    network = keras.saving.load_model(path, compile=False)
    with np.load(path.with_suffix(".npz")) as file:
        inputs = {key: file[key] for key in file.files if key != "said"}
        outputs = keras.ops.convert_to_numpy(network(inputs))
        np.testing.assert_allclose(outputs, file["said"], rtol=1e-4, atol=1e-5)


def test_training_goes_on_after_loading(tmp_path):
    batches = dialogs.batches(2, negatives=3)
    inputs, labels = batches.batch(0)
    network = dialogs.discriminator("lf")
    network.compile("adam", loss=NPairLoss(), run_eagerly=True)
    network.train_on_batch(inputs, labels)
    network.save(tmp_path / "d.keras")
    again = keras.saving.load_model(tmp_path / "d.keras")
    again.run_eagerly = True
    for _ in range(2):
        expected = network.train_on_batch(inputs, labels)
        np.testing.assert_allclose(
            again.train_on_batch(inputs, labels), expected, rtol=1e-6, atol=1e-6
        )
