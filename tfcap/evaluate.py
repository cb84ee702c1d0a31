"""Scores generated captions: `python -m tfcap.evaluate`.

    python -m tfcap.evaluate RESULTS.json REFERENCES.json

RESULTS.json holds a list of `{"image_id": 42, "caption": "a cat"}`.
REFERENCES.json is an annotation file of COCO, one of Karpathy's files with
`--split test`, or a table, as `tfcap.data.load_captions()` reads them. Prints a
table of all scores that the installed extras allow, and how to get the others.
`--json OUT.json` writes the scores of the corpus and of each image, and
`--against OTHER.json` compares two files of results. Exit status: 0; 1 if a
metric requested by name is absent; 2 if the input is wrong.
"""

import argparse
import json
import sys

from tfcap._io import can_write
from tfcap._io import command
from tfcap._io import whole_file
from tfcap._io.json_file import finite
from tfcap.data.coco_captions import load_captions
from tfcap.data.coco_instances import load_instances
from tfcap.data.entry_problems import listed
from tfcap.data.image_names import ImageNames
from tfcap.data.result_files import load_results
from tfcap.data.result_files import match_results
from tfcap.text.evaluation import METRICS
from tfcap.text.evaluation import evaluate_captions
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.progress_bar import ProgressBar
from tfcap.text.score_differences import differences_table
from tfcap.text.score_differences import score_differences
from tfcap.text.scores.chair import ObjectSynonyms

#: All but the one that only checks another one.
_DEFAULT = tuple(name for name in METRICS if name != "meteor_java")


@command(ValueError, MissingScoreError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.instances and not options.objects:
        parser.error("`--instances` needs a list of objects: --objects FILE")
    if options.json and not can_write(options.json):
        raise ValueError(
            "`--json` must be a file in a folder that can be written to. "
            f"Received: --json {options.json!r}. Make the folder first."
        )
    split = load_captions(options.references, options.split, options.skip_empty)
    ids, captions, texts = _matched(split, options)
    settings = _score_options(options, ids)
    reports = [_evaluate(said, texts, options, settings) for said in captions]
    report = reports[0]
    print(report.table())
    skipped = {
        "references": split.skipped_captions,
        "images": list(split.skipped_images),
    }
    if any(skipped.values()):
        images = skipped["images"]
        print(
            "\nLeft out as empty, or as marked rejected or precanned: "
            f"references {skipped['references']:,}, images without another "
            f"{len(images):,}{f' ({listed(images)})' if images else ''}."
        )
    kept = ("results", "references", "split", "subset")
    content = {
        **report.to_dict(ids, captions[0]),
        "settings": {name: getattr(options, name) for name in kept},
        "skipped": skipped,
    }
    if options.against:
        content["against"] = _compare(report, reports[1], options.against)
    if options.json:
        with whole_file(options.json, "w") as file:
            json.dump(content, file, indent=1, allow_nan=False)
    return int(any(name in report.absent for name in options.metrics or []))


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.evaluate",
        description="Scores generated captions against references.",
    )
    add = parser.add_argument
    add("results", help='list of {"image_id": ..., "caption": ...}')
    add(
        "references",
        help="annotations of COCO, a file of Karpathy's, or a table",
    )
    add(
        "--metrics",
        type=lambda names: names.split(","),
        metavar="NAME,NAME",
        help=f"comma-separated, any of {', '.join(METRICS)}, or all; "
        "default: all but meteor_java. Papers and leaderboards report "
        "cider_d as CIDEr; cider is the original CIDEr, which is higher",
    )
    add("--split", help="split of the references, such as test")
    add("--json", metavar="OUT", help="file to write all scores to")
    add(
        "--against",
        metavar="OTHER",
        help="other results of the same images, to print the differences of "
        "all scores with 95 percent intervals, by paired bootstrap",
    )
    add("--objects", help="objects and synonyms for CHAIR, one object a line")
    add("--instances", help="COCO's object annotations, also truth for CHAIR")
    add("--quiet", action="store_true", help="show no progress")
    add(
        "--subset",
        action="store_true",
        help="score only the images that have a result; without it, every "
        "image must have one",
    )
    add(
        "--allow-empty",
        action="store_true",
        help="score empty captions instead of rejecting them",
    )
    add(
        "--skip-empty",
        action="store_true",
        help="leave out references without words and images without "
        "references, and count them, instead of rejecting them",
    )
    return parser


def _matched(split, options):
    """Returns image ids, captions in every file, and references."""
    references, found = split.references(), []
    for path in filter(None, (options.results, options.against)):
        results = load_results(path, options.allow_empty)
        found.append(
            match_results(
                *(results, references, options.subset, path),
                *(split.skipped_images, split.filenames),
            )
        )
    ids, _, texts = found[0]
    if any(others != ids for others, _, _ in found):
        raise ValueError(
            "`--against` must name results of the same images. Received: "
            f"{options.against!r}, with other images than {options.results!r}. "
            "Leave out images that only one of the files has."
        )
    return ids, [said for _, said, _ in found], texts


def _score_options(options, ids):
    """Reads the list of objects for CHAIR, and the objects of the images."""
    if not options.objects:
        return {}
    found = {"objects": ObjectSynonyms.of(options.objects)}
    if options.instances:
        instances = load_instances(options.instances)
        names = ImageNames(instances)
        rows = [names.find(image) for image in ids]
        absent = [image for image, row in zip(ids, rows) if len(row) != 1]
        if absent:
            raise ValueError(
                "`--instances` must hold all images of the results. Received: "
                f"{options.instances!r}, where {len(absent):,} of {len(ids):,} "
                f"are missing ({listed(absent)}). Name the file of the same "
                "split."
            )
        objects = list(instances.values())
        found["annotated"] = [objects[row] for (row,) in rows]
    return found


def _evaluate(captions, texts, options, settings):
    asked = options.metrics or []
    with ProgressBar(quiet=options.quiet) as progress:
        return evaluate_captions(
            captions,
            texts,
            metrics=METRICS if "all" in asked else asked or _DEFAULT,
            progress=progress,
            **settings,
        )


def _compare(report, other, path):
    """Prints the differences of two reports, and returns them for JSON."""
    differences = score_differences(report.scores, other.scores)
    print(
        f"\nMinus {path}, paired bootstrap over {report.images:,} images:\n\n"
        f"{differences_table(differences)}"
    )
    if other.remarks:
        print("\n".join([f"\nOf {path}:", *other.remarks]))
    return {
        "results": path,
        "corpus": {k: finite(s.corpus) for k, s in other.scores.items()},
        "differences": {
            name: {key: finite(x) for key, x in found._asdict().items()}
            for name, found in differences.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
