"""Networks with something wrong are loaded, or refused by name; nothing runs.

See test_mutated_files.py for how to load more of them.
"""

import io
import json
import os
import random
import warnings
import zipfile

import keras
import pytest

import tfcap
from tests.faults.mutations import damage
from tests.faults.mutations import mutated_bytes
from tests.faults.mutations import mutated_json
from tests.faults.test_mutated_files import TOTAL
from tests.faults.test_mutated_files import patience
from tfcap.training.network_file import load_network


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A network as a file's bytes."""
    logits = keras.Input((3, 9))
    words = tfcap.layers.GumbelSoftmaxST(temperature=0.5)(logits)
    heard = tfcap.layers.SoftEmbedding(9, 4)(words)
    path = tmp_path_factory.mktemp("network") / "network.keras"
    keras.Model(logits, keras.layers.Dense(2)(heard)).save(path)
    return path.read_bytes()


def with_config(data, change):
    """The network with another `config.json`, whole as an archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        with zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "config.json":
                    content = change(json.loads(content))
                new.writestr(name, content)
    return out.getvalue()


def refusal(path):
    """What is said of a file; None if a network comes of it."""
    with patience(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert isinstance(load_network(path), keras.Layer)
        except ValueError as error:
            assert type(error) is ValueError
            assert path.name in str(error) and len(str(error)) < 3000
            return str(error)


def test_a_network_with_something_wrong_is_loaded_or_refused(good, tmp_path):
    path = tmp_path / "spoiled.keras"
    path.write_bytes(good)
    assert refusal(path) is None
    for seed in range(max(10, TOTAL // 20)):
        draw = random.Random(seed)
        if seed % 2:
            data = mutated_bytes(good, draw)
        else:
            data = with_config(good, lambda c, d=draw: mutated_json(c, d))
        path.write_bytes(data)
        try:
            refusal(path)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def test_a_network_that_is_damaged_is_loaded_as_it_was_or_refused(
    good, tmp_path
):
    path = tmp_path / "damaged.keras"
    path.write_bytes(good)
    weights = load_network(path).get_weights()
    for _ in damage(path, step=max(1, 20_000 // TOTAL)):
        if refusal(path) is None:
            for one, other in zip(load_network(path).get_weights(), weights):
                assert (one == other).all()


def test_a_network_of_which_a_part_reaches_beyond_the_end_is_refused(
    good, tmp_path
):
    path = tmp_path / "cut.keras"
    # The length of what stands before its content.
    place = good.rindex(b"PK\x03\x04") + 29
    path.write_bytes(good[:place] + b"\xff" + good[place + 1 :])
    assert "EOFError" in refusal(path)


def claiming(module, name, registered, **more):
    """What the network's layer is to be."""
    about = {"module": module, "class_name": name}
    return about | {"registered_name": registered, **more}


CODE = keras.layers.Lambda(lambda x: x).get_config()
ATTACKS = {
    "code": claiming("keras.layers", "Lambda", None, config=CODE),
    "a function of the system": claiming("os", "system", "system"),
    "a process": claiming("subprocess", "Popen", "Popen"),
    "what imports": claiming("tests.faults.imported", "Bad", "Bad"),
    "what downloads": claiming("keras.utils", "get_file", "get_file"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_in_a_network_runs(good, tmp_path, attack, monkeypatch):
    ran = []
    monkeypatch.setattr(os, "system", ran.append)
    monkeypatch.setattr("subprocess.Popen", ran.append)

    def change(config):
        config["config"]["layers"][1] |= ATTACKS[attack]
        return json.dumps(config)

    path = tmp_path / "attack.keras"
    path.write_bytes(with_config(good, change))
    assert "attack.keras" in refusal(path)
    assert not ran
