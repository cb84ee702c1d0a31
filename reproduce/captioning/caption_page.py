"""A page of images with captions of several speakers."""

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
article p { margin: 0.25rem 0; }
tr.human td { color: var(--quiet); }
"""


def write_caption_page(
    path, reports, images=None, note: str = "", remarks=None
):
    """Shows captions of the same images side by side, as Figure 4 does.

    Each image has a human caption and one of every method, with the rank of the
    image by the method's listener. A dozen images are drawn at random.

    One HTML file with all pictures inside. Differences are marked by signs and
    weight, and not by colors alone.

    Args:
        reports: Dict of a method's name to its
            `tfcap.training.SpeakerReport`, all of the same images. Words that
            are not in the caption of the first method are marked in the
            captions of the others.
        images: Function from an image's row in the reports to a uint8 array
            of shape `(height, width, 3)` or to `None`, such as
            `CaptionData.test_images`. If it has `filenames`, as
            `tfcap.data.Photographs` does, these are shown. Defaults to `None`,
            no pictures.
        note: String, the first line of the page. Defaults to none.
        remarks: List of a list of strings for each image, lines below its
            captions. Defaults to none.

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
        below = remarks[row] if remarks else ()
        cards.append(_card(reports, row, pixels, file, below))
    lines = [
        f"Rank: of this image among all {size:,}, by the method's own listener "
        "given the caption; \u2713 ranks first. Human captions are ranked by "
        f"the listener of {names[0]}.",
        f"Highlighted: words that are not in the caption of {names[0]}.",
    ]
    if all(np.isnan(report.ranks).all() for report in reports.values()):
        lines = lines[1:]
    title = f"Captions of {' and '.join(names)}"
    write_html(path, title, [note] * bool(note) + lines, cards, _STYLE)


def _card(reports, row, pixels, file, below):
    """An image with its captions by people and methods, and remarks."""
    first = next(iter(reports.values()))
    known, number = first.captions[row].split(), first.image_ids[row]
    human = html.escape([*first.references[row], ""][0])
    body = [_line("human", human, first.human_ranks[row], ' class="human"')]
    for name, report in reports.items():
        words = [html.escape(word) for word in report.captions[row].split()]
        if report is not first:
            words = _marked(words, {html.escape(word) for word in known})
        text = " ".join(words) or "<i>(empty)</i>"
        body.append(_line(name, text, report.ranks[row]))
    return "\n".join(
        [
            f"<article><figure>{picture(pixels, f'image {number}')}",
            f'<figcaption><span class="number">image {number}</span>'
            f"{html.escape(str(file))}</figcaption></figure>",
            '<div class="scroll"><table><thead><tr><th>method</th>',
            '<th>caption</th><th class="rank">rank</th></tr></thead><tbody>',
            *body,
            "</tbody></table>",
            *(f"<p>{html.escape(line)}</p>" for line in below),
            "</div></article>",
        ]
    )


def _line(name, text, rank, kind=""):
    shown = "-" if np.isnan(rank) else f"{rank:,.6g}"
    if rank == 1:
        shown = f'<span title="ranks first">\u2713</span>&nbsp;{shown}'
    return (
        f"<tr{kind}><td>{html.escape(name)}</td><td>{text}</td>"
        f'<td class="rank">{shown}</td></tr>'
    )


def _marked(words, known):
    """Words of a caption, with runs of new words marked."""
    runs = itertools.groupby(words, lambda word: word not in known)
    texts = [(new, " ".join(run)) for new, run in runs]
    return [f"<mark>{text}</mark>" if new else text for new, text in texts]
