"""Cached files, which may be missing."""

import os
import pathlib
import warnings
from collections.abc import Callable

from tfcap._io.whole_file import make_folder


def cache_folder(name: str) -> pathlib.Path:
    """Returns the folder of a cache, which may not exist.

    Args:
        name: String, the folder in `$TFCAP_CACHE`, else in `~/.cache/tfcap`.
    """
    root = os.environ.get("TFCAP_CACHE") or "~/.cache/tfcap"
    return pathlib.Path(root).expanduser() / name


def keep(name: str, path: pathlib.Path, save: Callable) -> None:
    """Writes a cached file, or warns that it cannot be kept.

    Args:
        name: String, what is cached, for the warning.
        path: Path of the file, in a `cache_folder()`.
        save: Function of the path that writes it.
    """
    try:
        make_folder(path.parent)
        save(path)
    except OSError as error:
        warnings.warn(
            f"{name} cannot be kept ({error}), and will be prepared at every "
            "start. Set TFCAP_CACHE to a folder that can be written to.",
            stacklevel=3,
        )
