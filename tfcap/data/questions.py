"""Questions about images, with options to choose from."""

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

from tfcap._io import malformed
from tfcap._io import read_lines

_FIX = (
    "Each line must be an object with `image`, `question`, `options`, a list "
    "of two or more strings, and `answer`, one of them; optionally with `kind`."
)


class Question(NamedTuple):
    """A question about an image, with one right answer among several.

    Attributes:
        text: String.
        options: Tuple of strings.
        answer: Integer, the index of the right one.
        kind: String, for scores by kind of question, optional.
    """

    text: str
    options: tuple[str, ...]
    answer: int
    kind: str = ""

    @classmethod
    def load(
        cls, path: str | os.PathLike, image_ids: Sequence
    ) -> list[list["Question"]]:
        """Loads the questions about some images from a file of JSON lines.

        A line is `{"image": 7, "question": "Is it red?", "options": ["yes",
        "no"], "answer": "no"}`, optionally with `"kind"`.

        Args:
            path: String or path.
            image_ids: M integers or strings, such as those of a
                `tfcap.data.CaptionSplit`. Other images are passed over.

        Returns:
            List of M lists of `Question`, in the order of the file.

        Raises:
            ValueError: If a line is malformed, with its number; or none is
                about one of the images.
        """
        found = {str(image): [] for image in image_ids}
        for number, line in enumerate(read_lines(path), 1):
            if line.strip():
                image, question = cls._read(path, f"line {number}", line)
                found.get(image, []).append(question)
        if not any(found.values()):
            raise malformed(path, "", "it asks about none of the images", _FIX)
        return [found[str(image)] for image in image_ids]

    @classmethod
    def _read(cls, path, where, line):
        try:
            entry = json.loads(line)
            options = entry["options"]
            texts = [entry["question"], entry["answer"], *options]
            image, kind = str(entry["image"]), str(entry.get("kind", ""))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            problem = f"it cannot be read ({error!r:.80})"
            raise malformed(path, where, problem, _FIX) from error
        several = isinstance(options, list) and len(options) > 1
        if not several or not all(isinstance(text, str) for text in texts):
            raise malformed(path, where, "a text or option is missing", _FIX)
        if options.count(entry["answer"]) != 1:
            problem = f"`answer` {entry['answer']!r:.60} is no single option"
            raise malformed(path, where, problem, _FIX)
        answer = options.index(entry["answer"])
        return image, cls(entry["question"], tuple(options), answer, kind)
