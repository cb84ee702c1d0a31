import importlib.util
import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "examples"


def load(name):
    """A script as a module, which is not run."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
