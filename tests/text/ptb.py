"""Java's tokenizer, by pycocoevalcap, which ours is compared with."""

import importlib.util
import os
import re
import shutil
from unittest import mock

import pytest

#: All that some Java program may take for the end of a line, or of the file.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def ptb_tokenize(captions):
    """Java's words of captions; skips the test where they cannot be had."""
    if not shutil.which("java") or not importlib.util.find_spec(
        "pycocoevalcap"
    ):
        pytest.skip("needs Java and pycocoevalcap")
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    clean = [CONTROL.sub(" ", text) for text in captions]
    rows = {
        i: [{"caption": text.encode("utf-8", "replace").decode()}]
        for i, text in enumerate(clean)
    }
    options = "-Dfile.encoding=UTF-8 -Duser.language=en -Duser.country=US"
    with mock.patch.dict(os.environ, {"JAVA_TOOL_OPTIONS": options}):
        found = PTBTokenizer().tokenize(rows)
    return [found[i][0].split() for i in rows]
