"""A page of images and of the several captions that speakers have for each."""

import html
from collections import Counter

import numpy as np

from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html

_STYLE = """
th:first-child { width: 7rem; }
td ol { margin: 0; padding: 0; list-style: none; }
.times { color: var(--quiet); font-variant-numeric: tabular-nums; }
tr.human td { color: var(--quiet); }
"""


def write_several_page(
    path,
    several,
    human,
    images=None,
    count=12,
    seed: int = 0,
    title: str | None = None,
    note: str = "",
):
    """Sets several captions of an image by several speakers side by side.

    Captions that are alike stand there once, with how often they were said.
    Which images are shown is drawn by chance: none is there for being a good
    example.

    Args:
        several: Dict of a speaker's name to its captions, a list of M lists
            of strings, such as `Evaluator.diversity().captions`.
        images: Function from an image's row to a uint8 array of shape
            `(height, width, 3)` or to None, such as `CaptionData.test_images`.
            With `filenames`, these are shown, too. Defaults to `None`, no
            pictures.
        count: Integer, at most how many images to show. Defaults to `12`.

    Raises:
        ValueError: If there is no speaker, or one is of other images.

    Example:

    >>> import pathlib, tempfile
    >>> from reproduce.sle.several_page import write_several_page
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> said = {"sll": [["a dog", "a dog", "one dog"]]}
    >>> write_several_page(path, said, [["A dog runs."]])
    >>> path.read_text(encoding="utf-8").count("<article>")
    1

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, figures 2 and 4
    """
    _check(several, human)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(human), min(count, len(human)), replace=False)
    cards = []
    for row in map(int, np.sort(rows)):
        shown = picture(images(row) if images else None, f"image {row}")
        by_method = {name: captions[row] for name, captions in several.items()}
        names = getattr(images, "filenames", None)
        named = names[row] if names else ""
        cards.append(_card(row, shown, named, human[row], by_method))
    title = title or f"Several captions of {', '.join(several)}"
    write_html(path, title, [note] if note else [], cards, _STYLE)


def _check(several, human):
    if not several:
        raise ValueError(
            "`several` must hold the captions of one speaker at least. "
            f"Received: several={several!r}."
        )
    for name, captions in several.items():
        if len(captions) != len(human):
            raise ValueError(
                "`several` must hold a list of captions for each image of "
                f"`human`. Received: {len(captions)} lists of {name!r} for "
                f"{len(human)} images. Take both of one split."
            )


def _card(row, shown, named, human, by_method):
    lines = [_line("human", human, "human")]
    lines += [_line(name, captions) for name, captions in by_method.items()]
    return "\n".join(
        [
            f"<article><figure>{shown}<figcaption>",
            f'<span class="number">image {row}</span>{html.escape(named)}',
            "</figcaption></figure>",
            '<div class="scroll"><table><thead>',
            "<tr><th>speaker</th><th>captions</th></tr></thead><tbody>",
            *lines,
            "</tbody></table></div></article>",
        ]
    )


def _line(name, captions, kind=""):
    items = "".join(
        f"<li>{html.escape(text) or '<i>(says nothing)</i>'}{_times(n)}</li>"
        for text, n in Counter(captions).items()
    )
    kind = f' class="{kind}"' if kind else ""
    return (
        f"<tr{kind}><td>{html.escape(name)}</td><td><ol>{items}</ol></td></tr>"
    )


def _times(number):
    return f' <span class="times">\u00d7\u2009{number}</span>' * (number > 1)
