"""What a user gets from `import tfcap` alone."""

import inspect
import operator
import os
import pkgutil
import subprocess
import sys

import keras
import pytest

import tfcap

ROOMS = [
    found.name
    for found in pkgutil.iter_modules(tfcap.__path__)
    if found.ispkg and found.name[0] != "_"
]
SERIALIZABLE = (
    keras.layers.Layer,
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.regularizers.Regularizer,
)
#: Meant to be derived from.
BASES = {"CaptionSpeaker", "DialogEncoder", "WordChannel"}
#: Train networks and are not saved themselves.
SCAFFOLDING = {"JointTraining"}


def serializable():
    """Exports of all rooms that Keras saves by name."""
    found = {}
    for name in ROOMS:
        for key, value in vars(getattr(tfcap, name)).items():
            if inspect.isclass(value) and issubclass(value, SERIALIZABLE):
                found[key] = value
    return {k: v for k, v in found.items() if k not in BASES | SCAFFOLDING}


def in_a_new_process(source):
    done = subprocess.run(
        [sys.executable, "-c", source],
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


def loaded_by(source):
    """Heavy packages that are loaded once a source has run."""
    heavy = {"tensorflow", "keras", "jax", "torch", "h5py", "PIL"}
    heavy |= {"tensorboard", "plotly", "scipy", "pandas"}
    return in_a_new_process(
        f"{source}\nimport sys\nprint(*sorted({heavy} & set(sys.modules)))"
    )


@pytest.mark.parametrize(
    "source",
    [
        "import tfcap; dir(tfcap)",
        "import tfcap.text",
        "import tfcap.curves",
        "from tfcap import text, curves",
        "import tfcap.evaluate, tfcap.launch",
        "import sys; sys.argv = ['-m']; import tfcap; tfcap.text",
    ],
)
def test_light_parts_load_numpy_alone(source):
    assert loaded_by(source) == []


def absent(*names):
    """Source that makes packages as absent as if they were not installed."""
    return f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize(
    "name, source",
    [
        ("keras", "from tfcap import losses"),
        ("tensorflow", "tfcap.models"),
        ("jax", "tfcap.models"),
    ],
)
def test_without_keras_a_room_says_what_to_install(name, source, monkeypatch):
    if name == "jax":
        monkeypatch.setenv("KERAS_BACKEND", name)
    source = f"""{absent(name)}
import tfcap, tfcap.text, tfcap.curves
try:
    {source}
except ImportError as error:
    print(error)
"""
    words = " ".join(in_a_new_process(source))
    assert f"needs {name}, which is not installed" in words
    assert "pip install 'tfcap[train]', or on JAX" in words
    assert words.endswith("pip install 'tfcap[jax]'")


def test_a_name_that_is_no_room_is_no_attribute():
    with pytest.raises(AttributeError, match="'tfcap' has no attribute 'rom'"):
        operator.attrgetter("rom")(tfcap)
    assert not hasattr(tfcap, "_rom")
    assert {*ROOMS, "show_tradeoff", "__version__"} <= set(dir(tfcap))


def test_rooms_are_reached_from_the_package():
    for name in ROOMS:
        assert inspect.ismodule(getattr(tfcap, name))
    assert tfcap.__version__
