"""Training captioning and visual dialog models through discrete words.

Subpackages are imported when they are first used: `import tfcap` alone loads
neither TensorFlow nor Keras, and `tfcap.text` and `tfcap.curves` need only
NumPy.
"""

import importlib
import pkgutil

__version__ = "0.1.0"

_OTHERS = ["__version__", "show_tradeoff"]

# For type checkers and editors.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tensorboard_plugin_tfcap.notebook import show_tradeoff
    from tfcap import curves
    from tfcap import data
    from tfcap import decoding
    from tfcap import layers
    from tfcap import losses
    from tfcap import methods
    from tfcap import metrics
    from tfcap import models
    from tfcap import objectives
    from tfcap import rewards
    from tfcap import text
    from tfcap import training


def __getattr__(name: str):
    """Imports a subpackage when it is first used (PEP 562)."""
    if name == "show_tradeoff":
        from tensorboard_plugin_tfcap.notebook import show_tradeoff

        return show_tradeoff
    try:
        if not name.startswith("_"):
            return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name in ("keras", "tensorflow", "jax", "h5py", "PIL"):
            raise ImportError(
                f"`tfcap.{name}` needs {error.name}, which is not installed. "
                "Run: pip install 'tfcap[train]', or on JAX, with "
                "KERAS_BACKEND=jax: pip install 'tfcap[jax]'",
                name=error.name,
            ) from error
        if error.name != f"{__name__}.{name}":
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    rooms = [found.name for found in pkgutil.iter_modules(__path__)]
    return sorted([name for name in rooms if name[0] != "_"] + _OTHERS)
