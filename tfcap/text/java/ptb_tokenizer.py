"""Stanford's PTBTokenizer, as the COCO caption evaluation calls it."""

import os
import tempfile

from tfcap.text.java.java_process import JavaProcess
from tfcap.text.java.runtime import LOCALE
from tfcap.text.java.runtime import clean
from tfcap.text.java.runtime import find_java
from tfcap.text.missing_score import find_file
from tfcap.text.missing_score import find_package

NAME = "PTBTokenizer"

# The brackets never match, since words are lower-cased by then. Published
# scores rest on that, so it stays.
_PUNCTUATION = frozenset(
    "'' ' `` ` -LRB- -RRB- -LCB- -RCB- . ? ! , : - -- ... ;".split()
)


def ptb_tokenize(
    captions: list[str],
    java: str | os.PathLike | None = None,
    heap: str = "2G",
    timeout: float = 600.0,
) -> list:
    """Splits captions with the Java tokenizer of pycocoevalcap.

    `caption_tokenize_batch()` does the same without Java; this is what it is
    measured against. Control characters become spaces, so that a caption
    never moves the others by a row, as it does in pycocoevalcap.

    Args:
        captions: List of strings, any Unicode.
        java: String or path of a `java`, optional. Defaults to `$TFCAP_JAVA`,
            else the one on the PATH.
        heap: String, memory of the program at most. Defaults to `"2G"`.
        timeout: Float, seconds that it may take. Defaults to `600`.

    Returns:
        List, as long, of lists of lower-cased words without punctuation.

    Raises:
        JavaError: If Java or the program is missing, dies or hangs, or
            answers another number of rows.

    Example:

    >>> try:
    ...     tfcap.text.ptb_tokenize(["A cat."], java="/no/java")
    ... except tfcap.text.JavaError as error:
    ...     print(error.reason)
    there is no Java at '/no/java'

    Reference:

    - Chen et al., Microsoft COCO Captions: Data Collection and Evaluation
      Server, 2015, section 3; CoreNLP 3.4.1
    """
    java = find_java(NAME, java)
    folder = find_package(NAME) / "tokenizer"
    program = find_file(NAME, folder / "stanford-corenlp-3.4.1.jar")
    command = [java, *LOCALE, f"-Xmx{heap}", "-cp", program]
    command += ["edu.stanford.nlp.process.PTBTokenizer"]
    command += ["-preserveLines", "-lowerCase"]
    with (
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as target,
    ):
        for caption in captions:
            source.write(f"{clean(caption)}\n".encode())
        source.seek(0)
        with JavaProcess(
            NAME, command, timeout, stdin=source, stdout=target
        ) as process:
            process.wait()
            target.seek(0)
            *rows, rest = target.read().decode("utf-8", "replace").split("\n")
            if rest or len(rows) != len(captions):
                raise process.failure(
                    f"its Java program gave {len(rows) + bool(rest)} rows for "
                    f"{len(captions)} captions"
                )
    return [_words(row) for row in rows]


def _words(row):
    words = row.rstrip().split(" ")
    return [word for word in words if word and word not in _PUNCTUATION]
