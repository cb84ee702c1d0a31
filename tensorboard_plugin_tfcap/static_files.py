"""The files of the page, and Plotly's library."""

import importlib.util
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
#: Content types of the files that are served.
TYPES = {".js": "application/javascript", ".css": "text/css"}


def static_path(name: str):
    """The file of the page with a name.

    Returns:
        The path and its content type, or `None` where there is no such file
        in the folder, or its type is not served.

    Example:

    >>> from tensorboard_plugin_tfcap.static_files import static_path
    >>> static_path("../metadata.py") is None
    True
    """
    if "\0" in name or "\\" in name:
        return None
    folder = os.path.realpath(FOLDER)
    path = os.path.realpath(os.path.join(folder, name))
    kind = TYPES.get(os.path.splitext(path)[1])
    inside = os.path.commonpath([folder, path]) == folder
    if kind is None or not inside or not os.path.isfile(path):
        return None
    return path, kind


def plotly_path():
    """Path of Plotly's library, or `None` where it is not installed.

    The package itself is not imported, which would take a second.
    """
    spec = importlib.util.find_spec("plotly")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, "package_data", "plotly.min.js")
        if os.path.isfile(path):
            return path
    return None


def plotly_version():
    """Plotly's version, or `None` where it is not installed."""
    from importlib import metadata

    try:
        return metadata.version("plotly")
    except metadata.PackageNotFoundError:
        return None
