"""SPICE of captions, through pycocoevalcap's Java program."""

import json
import os
import pathlib
import platform
import tempfile
import zipfile
from collections.abc import Sequence
from subprocess import DEVNULL

import numpy as np

from tfcap._io.cache import cache_folder
from tfcap.text.java.java_process import JavaProcess
from tfcap.text.java.runtime import LOCALE
from tfcap.text.java.runtime import JavaError
from tfcap.text.java.runtime import clean
from tfcap.text.java.runtime import find_java
from tfcap.text.java.runtime import java_version
from tfcap.text.missing_score import find_file
from tfcap.text.missing_score import find_package
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths
from tfcap.text.scores.scores import joined

NAME = "SPICE"

#: What the cache of parsed captions looks into, which Java 16 and later
#: forbid unless told.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.text",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.sql/java.sql",
)
MODELS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")

_HINT = (
    "Download http://nlp.stanford.edu/software/"
    "stanford-corenlp-full-2015-12-09.zip (385 MB), unpack it, and set "
    "TFCAP_SPICE_HOME to the folder with its jars."
)


def spice(
    candidates: Sequence[Sequence],
    references: list,
    home: str | os.PathLike | None = None,
    cache: str | os.PathLike | None = "auto",
    java: str | os.PathLike | None = None,
    heap: str = "8G",
    timeout: float = 7200.0,
) -> Scores:
    """SPICE of captions, from the Java program of pycocoevalcap.

    The program needs the models of Stanford CoreNLP 3.6.0, 380 MB that are
    not part of pycocoevalcap. Nothing is ever downloaded: without them this
    raises, and says where to get them. It also needs Java 8 to 14, since it
    writes its scores through the JavaScript engine that Java had until then;
    or a later Java and the jars of Nashorn beside the models.

    Args:
        candidates: List of tokenized captions, lists of words.
        references: List, as long, of lists of tokenized captions.
        home: String or path, optional, folder with the models
            (`stanford-corenlp-3.6.0.jar` and
            `stanford-corenlp-3.6.0-models.jar`). Defaults to
            `$TFCAP_SPICE_HOME`, else the folder of pycocoevalcap.
        cache: String or path of a folder that keeps parsed captions, so that
            references are parsed once in a lifetime; `None` for none.
            Defaults to `"auto"`: `spice` within `$TFCAP_CACHE`, or within
            `~/.cache/tfcap`, where the cache's library runs (x86-64).
        java: String or path of a `java`, optional. Defaults to `$TFCAP_JAVA`,
            else the one on the PATH.
        heap: String, memory of the program at most. Defaults to `"8G"`.
        timeout: Float, seconds that it may take. Parsing 25,000 references
            for the first time takes many minutes. Defaults to `7200`.

    Returns:
        `Scores`, in `[0, 1]`; that of the corpus is the mean of the captions.

    Raises:
        JavaError: If Java, the program or its models are missing, or if the
            program dies, hangs or gives other scores than asked for.

    Example:

    >>> try:
    ...     tfcap.text.spice([["a"]], [[["a"]]], java="/no/java")
    ... except tfcap.text.JavaError as error:
    ...     print(error)
    SPICE is absent: there is no Java at '/no/java'. Install a Java ...

    Reference:

    - Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation,
      ECCV 2016; version 1.0
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    rows = [
        {
            "image_id": i,
            "test": _sentence(candidate),
            "refs": list(map(_sentence, references[i])),
        }
        for i, candidate in enumerate(candidates)
    ]
    with tempfile.TemporaryDirectory(prefix="tfcap_spice_") as folder:
        source = pathlib.Path(folder, "captions.json")
        target = pathlib.Path(folder, "scores.json")
        source.write_text(json.dumps(rows), encoding="utf-8")
        command = spice_command(source, target, home, cache, java, heap)
        with JavaProcess(
            NAME, command, timeout, folder, stdin=DEVNULL, stdout=DEVNULL
        ) as process:
            process.wait()
            try:
                each = _read_scores(target, len(rows))
            except (OSError, ValueError, TypeError, LookupError) as error:
                raise process.failure(
                    "its Java program left no scores of all captions "
                    f"({type(error).__name__}: {error})"
                ) from error
    return Scores(float(np.mean(each)), each)


def spice_command(
    source: str | os.PathLike,
    target: str | os.PathLike,
    home,
    cache,
    java,
    heap,
) -> list[str]:
    """The command that scores a file of captions.

    Raises:
        JavaError: If something that it needs is missing.
    """
    java = find_java(NAME, java)
    version = java_version(NAME, java)
    lacking = []
    try:
        jars = find_jars(NAME, home)
    except JavaError as error:
        lacking.append(error)
    if version > 14 and not find_nashorn(NAME, home):
        reason = (
            f"Java {version} has no JavaScript engine, through which SPICE "
            "writes its scores"
        )
        hint = (
            "Set TFCAP_JAVA to the `java` of a Java 8 to 14, or put "
            "nashorn-core-15.4.jar and the asm jars that it needs into the "
            "folder of the models."
        )
        lacking.append(JavaError(NAME, reason, hint))
    if lacking:
        # All at once: each hint takes its time.
        reasons = "; and ".join(error.reason for error in lacking)
        raise JavaError(NAME, reasons, " ".join(e.hint for e in lacking))
    if cache == "auto":
        cache = default_cache()
    command = [java, *LOCALE, f"-Xmx{heap}"]
    if version >= 16:
        for package in _OPENED:
            command += ["--add-opens", f"{package}=ALL-UNNAMED"]
    command += ["-cp", os.pathsep.join(map(str, jars))]
    command += ["edu.anu.spice.SpiceScorer", source]
    command += ["-out", target, "-subset", "-silent"]
    if cache is not None:
        command += ["-cache", make_cache(NAME, cache)]
    return [os.fspath(part) for part in command]


def _read_scores(path, count):
    """F-scores in the order of the captions."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    found = {row["image_id"]: row["scores"]["All"]["f"] for row in rows}
    if len(rows) != count:
        raise ValueError(f"{len(rows)} scores for {count} captions")
    return np.array([found[i] for i in range(count)], np.float64)


