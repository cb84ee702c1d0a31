"""What a user gets from `import tfcap` alone."""

import inspect
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import tfcap
from tfcap import layers
from tfcap import losses

ROOMS = [
    "data",
    "decoding",
    "layers",
    "losses",
    "metrics",
    "models",
    "objectives",
    "ops",
    "rewards",
    "text",
    "training",
]
SERIALIZABLE = (
    keras.layers.Layer,
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.regularizers.Regularizer,
)
#: Meant to be derived from.
BASES = {
    "CaptionSpeaker",
    "DialogEncoder",
    "MaskedLoss",
    "RankingMetric",
    "WordChannel",
}
#: Train networks and are not saved themselves.
SCAFFOLDING = {"Game", "ObjectiveModel"}


def serializable():
    """Exports of all rooms that Keras saves by name."""
    found = {}
    for name in ROOMS:
        for key, value in vars(getattr(tfcap, name)).items():
            if inspect.isclass(value) and issubclass(value, SERIALIZABLE):
                found[key] = value
    return {k: v for k, v in found.items() if k not in BASES | SCAFFOLDING}


def in_a_new_process(source, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", source, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def test_every_serializable_class_is_registered_under_its_name():
    assert len(serializable()) > 20
    for name, value in serializable().items():
        registered = keras.saving.get_registered_name(value)
        assert registered == f"tfcap>{name}"
        assert keras.saving.get_registered_object(registered) is value


@pytest.mark.slow
def test_import_tfcap_alone_registers_all_of_them():
    source = """
import tfcap, keras
names = keras.saving.get_custom_objects()
print(*[name for name in names if name.startswith("tfcap>")])
"""
    found = set(in_a_new_process(source))
    assert {f"tfcap>{name}" for name in serializable()} <= found


@pytest.mark.slow
def test_a_model_with_our_layers_loads_after_a_plain_import(tmp_path):
    words = keras.Input((4,), dtype="int32")
    embedded = layers.SoftEmbedding(7, 5)(words)
    encoded = layers.AnswerEncoder(6)(embedded)
    logits = keras.layers.Dense(7)(encoded)
    said = layers.PartialSamplingST(0.5, seed=0)(logits)
    model = keras.Model(words, [said, logits])
    model.compile("adam", loss=[None, losses.NPairLoss()])
    path = str(tmp_path / "model.keras")
    model.save(path)
    inputs = np.array([[3, 2, 0, 0], [4, 5, 6, 2]], "int32")
    np.save(tmp_path / "inputs.npy", inputs)
    source = """
import sys, keras, numpy as np
import tfcap
model = keras.saving.load_model(sys.argv[1])
said, logits = model(np.load(sys.argv[2]))
np.save(sys.argv[3], logits)
print(type(model.loss[1]).__name__)
"""
    paths = [str(tmp_path / name) for name in ("inputs.npy", "logits.npy")]
    assert in_a_new_process(source, path, *paths) == ["NPairLoss"]
    np.testing.assert_array_equal(np.load(paths[1]), model(inputs)[1])


@pytest.mark.slow
def test_text_needs_no_tensors():
    source = """
import importlib.util, sys, types
package = types.ModuleType("tfcap")
package.__path__ = [sys.argv[1]]
sys.modules["tfcap"] = package
import tfcap.text
print(*sorted({"keras", "tensorflow", "jax", "torch"} & set(sys.modules)))
"""
    assert in_a_new_process(source, os.path.dirname(tfcap.__file__)) == []


def test_rooms_are_reached_from_the_package():
    for name in ROOMS:
        assert inspect.ismodule(getattr(tfcap, name))
    assert tfcap.__version__
