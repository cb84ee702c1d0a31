"""A page of images and of what speakers say of them."""

import html

import numpy as np

from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html

_STYLE = """
th:first-child { width: 25%; }
th.rank, td.rank { width: 6.5rem; text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
table.scores { width: auto; table-layout: auto; }
.scores th:first-child { width: auto; padding-right: 2rem; }
.scores td:not(:first-child), .scores th:not(:first-child) {
  text-align: right; font-variant-numeric: tabular-nums; }
tr.human td { color: var(--quiet); }
details { color: var(--quiet); margin-top: .6rem; font-size: .9rem; }
summary { cursor: pointer; }
ul { margin: .3rem 0 0; padding-left: 1.1rem; }
"""
#: Scores at the top of the page.
_SCORES = {
    "cider_d": ("CIDEr-D", ".3f"),
    "bleu_4": ("BLEU-4", ".3f"),
    "lm_log_prob": ("log prob / word", ".2f"),
    "fixed_r@10": ("R@10, fixed listener", ".1f"),
    "unseen_r@10": ("R@10, unseen retriever", ".1f"),
    "r@1": ("R@1", ".1f"),
    "r@5": ("R@5", ".1f"),
    "r@10": ("R@10", ".1f"),
    "mean_rank": ("mean rank", ".1f"),
}
_SILENCE = "<i>(says nothing)</i>"


def write_caption_page(
    path,
    reports,
    images=None,
    filenames: list[str] | None = None,
    rows=None,
    count=12,
    seed: int = 0,
    title: str | None = None,
    note: str = "",
):
    """Sets captions of the same images side by side, as Figure 4 does.

    Each image has a human caption and that of every method, with the rank at
    which the method's listener finds the image. Which images are shown is
    drawn by chance, unless they are named: none is there for being a good
    example.

    One HTML file that needs nothing else: pictures are inside, texts are
    escaped. Signs and weight, and not colors alone, tell what differs.

    Args:
        reports: Dict of a method's name to its
            `tfcap.training.SpeakerReport`, all of the same images. Words that
            the first method does not say of an image are marked in the
            captions of the others.
        images: Function from an image's row in the reports to a uint8 array
            of shape `(height, width, 3)` or to None, such as
            `CaptionData.test_images`. Defaults to `None`, no pictures.
        filenames: List of strings, names of the images by row. Defaults to
            those of `images`, as `tfcap.data.Photographs` has them.
        count: Integer, at most how many images to draw. Defaults to `12`.

    Raises:
        ValueError: If there are no reports, or if they are of different
            images.

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
    first = _check(reports)
    size = len(first)
    if rows is None:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(size, min(count, size), replace=False))
    cards = []
    if filenames is None:
        filenames = getattr(images, "filenames", None)
    for row in rows:
        names = [f"image {first.image_ids[row]}"]
        if filenames is not None and filenames[row]:
            names.append(str(filenames[row]))
        shown = picture(images(row) if images else None, names[0])
        cards.append(_card(reports, int(row), shown, names))
    if title is None:
        title = f"What {_listed(list(reports))} say"
    lines = [note] if note else []
    lines += _legend(list(reports), size)
    write_html(path, title, lines, [_scores(reports), *cards], _STYLE)


def _check(reports):
    """The first report; raises unless all are of the same images."""
    if not reports:
        raise ValueError(
            "`reports` must hold a report of one method at least. Received: "
            f"reports={reports!r}."
        )
    (name, first), *others = reports.items()
    for other, report in others:
        if list(report.image_ids) != list(first.image_ids):
            raise ValueError(
                "`reports` must be of the same images in the same order. "
                f"Received: {len(first)} images of {name!r}, {len(report)} of "
                f"{other!r}, and not the same. Evaluate both on one split."
            )
    return first


def _listed(names):
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _legend(names, size):
    rank = (
        f"Rank: where, among all {size:,} images, the method's own listener "
        "puts this one when it hears the caption; \u2713 it comes first. The "
        f"human captions are heard by the listener of {names[0]}."
    )
    if len(names) == 1:
        return [rank]
    tint = f"On a tinted ground: words that {names[0]} does not say of it."
    return [rank, tint]


def _scores(reports):
    """The table of what the whole split has come to."""
    results = {name: report.result() for name, report in reports.items()}
    names = [k for k in _SCORES if all(k in r for r in results.values())]
    head = "".join(f"<th>{_SCORES[k][0]}</th>" for k in names)
    lines = [
        '<table class="scores"><thead>',
        f"<tr><th>all images</th>{head}</tr></thead><tbody>",
    ]
    for name, result in results.items():
        cells = [format(result[k], _SCORES[k][1]) for k in names]
        cells = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f"<tr><td>{html.escape(name)}</td>{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _card(reports, row, shown, names):
    first = next(iter(reports.values()))
    human, *more = first.references[row] or [""]
    known = {*first.captions[row].split()}
    body = [_line("human", html.escape(human), first.human_ranks[row], "human")]
    for name, report in reports.items():
        caption = report.captions[row]
        text = _marked(caption, known if report is not first else None)
        body.append(_line(name, text, report.ranks[row]))
    number, *file = map(html.escape, names)
    return "\n".join(
        [
            f"<article><figure>{shown}",
            f'<figcaption><span class="number">{number}</span>{"".join(file)}',
            '</figcaption></figure><div class="scroll"><table><thead>',
            '<tr><th>method</th><th>caption</th><th class="rank">rank</th>',
            "</tr></thead><tbody>",
            *body,
            f"</tbody></table>{_more(more)}</div></article>",
        ]
    )


def _line(name, text, rank, kind=""):
    shown = "-" if np.isnan(rank) else f"{rank:,.6g}"
    if rank == 1:
        shown = f'<span title="comes first">\u2713</span>&nbsp;{shown}'
    kind = f' class="{kind}"' if kind else ""
    return (
        f"<tr{kind}><td>{html.escape(name)}</td><td>{text or _SILENCE}</td>"
        f'<td class="rank">{shown}</td></tr>'
    )


def _marked(caption, known):
    """The caption, with runs of words that are not known marked."""
    runs = []
    for word in caption.split():
        new = known is not None and word not in known
        if not runs or runs[-1][0] != new:
            runs.append((new, []))
        runs[-1][1].append(html.escape(word))
    texts = [(new, " ".join(words)) for new, words in runs]
    return " ".join(f"<mark>{t}</mark>" if new else t for new, t in texts)


def _more(captions):
    if not captions:
        return ""
    items = "".join(f"<li>{html.escape(text)}</li>" for text in captions)
    summary = "1 more" if len(captions) == 1 else f"{len(captions)} more"
    return (
        f"<details><summary>{summary} by people</summary>"
        f"<ul>{items}</ul></details>"
    )