def _sentence(words):
    return clean(joined(words))


def find_jars(name: str, home: str | os.PathLike | None = None) -> list:
    """Finds all that SPICE runs on.

    Raises:
        JavaError: If one is missing or damaged.
    """
    home, *folders = _places(name, home)
    models = [_find_model(name, [home, *folders], model) for model in MODELS]
    package = find_package(name) / "spice"
    own = home / "spice-1.0.jar"
    program = own if own.is_file() else package / "spice-1.0.jar"
    libraries = sorted((program.parent / "lib").glob("*.jar"))
    nashorn = find_nashorn(name, home)
    jars = [find_file(name, program), *models, *libraries, *nashorn]
    return [jar.resolve() for jar in dict.fromkeys(jars)]


def find_nashorn(name, home=None) -> list:
    """Finds the JavaScript engine that later versions of Java lack.

    Raises:
        JavaError: If pycocoevalcap is not installed.
    """
    for folder in _places(name, home):
        engine = sorted(folder.glob("nashorn-core*.jar"))
        if engine:
            return [*engine, *sorted(folder.glob("asm*.jar"))]
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
    return cache_folder("spice")


def make_cache(name: str, folder: str | os.PathLike):
    """Makes the folder for parsed captions.

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


def _find_model(name, folders, model):
    for folder in folders:
        if (folder / model).is_file():
            # A zip ends with its table of contents.
            if zipfile.is_zipfile(folder / model):
                return folder / model
            raise JavaError(
                name,
                f"{str(folder / model)!r} is cut off or damaged",
                _HINT,
            )
    raise JavaError(
        name,
        f"its models are not in {str(folders[0])!r} (no {model})",
        _HINT,
    )
