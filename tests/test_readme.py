"""The README's Python runs, block after block, in one namespace."""

import pathlib
import re

import keras
import numpy as np
import pytest

import tfcap
from tests import dialogs

ROOT = pathlib.Path(__file__).parents[1]


def namespace():
    """What a reader is taken to have: a model of their own, dialog data."""
    inputs = keras.Input((4, 3))
    hidden = keras.layers.Dense(8)(inputs)
    batches = dialogs.batches()
    return {
        "tfcap": tfcap,
        "keras": keras,
        "vocabulary_size": 7,
        "inputs": inputs,
        "hidden": hidden,
        "logits": keras.layers.Dense(7)(hidden),
        "listener": keras.layers.Dense(1),
        "loss": "mse",
        "x": np.zeros((2, 4, 3), "float32"),
        "y": np.zeros((2, 4, 1), "float32"),
        "generator": dialogs.generator(),
        "discriminator": dialogs.discriminator(),
        "dataset": batches.dataset().take(2),
        "evaluator": lambda: {"cider_d": 0.9, "r@10": 70.0},
    }


# Keras remarks that it does not shuffle a tf.data set.
@pytest.mark.filterwarnings("ignore:`shuffle=True` was passed")
def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert len(blocks) == 5
    names = namespace()
    for block in blocks:
        # Twenty epochs are for real data.
        exec(block.replace("epochs=20", "epochs=1"), names)
    assert (tmp_path / "model.keras").exists()
    assert (tmp_path / "generator.keras").exists()
    assert list((tmp_path / "logs" / "mine").rglob("events.*"))


def test_files_that_are_named_are_there():
    for name in ("README.md", "CONTRIBUTING.md", "PAPERS.md"):
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\(((?!http)[^)#]+)\)", text):
            assert (ROOT / target).exists(), f"{name} links to {target}"
