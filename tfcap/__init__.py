"""Training captioning and visual dialog models through discrete words.

Rooms are imported when they are first used: `import tfcap` alone loads neither
TensorFlow nor Keras, and `tfcap.text`, `tfcap.curves` and `tfcap._io` need no
more than NumPy.
"""

import importlib

from tfcap import _keras_hook

__version__ = "0.1.0"

# What type checkers and editors take for the rooms.
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
    """Imports a room when it is first asked for (PEP 562)."""
    if name == "show_tradeoff":
        from tensorboard_plugin_tfcap.notebook import show_tradeoff

        return show_tradeoff
    module = f"{__name__}.{name}"
    if not name.startswith("_"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    import pkgutil

    rooms = [found.name for found in pkgutil.iter_modules(__path__)]
    public = [name for name in [*globals(), *rooms] if name[0] != "_"]
    private = [name for name in globals() if name.startswith("__")]
    return sorted({*public, *private, "show_tradeoff"} - {"TYPE_CHECKING"})


_keras_hook.install()
