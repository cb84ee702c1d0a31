"""METEOR 1.5, computed by its authors' program."""

import os
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from tfcap.text.java.java_process import JavaProcess
from tfcap.text.java.runtime import LOCALE
from tfcap.text.java.runtime import clean
from tfcap.text.java.runtime import find_java
from tfcap.text.missing_score import find_file
from tfcap.text.missing_score import find_package
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths
from tfcap.text.scores.scores import joined

NAME = "METEOR (Java)"

# Captions asked at a time: the answers, some 120 bytes each, must fit into
# the buffer of a pipe, or both sides wait for each other.
_CHUNK = 64


def meteor_java(
    candidates: Sequence[Sequence],
    references: list,
    java: str | os.PathLike | None = None,
    heap: str = "2G",
    timeout: float = 300.0,
    progress: Callable | None = None,
) -> Scores:
    """METEOR of captions, from the Java program of pycocoevalcap.

    To compare `tfcap.text.meteor` with. The program takes some seconds to
    start, as it reads a table of paraphrases, and milliseconds a caption from
    then on. The scores are those of pycocoevalcap's wrapper, which deadlocks
    when the program fails, and reads no numbers where the machine's language
    writes them with commas.

    Args:
        candidates: List of tokenized captions, lists of words.
        references: List, as long, of lists of tokenized captions.
        java: String or path of a `java`, optional. Defaults to `$TFCAP_JAVA`,
            else the one on the PATH.
        heap: String, memory of the program at most. Defaults to `"2G"`.
        timeout: Float, seconds that it may be silent. Defaults to `300`.
        progress: Function of the number of captions done and of their
            number, optional, called now and then.

    Returns:
        `Scores`, in `[0, 1]`. That of the corpus is not the mean.

    Raises:
        MissingScoreError: If the program is missing; a `JavaError`, if it
            dies, hangs or answers something else than numbers.

    Example:

    >>> try:
    ...     tfcap.text.meteor_java([["a"]], [[["a"]]], java="/no/java")
    ... except tfcap.text.JavaError as error:
    ...     print(error)
    METEOR (Java) is absent: there is no Java at '/no/java'. Install a ...

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5 for
      English, with normalization, as in the COCO caption evaluation
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    count = len(candidates)
    command, folder = _command(java, heap)
    process = JavaProcess(NAME, command, timeout, folder)
    try:
        statistics = []
        for start in range(0, count, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            lines = list(map(_line, candidates[chunk], references[chunk]))
            output = process.ask(lines, len(lines))
            for line in output:
                _numbers(process, line.split())
            statistics += output
            if progress is not None:
                progress(min(start + _CHUNK, count), count)
        # One number for each caption, and one for the corpus.
        output = process.ask(
            [" ||| ".join(["EVAL", *statistics])], len(statistics) + 1
        )
        *each, corpus = _numbers(process, output)
    finally:
        process.close()
    return Scores(corpus, np.array(each, np.float64))


def _numbers(process, words):
    try:
        # No words at all are no numbers either.
        return [float(word) for word in words or [""]]
    except ValueError:
        output = " ".join(words)[:200]
        raise process.failure(
            f"its Java program answered {output!r}, not numbers"
        ) from None


def _command(java, heap):
    """The command line, and the folder to run it in."""
    java = find_java(NAME, java)
    folder = find_package(NAME) / "meteor"
    program = find_file(NAME, folder / "meteor-1.5.jar")
    find_file(NAME, folder / "data" / "paraphrase-en.gz")
    command = [java, *LOCALE, f"-Xmx{heap}", "-jar", program]
    command += ["-", "-", "-stdio", "-l", "en", "-norm"]
    return command, folder


def _line(candidate, references):
    return " ||| ".join(
        ["SCORE", *map(_sentence, references), _sentence(candidate)]
    )


def _sentence(words):
    # What pycocoevalcap does to a candidate; a bar would end the sentence.
    sentence = clean(joined(words))
    return sentence.replace("|||", "").replace("  ", " ")
