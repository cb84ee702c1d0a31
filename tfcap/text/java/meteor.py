"""METEOR 1.5, computed by its authors' program."""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from tfcap.text.java.java_process import JavaProcess
from tfcap.text.java.runtime import LOCALE
from tfcap.text.java.runtime import clean
from tfcap.text.java.runtime import find_file
from tfcap.text.java.runtime import find_java
from tfcap.text.java.runtime import find_package
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths

NAME = "METEOR"

# Captions asked at a time: the answers, some 120 bytes each, must fit into
# the buffer of a pipe, or both sides wait for each other.
_CHUNK = 64


class METEOR:
    """METEOR of captions, from the Java program of pycocoevalcap.

    The program takes some seconds to start, as it reads a table of
    paraphrases, and milliseconds a caption from then on. It is started by the
    first call and kept; if it dies or hangs, that call fails and the next one
    starts it again. Calls from several threads wait for each other. Close it,
    or use it in a `with`; an idle one ends after a while, and
    starts again when asked.

    Args:
        java: String or path of a `java`, optional, see below.
        heap: String, memory of the program at most. Defaults to `"2G"`.
        timeout: Float, seconds that it may be silent. Defaults to `300`.
        idle: Float, seconds that it waits for a call. Defaults to `120`.

    Example:

    >>> with tfcap.text.METEOR(java="/no/java") as meteor:
    ...     try:
    ...         meteor.score([["a", "cat"]], [[["the", "cat"]]])
    ...     except tfcap.text.JavaError as error:
    ...         print(error.reason)
    there is no Java at '/no/java'

    `java` defaults to `$TFCAP_JAVA`, else the one on the PATH. The scores are
    those of pycocoevalcap's wrapper, which deadlocks when the program fails,
    and reads no numbers where the machine's language writes them with commas.

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5 for
      English, with normalization, as in the COCO caption evaluation
    """

    def __init__(
        self,
        java: str | os.PathLike | None = None,
        heap: str = "2G",
        timeout: float = 300.0,
        idle: float = 120.0,
    ):
        self.java = java
        self.heap = heap
        self.timeout = timeout
        self.idle = idle
        self._timer = None
        self._process = None
        self._lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def check(self):
        """Raises a `JavaError` if Java or the program is missing.

        Nothing is started.
        """
        self._command()

    def close(self):
        """Ends the program. A later call starts it again."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                self._timer.cancel()
                process.close()

    def score(
        self,
        candidates: Sequence[Sequence],
        references: list,
        progress: Callable | None = None,
    ) -> Scores:
        """Scores captions.

        Args:
            candidates: List of tokenized captions, lists of words.
            references: List, as long, of lists of tokenized captions.
            progress: Function of the number of captions done and of their
                number, optional, called now and then.

        Returns:
            `Scores`, in `[0, 1]`. That of the corpus is not the mean.

        Raises:
            JavaError: If the program is missing, dies, hangs or answers
                something else than numbers.
        """
        check_aligned(candidates, references)
        check_lengths(candidates, references)
        count = len(candidates)
        with self._lock, self._awake():
            statistics = []
            for start in range(0, count, _CHUNK):
                chunk = slice(start, start + _CHUNK)
                lines = list(map(_line, candidates[chunk], references[chunk]))
                output = self._ask(lines, len(lines))
                for line in output:
                    self._numbers(line.split())
                statistics += output
                if progress is not None:
                    progress(min(start + _CHUNK, count), count)
            # One number for each caption, and one for the corpus.
            output = self._ask(
                [" ||| ".join(["EVAL", *statistics])], len(statistics) + 1
            )
            *each, corpus = self._numbers(output)
        return Scores(corpus, np.array(each, np.float64))

    @contextlib.contextmanager
    def _awake(self):
        """Context of a call, after which the program waits for another."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            yield
        finally:
            # TensorFlow keeps what a graph calls until Python ends: programs
            # of two gigabytes would pile up, one a model.
            close = weakref.WeakMethod(self.close)
            self._timer = threading.Timer(self.idle, _call, [close])
            self._timer.daemon = True
            self._timer.start()

    def _ask(self, lines, answers):
        if self._process is None:
            self._process = self._start()
        process = self._process
        # Whatever goes wrong, an answer to this must not answer the next.
        self._process = None
        try:
            output = process.ask(lines, answers)
        except BaseException:
            process.close()
            raise
        self._process = process
        return output

    def _numbers(self, words):
        try:
            # No words at all are no numbers either.
            return [float(word) for word in words or [""]]
        except ValueError:
            process, self._process = self._process, None
            output = " ".join(words)[:200]
            raise process.failure(
                f"its Java program answered {output!r}, not numbers"
            ) from None

    def _start(self):
        command, folder = self._command()
        process = JavaProcess(NAME, command, self.timeout, folder)
        # With this scorer, and before Python takes itself apart.
        weakref.finalize(self, process.close)
        return process

    def _command(self):
        """The command line, and the folder to run it in."""
        java = find_java(NAME, self.java)
        folder = find_package(NAME) / "meteor"
        program = find_file(NAME, folder / "meteor-1.5.jar")
        find_file(NAME, folder / "data" / "paraphrase-en.gz")
        command = [java, *LOCALE, f"-Xmx{self.heap}", "-jar", program]
        command += ["-", "-", "-stdio", "-l", "en", "-norm"]
        return command, folder


def _call(method):
    """Calls a weak method, if it is still there."""
    if method() is not None:
        method()()


def meteor(
    candidates: Sequence[Sequence],
    references: list,
    java: str | os.PathLike | None = None,
    heap: str = "2G",
    timeout: float = 300.0,
) -> Scores:
    """METEOR of captions, once; to score several times, keep a `METEOR`.

    Args:
        candidates: List of tokenized captions, lists of words.
        references: List, as long, of lists of tokenized captions.
        java: String or path of a `java`, optional. Defaults to `$TFCAP_JAVA`,
            else the one on the PATH.
        heap: String, memory of the program at most. Defaults to `"2G"`.
        timeout: Float, seconds that it may be silent. Defaults to `300`.

    Returns:
        `Scores`, in `[0, 1]`.

    Raises:
        JavaError: See `METEOR.score()`.

    Example:

    >>> try:
    ...     tfcap.text.meteor([["a"]], [[["a"]]], java="/no/java")
    ... except tfcap.text.JavaError as error:
    ...     print(error)
    METEOR is absent: there is no Java at '/no/java'. Install a Java ...
    """
    with METEOR(java, heap, timeout) as scorer:
        return scorer.score(candidates, references)


def _line(candidate, references):
    return " ||| ".join(
        ["SCORE", *map(_sentence, references), _sentence(candidate)]
    )


def _sentence(words):
    # What pycocoevalcap does to a candidate; a bar would end the sentence.
    sentence = clean(" ".join(words))
    return sentence.replace("|||", "").replace("  ", " ")
