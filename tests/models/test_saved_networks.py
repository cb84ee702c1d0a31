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
from tests.models.test_dtypes import NETWORKS
from tfcap.losses import NPairLoss


def saved(folder):
    """Saves networks as they are after training."""
    for name, (make, inputs) in NETWORKS.items():
        network = make(None)
        said = keras.ops.convert_to_numpy(network(inputs))
        network.compile("adam", loss=NPairLoss())
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
