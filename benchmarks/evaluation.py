"""Scores 5,000 captions end to end: from files to a table.

python benchmarks/evaluation.py

A file of results and one of references, five an image, the captions of
`host_scores.py`: read, tokenized, and scored by BLEU-1 to 4, ROUGE-L and
CIDEr-D; `all_scores.py` has METEOR, too. "ours" is `python -m tfcap.evaluate`,
its start-up included; the peer is pycocoevalcap with its Java tokenizer, in a
process that has started. The limit is our command with BLEU alone: it starts,
reads and tokenizes.
"""

import json
import os
import subprocess
import sys
import tempfile

from paired import Row
from paired import main


def write_files(folder, candidates, references):
    """Paths of results and references as COCO has them."""
    images = range(len(candidates))
    pairs = enumerate(zip(images, references))
    annotations = [
        {"id": 10 * i + n, "image_id": image, "caption": caption}
        for i, (image, captions) in pairs
        for n, caption in enumerate(captions)
    ]
    contents = {
        "results.json": [
            {"image_id": i, "caption": c} for i, c in enumerate(candidates)
        ],
        "references.json": {
            "images": [{"id": i, "file_name": f"{i}.jpg"} for i in images],
            "annotations": annotations,
        },
    }
    for name, content in contents.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    return [os.path.join(folder, name) for name in contents]


def command(*arguments):
    """A run of our command, which must succeed."""

    def call():
        subprocess.run(
            [sys.executable, "-m", "tfcap.evaluate", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    return call


def pycocoevalcap(results, references):
    """The same files through pycocoevalcap."""
    from host_scores import pycocoevalcap_from_text

    def call():
        with open(results) as file:
            said = {r["image_id"]: r["caption"] for r in json.load(file)}
        with open(references) as file:
            annotations = json.load(file)["annotations"]
        true = {image: [] for image in said}
        for annotation in annotations:
            true[annotation["image_id"]].append(annotation["caption"])
        captions = [said[image] for image in said]
        return pycocoevalcap_from_text(captions, list(true.values()))()

    return call


def contestants():
    import importlib.util
    import shutil

    from host_scores import raw_captions
    from host_scores import split

    # Kept until the process ends.
    folder = tempfile.TemporaryDirectory()
    paths = write_files(folder.name, *split(raw_captions()))
    ours = command(*paths, "--quiet", "--metrics", "bleu,rouge_l,cider_d")
    ours.folder = folder
    java = shutil.which("java") is not None
    there = java and importlib.util.find_spec("pycocoevalcap") is not None
    return {
        "ours": ours,
        "BLEU alone": command(*paths, "--quiet", "--metrics", "bleu"),
        "pycocoevalcap": pycocoevalcap(*paths) if there else None,
    }


ROWS = [Row("5,000 captions", "ours", "pycocoevalcap", "BLEU alone", floor=5)]

if __name__ == "__main__":
    main(contestants, ROWS)
