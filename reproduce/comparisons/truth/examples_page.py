"""A page of captions and of what in them is false.

    python -m reproduce.comparisons.truth.examples_page OUT --page examples.html

Without `--page`, the same as a table of Markdown.
"""

import argparse
import html
import sys

import numpy as np

from reproduce.captioning.load_data import load_data
from reproduce.comparisons.truth.paper import TRUTH
from reproduce.point_log import kept_report
from reproduce.sweep_options import list_of
from reproduce.world.truth import read_caption
from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html
from tfcap._io import command

_STYLE = """
th:first-child { width: 9rem; }
"""
#: What is before a claim that is false, and around words that are not read.
_FALSE, _UNREAD = "\u2717", "?"


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce.comparisons.truth.examples_page",
        description="Shows captions of a sweep, and what in them is false.",
    )
    add = parser.add_argument
    add("sweep", help="folder of a sweep of `python -m reproduce truth`")
    add("--methods", type=list_of(str), default=list(TRUTH.default))
    add("--data", choices=[*TRUTH.settings], default="world")
    add("--root", help="folder of built worlds")
    add("--seed", type=int, default=0, help="of the speakers (default 0)")
    add("--images", type=int, default=8, help="how many are drawn (default 8)")
    add("--page", metavar="FILE", help="write HTML with the pictures")
    options = parser.parse_args(arguments)
    settings = TRUTH.settings[options.data]
    data = load_data(options.data, settings, options.root)
    said = {
        row: report.captions
        for row in options.methods
        if (report := _report(options, row, data)) is not None
    }
    if not said:
        raise ValueError(
            "`sweep` must keep captions. Received: "
            f"{options.sweep!r}, with none of seed {options.seed}."
        )
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(len(data.test), options.images, replace=False))
    people = [texts[0].lower() for texts in data.test.texts]
    said = {"people": people, **said}
    truth = data.truth("test")
    if options.page:
        write_examples(options.page, said, truth, rows, data.test_images)
    else:
        print(markdown_examples(said, truth, rows))
    return 0


def _report(options, row, data):
    point = {"method": row, "seed": options.seed}
    report = kept_report(options.sweep, TRUTH, point)
    ids = list(data.test.image_ids)
    if report is not None and list(report.image_ids) != ids:
        raise ValueError(
            "`sweep` must be of the test split of --data. Received: "
            f"{options.sweep!r}, with captions of other images than those of "
            f"--data {options.data}."
        )
    return report


def write_examples(path, said: dict, truth, rows, images=None):
    """Writes a page of HTML: captions, and the claims that are false.

    Args:
        path: String or path.
        said: Dict of captions of all images by the name of who says them.
        truth: `reproduce.world.truth.Truth` of these images.
        rows: Integers, the images to show.
        images: Callable from a row to a picture. Defaults to `None`, none.
    """
    cards = []
    for row in map(int, rows):
        shown = picture(images(row) if images else None, f"image {row}")
        lines = [
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(captions[row])}"
            f"</td><td>{html.escape(faults(truth, captions[row], row))}</td>"
            f"<td>{_worth(truth, captions[row], row)}</td></tr>"
            for name, captions in said.items()
        ]
        cards.append(
            f"<article><figure>{shown}<figcaption>image {row}</figcaption>"
            '</figure><div class="scroll"><table><thead><tr><th>who</th>'
            "<th>caption</th><th>false, or not read</th><th>true / said</th>"
            f"</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
            "</article>"
        )
    note = (
        f"{_FALSE} a claim that is false, {_UNREAD} words that claim nothing "
        "that can be read. Images are drawn by chance."
    )
    title = "Captions, and what in them is false"
    write_html(path, title, [note], cards, _STYLE)


def markdown_examples(said: dict, truth, rows) -> str:
    """The same as a table of Markdown.

    Example:

    >>> from reproduce.comparisons.truth.examples_page import markdown_examples
    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.truth import Truth
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> truth = Truth([Scene("grass", (ball,))])
    >>> print(markdown_examples({"f1": ["a blue ball on on"]}, truth, [0]))
    | image | who | caption | false, or not read | true / said |
    |---|---|---|---|---|
    | 0 | f1 | a blue ball on on | ✗ blue; ? on on | 1 / 2 |
    """
    lines = [
        "| image | who | caption | false, or not read | true / said |",
        "|---|---|---|---|---|",
    ]
    for row in map(int, rows):
        for name, captions in said.items():
            wrong = faults(truth, captions[row], row)
            worth = _worth(truth, captions[row], row)
            cells = str(row), name, captions[row], wrong, worth
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def faults(truth, caption, row) -> str:
    """Text of the false claims of a caption, and of its unread words."""
    judged, claims = truth.judge(caption, row), read_caption(caption)
    wrong = [
        " ".join([_FALSE, claim.value, _about(claims, claim)]).strip()
        for claim in judged.claims
        if not claim.true
    ]
    unread = [f"{_UNREAD} {' '.join(claims.unread)}"] if claims.unread else []
    return "; ".join([*wrong, *unread])


def _about(claims, claim):
    """The noun phrases that a claim is about, where they are several."""
    if len(claim.mentions) < 2:
        return ""
    one, other = (claims.mentions[i] for i in claim.mentions)
    return f"({one}, {other})"


def _worth(truth, caption, row):
    claims = truth.judge(caption, row).claims
    return f"{sum(claim.true for claim in claims)} / {len(claims)}"


if __name__ == "__main__":
    sys.exit(main())
