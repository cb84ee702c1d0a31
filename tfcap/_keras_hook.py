"""Tells Keras of our classes when it is imported, without importing it.

A `.keras` file names its classes, such as `"tfcap>SoftEmbedding"`, and Keras
looks them up in `keras.saving.get_custom_objects()`. There, each name stands
for a class that is imported when a file asks for it; whether tfcap or Keras is
imported first makes no difference.
"""

import importlib
import pathlib
import re
import sys

#: Packages that the extra `[train]` installs.
_TRAIN = ("keras", "tensorflow", "h5py", "PIL")
#: Rooms that need none of them.
_LIGHT = ("curves", "_io", "text", "cluster")
#: A class that Keras saves by name.
_SAVED = re.compile(rb"register_keras_serializable.*\nclass (\w+)")


class DeferredClass:
    """A class of ours that is imported when an attribute is asked for."""

    def __init__(self, module: str, name: str):
        self._module, self._name = module, name

    def __getattr__(self, attribute: str):
        module = importlib.import_module(f"tfcap.{self._module}")
        return getattr(getattr(module, self._name), attribute)

    def __repr__(self):
        return f"<tfcap.{self._module}.{self._name}, not imported yet>"


class _Finder:
    """Finds modules as the other finders do, and wraps their execution."""

    def find_spec(self, name, path=None, target=None):
        package, _, room = name.partition(".")
        ours = package == "tfcap" and room and "." not in room
        if name != "keras" and (not ours or room in _LIGHT):
            return None
        others = [f for f in sys.meta_path if f is not self]
        found = (f.find_spec(name, path, target) for f in others)
        spec = next((s for s in found if s is not None), None)
        if spec is not None and spec.loader is not None:
            wrap = _with_sentence if ours else _with_registration
            # Of this loader alone: each module has its own.
            spec.loader.exec_module = wrap(name, spec.loader.exec_module)
        return spec


def install() -> None:
    """Defers our classes in Keras, now or as soon as it is imported."""
    sys.meta_path.insert(0, _Finder())
    if "keras" in sys.modules:
        _register(sys.modules["keras"])


def _register(keras):
    names = keras.saving.get_custom_objects()
    package = pathlib.Path(__file__).parent
    for path in sorted(package.glob("*/**/*.py")):
        for name in _SAVED.findall(path.read_bytes()):
            parts = path.relative_to(package).with_suffix("").parts
            deferred = DeferredClass(".".join(parts), name.decode())
            # Those that are imported already are there.
            names.setdefault(f"tfcap>{name.decode()}", deferred)


def _with_registration(name, execute):
    def exec_module(module):
        execute(module)
        _register(module)

    return exec_module


def _with_sentence(name, execute):
    def exec_module(module):
        try:
            execute(module)
        except ModuleNotFoundError as error:
            if error.name not in _TRAIN:
                raise
            raise ImportError(
                f"`{name}` needs {error.name}, which is not installed. Run: "
                "pip install 'tfcap[train]'",
                name=error.name,
            ) from error

    return exec_module
