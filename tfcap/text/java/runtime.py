"""Finding Java."""

import os
import re
import shutil
import subprocess

from tfcap.text.missing_score import MissingScoreError

#: Numbers are printed and words are lower-cased as in English whatever the
#: machine speaks, and text is UTF-8.
LOCALE = (
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dfile.encoding=UTF-8",
)

# All that some Java program may take for the end of a line, or of the file.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def clean(text: str) -> str:
    """Makes one line of a string, so that a caption remains one row."""
    text = _CONTROL.sub(" ", text)
    return text.encode("utf-8", "replace").decode("utf-8")


def find_java(name: str, java: str | os.PathLike | None = None) -> str:
    """Finds the Java runtime.

    Raises:
        JavaError: If there is none.
    """
    given = java or os.environ.get("TFCAP_JAVA")
    if given:
        candidates, reason = (
            [os.fspath(given)],
            f"there is no Java at {given!r}",
        )
    else:
        home = os.environ.get("JAVA_HOME", "")
        candidates = ["java", os.path.join(home, "bin", "java")]
        reason = "there is no `java` on the PATH"
    for candidate in candidates:
        found = shutil.which(candidate)
        if found:
            return found
    raise JavaError(
        name,
        reason,
        "Install a Java runtime (on Debian and Ubuntu: apt install "
        "default-jre-headless), or set TFCAP_JAVA to the path of its `java`.",
    )


def java_version(name: str, java: str) -> int:
    """Asks a Java runtime for its version.

    Raises:
        JavaError: If it prints no version.
    """
    try:
        process = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
        output = (process.stderr + process.stdout).decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        output = str(error)
    # "17.0.15", and "1.8.0_312" for Java 8.
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    if found is None:
        raise JavaError(
            name,
            f"{java!r} prints no version ({output.strip()[:200]!r})",
            "Set TFCAP_JAVA to the path of a `java` that works.",
        )
    return int(found[1])


class JavaError(MissingScoreError):
    """A score or tokenizer that could not be had from its Java program.

    Raised where something is missing, and where the program died, hung or
    answered nonsense.

    Example:

    >>> error = tfcap.text.JavaError("SPICE", "there is no Java", "Get it.")
    >>> print(error)
    SPICE is absent: there is no Java. Get it.
    """
