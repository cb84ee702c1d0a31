"""Where SPICE and the models that it needs are."""

import os
import pathlib
import platform
import zipfile

from tfcap.text.java.java_error import JavaError
from tfcap.text.java.runtime import find_file
from tfcap.text.java.runtime import find_package

MODELS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")

_CURE = (
    "Download http://nlp.stanford.edu/software/"
    "stanford-corenlp-full-2015-12-09.zip (385 MB), unpack it, and set "
    "TFCAP_SPICE_HOME to the folder with its jars."
)


def find_jars(name, home=None):
    """Finds all that SPICE runs on.

    Args:
        name: String, what it is for.
        home: String or path of the folder with the models, optional. Defaults
            to `$TFCAP_SPICE_HOME`, else the folder of pycocoevalcap.

    Returns:
        List of paths of jars.

    Raises:
        JavaError: If one is missing or damaged.
    """
    home, *places = _places(name, home)
    models = [_find_model(name, [home, *places], model) for model in MODELS]
    package = find_package(name) / "spice"
    own = home / "spice-1.0.jar"
    program = own if own.is_file() else package / "spice-1.0.jar"
    libraries = sorted((program.parent / "lib").glob("*.jar"))
    nashorn = find_nashorn(name, home)
    jars = [find_file(name, program), *models, *libraries, *nashorn]
    return [jar.resolve() for jar in dict.fromkeys(jars)]


def find_nashorn(name, home=None):
    """Finds the JavaScript engine that later versions of Java lack.

    Args:
        name, home: See `find_jars()`.

    Returns:
        List of paths of jars, empty if it is not there.

    Raises:
        JavaError: If pycocoevalcap is not installed.
    """
    for place in _places(name, home):
        engine = sorted(place.glob("nashorn-core*.jar"))
        if engine:
            return [*engine, *sorted(place.glob("asm*.jar"))]
    return []


def _places(name, home):
    """Folders to look for the models in, the chosen one first."""
    home = home or os.environ.get("TFCAP_SPICE_HOME")
    chosen = pathlib.Path(home).expanduser() if home else None
    chosen = chosen or find_package(name) / "spice"
    return [chosen, chosen / "lib"]


def default_cache():
    """Folder for parsed captions, None where the library cannot run."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    root = os.environ.get("TFCAP_CACHE") or "~/.cache/tfcap"
    return pathlib.Path(root).expanduser() / "spice"


def make_cache(name, folder):
    """Makes the folder for parsed captions.

    Args:
        name: String, what it is for.
        folder: String or path.

    Returns:
        `pathlib.Path`, absolute.

    Raises:
        JavaError: If it cannot be made.
    """
    folder = pathlib.Path(folder).expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JavaError(
            name,
            f"its cache cannot be made ({error})",
            "Set TFCAP_CACHE to a folder that can be written to, or pass "
            "cache=None.",
        ) from error
    return folder


def _find_model(name, places, model):
    for place in places:
        if (place / model).is_file():
            # A zip ends with its table of contents.
            if zipfile.is_zipfile(place / model):
                return place / model
            raise JavaError(
                name,
                f"{str(place / model)!r} is cut off or damaged",
                _CURE,
            )
    raise JavaError(
        name,
        f"its models are not in {str(places[0])!r} (no {model})",
        _CURE,
    )
