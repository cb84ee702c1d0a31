"""Files of networks, also of several workers."""

import os
import tempfile
import zipfile

import keras

from tfcap._io import whole_path
from tfcap.training.workers import is_chief


def save_network(network, path):
    """Saves a network; under several workers the chief writes.

    All workers must call it, since Keras creates variables when it saves a
    compiled model. The file is on disk and complete on return; a file that was
    there before is kept until then.

    Args:
        network: `keras.Model`.
        path: String or path of a file `*.keras`.

    Raises:
        OSError: If the disk is full, or the folder cannot be written to. An
            earlier file is kept.

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
    """Loads a network of `save_network()`, without running code.

    The archive's checksums are compared first, so that Keras and HDF5 read no
    damaged file; `safe_mode` rejects code in the file.

    Args:
        path: String or path of a file `*.keras`.
        compile: Boolean, as in `keras.saving.load_model()`.
        hint: String, a sentence on what to do if loading fails.

    Returns:
        The network.

    Raises:
        ValueError: If the file is truncated, damaged or of another kind.
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
