"""A page of images and of what speakers say of them."""

import html
import itertools

import numpy as np

from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html

_STYLE = """
th:first-child { width: 25%; }
th.rank, td.rank { width: 6.5rem; text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
tr.human td { color: var(--quiet); }
"""


def write_caption_page(path, reports, images=None, note: str = ""):
    """Sets captions of the same images side by side, as Figure 4 does.

    Each image has a human caption and that of every method, with the rank at
    which the method's listener finds the image. Which dozen images are shown
    is drawn by chance: none is there for being a good example.

    One HTML file that needs nothing else: pictures are inside, texts are
    escaped. Signs and weight, and not colors alone, tell what differs.

    Args:
        reports: Dict of a method's name to its
            `tfcap.training.SpeakerReport`, all of the same images. Words that
            the first method does not say of an image are marked in the
            captions of the others.
        images: Function from an image's row in the reports to a uint8 array
            of shape `(height, width, 3)` or to None, such as
            `CaptionData.test_images`; with `filenames`, as
            `tfcap.data.Photographs` has them, these are shown, too. Defaults
            to `None`, no pictures.

    Example:

    >>> import pathlib, tempfile
    >>> from reproduce.captioning.caption_page import write_caption_page
    >>> report = tfcap.training.SpeakerReport(
    ...     scores={"cider_d": 0.9, "r@1": 50.0},
    ...     image_ids=[4, 9],
    ...     captions=["a dog", "a cat"],
    ...     references=[["A dog runs."], ["Two cats!"]],
    ...     ranks=np.array([1.0, 2.0]),
    ...     human_ranks=np.array([1.0, 1.0]),
    ...     each={},
    ...     absent={},
    ... )
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> write_caption_page(path, {"greedy": report})
    >>> path.read_text(encoding="utf-8").count("<article>")
    2

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, figure 4, which shows images on which the methods do about as
      well as on the mean of all
    """
    names, first = list(reports), next(iter(reports.values()))
    size, cards = len(first), []
    rows = np.random.default_rng(0).choice(size, min(12, size), replace=False)
    for row in map(int, np.sort(rows)):
        pixels = images(row) if images else None
        filenames = getattr(images, "filenames", None)
        file = filenames[row] if filenames else ""
        cards.append(_card(reports, row, pixels, file))
    lines = [
        f"Rank: where, among all {size:,} images, the method's own listener "
        "puts this one when it hears the caption; \u2713 it comes first. The "
        f"human captions are heard by the listener of {names[0]}.",
        f"On a tinted ground: words that {names[0]} does not say of it.",
    ]
    title = f"What {' and '.join(names)} say"
    write_html(path, title, [note] * bool(note) + lines, cards, _STYLE)


def _card(reports, row, pixels, file):
    """An image with its captions by people and methods."""
    first = next(iter(reports.values()))
    known, number = first.captions[row].split(), first.image_ids[row]
    human = html.escape([*first.references[row], ""][0])
    body = [_line("human", human, first.human_ranks[row], ' class="human"')]
    for name, report in reports.items():
        words = [html.escape(word) for word in report.captions[row].split()]
        if report is not first:
            words = _marked(words, {html.escape(word) for word in known})
        text = " ".join(words) or "<i>(says nothing)</i>"
        body.append(_line(name, text, report.ranks[row]))
    return "\n".join(
        [
            f"<article><figure>{picture(pixels, f'image {number}')}",
            f'<figcaption><span class="number">image {number}</span>'
            f"{html.escape(str(file))}</figcaption></figure>",
            '<div class="scroll"><table><thead><tr><th>method</th>',
            '<th>caption</th><th class="rank">rank</th></tr></thead><tbody>',
            *body,
            "</tbody></table></div></article>",
        ]
    )


def _line(name, text, rank, kind=""):
    shown = "-" if np.isnan(rank) else f"{rank:,.6g}"
    if rank == 1:
        shown = f'<span title="comes first">\u2713</span>&nbsp;{shown}'
    return (
        f"<tr{kind}><td>{html.escape(name)}</td><td>{text}</td>"
        f'<td class="rank">{shown}</td></tr>'
    )


def _marked(words, known):
    """Words of a caption, runs of those that are not known marked."""
    runs = itertools.groupby(words, lambda word: word not in known)
    texts = [(new, " ".join(run)) for new, run in runs]
    return [f"<mark>{text}</mark>" if new else text for new, text in texts]
