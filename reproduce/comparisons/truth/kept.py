"""Truth of the captions that a sweep on the embedded world keeps.

    python -m reproduce.comparisons.truth.kept psst OUT --examples 3

Nothing is trained: tables of Markdown, of any paper's sweep.
"""

import argparse
import sys

import numpy as np

from reproduce.command import PAPERS
from reproduce.command import open_paper
from reproduce.point_log import kept_report
from reproduce.score_tables import TRUTH
from reproduce.score_tables import by_row
from reproduce.score_tables import score_table
from reproduce.sweep import load_records
from reproduce.world import load_world
from reproduce.world.truth import Truth
from reproduce.world.truth import read_caption
from tfcap._io import command

#: What is before a claim that is false, and around words that are not read.
_FALSE, _UNREAD = "\u2717", "?"
_COLUMNS = {"cider_d": ("CIDEr-D", 1), "r@10": ("own R@10", 1), **TRUTH}


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce.comparisons.truth.kept",
        description="Tells how true the captions are that a sweep keeps.",
    )
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("sweep", help="folder of a sweep on the embedded world")
    parser.add_argument("--root", help="folder of built worlds")
    parser.add_argument(
        "--examples",
        type=int,
        default=0,
        metavar="N",
        help="images to show captions of, those of the first seed",
    )
    options = parser.parse_args(arguments)
    world = load_world(options.root)
    truth = Truth(world.scenes("test"))
    kept = kept_captions(
        open_paper(options.paper), options.sweep, world.image_ids("test")
    )
    runs = {
        key: {
            seed: {**record, **truth.scores(captions)}
            for seed, (record, captions) in by_seed.items()
        }
        for key, by_seed in kept.items()
    }
    print(score_table("Truth", "greedy captions", runs, _COLUMNS).markdown())
    if options.examples:
        said = {str(key): found[min(found)][1] for key, found in kept.items()}
        rng = np.random.default_rng(0)
        rows = rng.choice(len(truth), options.examples, replace=False)
        print("\n" + markdown_examples(said, truth, np.sort(rows)))
    return 0


def kept_captions(paper, sweep, image_ids):
    """Records and captions of a sweep's points, by row and seed.

    Raises:
        ValueError: If the sweep keeps no captions, or those of other images.
    """
    names, kept = ("method", "seed", *paper.axes), {}
    for record in load_records(sweep):
        settings = {k: record[k] for k in names if k in record}
        report = kept_report(sweep, paper, settings)
        if report is None:
            continue
        if list(report.image_ids) != list(image_ids):
            raise ValueError(
                "`sweep` must be of the embedded world's test split. Received: "
                f"{str(sweep)!r}, with captions of {len(report)} images, not "
                "all of them those of that split."
            )
        ((key, by_seed),) = by_row([record]).items()
        for seed in by_seed:
            kept.setdefault(key, {})[seed] = record, report.captions
    if not kept:
        raise ValueError(
            f"`sweep` must keep captions. Received: {str(sweep)!r}, with none."
        )
    return kept


def markdown_examples(said: dict, truth, rows) -> str:
    """Captions, and what in them is false, as a table of Markdown.

    Args:
        said: Dict of captions of all images by the name of who says them.
        truth: `reproduce.world.truth.Truth` of these images.
        rows: Integers, the images to show.

    Example:

    >>> from reproduce.comparisons.truth.kept import markdown_examples
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
