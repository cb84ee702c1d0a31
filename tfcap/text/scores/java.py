"""SPICE and METEOR by their authors' programs, which pycocoevalcap runs."""

import shutil
import subprocess
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from tfcap.text.missing_score import MissingScoreError
from tfcap.text.missing_score import find_package
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths

MODELS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")


def spice(candidates: Sequence[Sequence], references: list) -> Scores:
    """SPICE of captions, from the Java program of pycocoevalcap.

    It needs `java` of version 8 to 14 on the PATH, because it writes its scores
    by a JavaScript engine that later versions lack. It also needs the models of
    Stanford CoreNLP 3.6.0 (380 MB), which are not downloaded automatically.

    Args:
        candidates: List of tokenized captions, lists of words.
        references: List, as long, of lists of tokenized captions.

    Returns:
        `Scores` in `[0, 1]`; `corpus` is the mean of `each`.

    Raises:
        MissingScoreError: If Java, the package or its models are missing, or
            if the program fails.

    Reference:

    - Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation,
      ECCV 2016; version 1.0
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    check_spice()
    from pycocoevalcap.spice.spice import Spice

    _, found = _scores("SPICE", Spice, candidates, references)
    each = np.array([row["All"]["f"] for row in found], np.float64)
    return Scores(float(each.mean()), each)


def check_spice() -> None:
    """Raises a `MissingScoreError` if something that SPICE needs is missing."""
    _check_java("SPICE")
    folder = find_package("SPICE") / "spice" / "lib"
    for model in MODELS:
        # pycocoevalcap would download them.
        if not (folder / model).is_file():
            raise MissingScoreError(
                "SPICE",
                f"its models are not in {str(folder)!r} (no {model})",
                "Download http://nlp.stanford.edu/software/"
                "stanford-corenlp-full-2015-12-09.zip (385 MB), and unpack "
                f"{' and '.join(MODELS)} into that folder.",
            )


def meteor_java(candidates: Sequence[Sequence], references: list) -> Scores:
    """METEOR of captions, from the Java program of pycocoevalcap.

    `tfcap.text.meteor()` gives the same scores without Java.

    Args:
        candidates: List of tokenized captions, lists of words.
        references: List, as long, of lists of tokenized captions.

    Returns:
        `Scores` in `[0, 1]`; `corpus` is not the mean of `each`.

    Raises:
        MissingScoreError: If Java or the package is missing, or if the
            program fails.

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    name = "METEOR (Java)"
    _check_java(name)
    find_package(name)
    from pycocoevalcap.meteor.meteor import Meteor

    corpus, each = _scores(name, Meteor, candidates, references)
    return Scores(corpus, np.array(each, np.float64))


def _check_java(name):
    if shutil.which("java") is None:
        raise MissingScoreError(
            name,
            "there is no `java` on the PATH",
            "Install a Java runtime (on Debian and Ubuntu: apt install "
            "default-jre-headless).",
        )


def _scores(name, scorer: Callable, candidates, references):
    """Scores of the corpus and of each caption by a class of pycocoevalcap."""
    said = {i: [" ".join(words)] for i, words in enumerate(candidates)}
    human = {i: [*map(" ".join, rows)] for i, rows in enumerate(references)}
    try:
        return scorer().compute_score(human, said)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise MissingScoreError(
            name,
            f"its program for Java failed ({type(error).__name__}: {error})",
            "Check that `java` works (SPICE needs version 8 to 14) and that "
            "the folder of pycocoevalcap can be written to.",
        ) from error
