"""Scores generated captions: `python -m tfcap.evaluate`.

    python -m tfcap.evaluate RESULTS.json REFERENCES.json

RESULTS.json holds a list of `{"image_id": 42, "caption": "a cat"}`.
REFERENCES.json is an annotation file of COCO, or one of Karpathy's files with
`--split test`. Prints a table; `--json OUT.json` writes the scores of the
corpus and of each image. Exit status: 0; 1 if a metric that was asked for by
name is absent; 2 if a file is not as it should be.
"""

import argparse
import json
import sys
import time

from tfcap.data.coco_captions import load_captions
from tfcap.data.entry_problems import listed
from tfcap.data.result_files import load_results
from tfcap.data.result_files import match_results
from tfcap.io import can_write
from tfcap.io import command
from tfcap.io import whole_file
from tfcap.text.evaluation import DEFAULT_METRICS
from tfcap.text.evaluation import METRICS
from tfcap.text.evaluation import evaluate_captions
from tfcap.text.java.ptb_tokenizer import ptb_tokenize
from tfcap.text.missing_score import MissingScoreError


@command(ValueError, MissingScoreError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    return _run(_parser().parse_args(arguments))


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.evaluate",
        description="Scores generated captions against references.",
    )
    add = parser.add_argument
    add("results", help='list of {"image_id": ..., "caption": ...}')
    add("references", help="annotations of COCO, or a file of Karpathy's")
    add(
        "--metrics",
        type=_metrics,
        metavar="NAME,NAME",
        help=f"any of {', '.join(METRICS)}, with commas between, or all; "
        f"default: {', '.join(DEFAULT_METRICS)}. What papers and leaderboards "
        "call CIDEr is cider_d; cider is the plain one, which is higher",
    )
    add("--split", help="split of Karpathy's file, such as test")
    add("--json", metavar="OUT", help="file to write all scores to")
    add(
        "--subset",
        action="store_true",
        help="score only the images that have a result; without it, every "
        "image must have one",
    )
    add(
        "--allow-empty",
        action="store_true",
        help="score empty captions as no words instead of refusing them",
    )
    add(
        "--skip-empty",
        action="store_true",
        help="leave out references without words and images without "
        "references, and say how many, instead of refusing them",
    )
    add(
        "--tokenizer",
        choices=["tfcap", "java"],
        default="tfcap",
        help="java: the one of pycocoevalcap, for comparison",
    )
    add("--java", help="path of the java for SPICE and meteor_java")
    add("--spice-home", help="folder with the models of SPICE")
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def _metrics(text):
    """Names of metrics from a list with commas."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*METRICS, "all"):
            raise argparse.ArgumentTypeError(
                f"must be among {', '.join(METRICS)}, all, with commas "
                f"between. Received: {name!r}"
            )
    return names


def _run(options):
    if options.json:
        _check_writable(options.json)
    results = load_results(options.results, options.allow_empty)
    split = load_captions(options.references, options.split, options.skip_empty)
    ids, captions, texts = match_results(
        results,
        split.references(),
        options.subset,
        options.results,
        split.skipped_images,
    )
    asked = options.metrics or []
    report = evaluate_captions(
        captions,
        texts,
        metrics=METRICS if "all" in asked else asked or DEFAULT_METRICS,
        tokenize=ptb_tokenize if options.tokenizer == "java" else None,
        java=options.java,
        spice_home=options.spice_home,
        progress=None if options.quiet else _Progress(),
    )
    print(report.table())
    skipped = {
        "references": split.skipped_captions,
        "images": list(split.skipped_images),
    }
    if any(skipped.values()):
        print(f"\n{_told(skipped)}")
    if options.json:
        kept = ("results", "references", "split", "subset", "tokenizer")
        settings = {name: getattr(options, name) for name in kept}
        content = {**report.to_dict(ids, captions), "settings": settings}
        content["skipped"] = skipped
        _write_json(options.json, content)
    return int(any(name in report.absent for name in asked))


def _told(skipped):
    """Counts of references that were left out."""
    images = skipped["images"]
    named = f" ({listed(images)})" if images else ""
    return (
        f"Left out: {skipped['references']:,} references without words, "
        f"{len(images):,} images without references{named}."
    )


class _Progress:
    """Says on standard error what is at work, and for how long it was."""

    def __init__(self):
        self._name = None
        self._since = 0.0
        self._live = sys.stderr.isatty()

    def __call__(self, name, done, total):
        if not done:
            self._name, self._since = name, time.monotonic()
        ended = done >= total
        if name == self._name and (ended or self._live):
            spent = time.monotonic() - self._since
            text = f"{name:10}  {done:>9,}/{total:,}  {spent:6.1f} s"
            end = "\n" if ended else ""
            start = "\r" if self._live else ""
            print(f"{start}{text}", end=end, file=sys.stderr, flush=True)
        if ended:
            self._name = None


def _check_writable(path):
    """Refuses before the work what would fail after it."""
    if not can_write(path):
        raise ValueError(
            "`--json` must be a file in a folder that can be written to. "
            f"Received: --json {str(path)!r}. Make the folder first."
        )


def _write_json(path, content):
    """Writes a file whole or not at all, or to a pipe or a device."""
    with whole_file(path, "w") as file:
        file.write(json.dumps(content, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
