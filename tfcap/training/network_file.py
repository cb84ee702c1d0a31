"""Networks in files: one of several workers saves, and bad files are told."""

import os
import tempfile
import zipfile

import keras

from tfcap._io import whole_path
from tfcap.training.workers import is_chief


def save_network(network, path):
    """Saves a network; under several workers the chief writes.

    Keras makes variables of its own when it saves a compiled model, and under
    the scope of a strategy no worker makes one alone. The file is on the disk
    on return, whole; a network that was there before stays until then.

    Args:
        network: `keras.Model`.
        path: String or path of a file `*.keras`.

    Raises:
        OSError: If the disk is full, or the folder cannot be written to. What
            was there before is as it was.

    Example:

    >>> import os, tempfile
    >>> network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> path = os.path.join(tempfile.mkdtemp(), "network.keras")
    >>> tfcap.training.save_network(network, path)
    >>> tfcap.training.load_network(path).count_params()
    3
    """
    if is_chief():
        with whole_path(path) as partial:
            network.save(partial)
        return
    with tempfile.TemporaryDirectory() as folder:
        network.save(os.path.join(folder, "network.keras"))


def load_network(path, compile=True, hint="Make it anew."):
    """Loads a network that `save_network()` saved, without running code.

    The archive's checksums are compared first, so that Keras and HDF5 meet no
    damage; `safe_mode` stays on, which rejects code in the file.

    Args:
        path: String or path of a file `*.keras`.
        compile: Boolean, as of `keras.saving.load_model()`.
        hint: String, a sentence that says what to do with another file.

    Returns:
        The network.

    Raises:
        ValueError: If the file is cut off, damaged or of another kind. Names
            the file.
        OSError: If there is no such file.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "network.keras")
    >>> keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(path)
    >>> tfcap.training.load_network(path).output_shape
    (None, 1)
    """
    # Keras knows the classes that are imported.
    import tfcap.models  # noqa: F401

    try:
        with zipfile.ZipFile(path) as archive:
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} in it is damaged.")
        return keras.saving.load_model(path, compile=compile, safe_mode=True)
    except FileNotFoundError:
        raise
    except Exception as error:
        # Keras and the libraries below it have no list of errors.
        reason = f"{type(error).__name__}: {error!s:.500}"
        raise ValueError(
            "`path` must name a network that Keras can load. Received: "
            f"path={str(path)!r}. {reason} {hint}"
        ) from error
