"""COCO's captions without its photographs: `python -m reproduce coco_text`.

    python -m reproduce coco_text --out DIR

Two captions of each image replace its pixels: latent semantic analysis turns
each into one position of features. The other captions are references. DIR then
holds `dataset_coco.json` and `features.npy`, which all papers' commands read
(`--data coco --root DIR`), and `about.json`. The splits are our own: train2014
is `train`; 5,000 images of val2014, drawn by a seed, are `test`, 5,000 others
are `val`, and the rest is `restval`.

Such features tell what annotators found worth mentioning, which photographs do
not. `about.json` and the output measure this leak: scores of the first of the
two captions itself, and of a caption of the nearest training image. Scores on
these data are not comparable with those of models that see photographs.
"""

import argparse
import json
import pathlib
import time

import numpy as np

from reproduce.latent_semantics import LatentSemantics
from tfcap._io import command
from tfcap._io import make_folder
from tfcap._io import whole_file
from tfcap.data import save_features
from tfcap.text import caption_tokenize
from tfcap.text import coco_captions
from tfcap.text import evaluate_captions

#: Captions that replace an image.
SOURCES = 2
_HELD_OUT = 5000


@command(ValueError, ImportError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    begun, out = time.perf_counter(), pathlib.Path(options.out)
    make_folder(out)
    images = read_images(options.seed, options.held_out)
    print(f"{len(images):,} images; features of {SOURCES} captions of each")
    texts = [caption for image in images for caption in image["sources"]]
    words = [*map(caption_tokenize, texts)]
    train = [image["split"] == "train" for image in images]
    known = [x for x, learn in zip(words, np.repeat(train, SOURCES)) if learn]
    semantics = LatentSemantics(known, options.size, options.min_count)
    features = semantics(words).reshape(len(images), SOURCES, options.size)
    _write(out, images, features)
    about = {
        "seed": options.seed,
        "images": {
            split: sum(image["split"] == split for image in images)
            for split in ("train", "restval", "val", "test")
        },
        "references": sum(len(image["references"]) for image in images),
        "words": len(semantics.words),
        "explained": semantics.explained,
        "test scores": _leak(images, features),
        "seconds": time.perf_counter() - begun,
    }
    with whole_file(out / "about.json", "w") as file:
        json.dump(about, file, indent=1)
    print(_described(about))
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce coco_text",
        description="Makes a data set of COCO's captions, without photographs.",
    )
    add = parser.add_argument
    add("--out", required=True, help="folder to write")
    add("--seed", type=int, default=0, help="of splits and captions; default 0")
    add("--size", type=int, default=256, help="of the features; default: 256")
    add("--min-count", type=int, default=5, help="of words; default: 5")
    add(
        "--held-out",
        type=int,
        default=_HELD_OUT,
        help="images of val, and of test; default: 5000",
    )
    return parser


def read_images(seed: int, held_out: int):
    """Images of COCO, their captions divided into sources and references.

    Returns:
        List of dicts: `id`, `filename`, `split`, the lists of strings
        `sources`, of which features are made, and `references`.
    """
    rng, images = np.random.default_rng(seed), []
    for part in ("train2014", "val2014"):
        captions = coco_captions(part)
        # Drawn for both parts, so that a seed makes what it made before.
        order = rng.permutation(list(captions)).tolist()
        names = dict.fromkeys(order, "train")
        if part == "val2014":
            if 2 * held_out > len(captions):
                raise ValueError(
                    "`--held-out` must leave two parts of val2014, of "
                    f"{len(captions):,} images. Received: --held-out "
                    f"{held_out}."
                )
            names = dict.fromkeys(order, "restval")
            names.update(dict.fromkeys(order[:held_out], "test"))
            names.update(dict.fromkeys(order[held_out : 2 * held_out], "val"))
        for image_id, (texts, filename) in captions.items():
            order = rng.permutation(len(texts))
            images.append(
                {
                    "id": image_id,
                    "filename": filename,
                    "split": names[image_id],
                    "sources": [texts[k] for k in order[:SOURCES]],
                    "references": [texts[k] for k in order[SOURCES:]],
                }
            )
    return images


def _write(out, images, features):
    """Writes the captions in Karpathy's layout, and the features."""
    content = {
        "dataset": "coco",
        "images": [
            {
                "cocoid": image["id"],
                "filename": image["filename"],
                "split": image["split"],
                "sentences": [{"raw": text} for text in image["references"]],
            }
            for image in images
        ],
    }
    with whole_file(out / "dataset_coco.json", "w") as file:
        json.dump(content, file)
    save_features(
        out / "features.npy",
        [image["id"] for image in images],
        features,
        backbone="latent semantic analysis of two captions",
    )


def _leak(images, features):
    """Scores of captions that no model generated, on the test split."""
    split = np.array([image["split"] for image in images])
    train, test = np.flatnonzero(split == "train"), split == "test"
    rows = np.flatnonzero(test)
    references = [images[row]["references"] for row in rows]
    means = features.mean(1)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    nearest = np.concatenate(
        [
            train[(means[part] @ means[train].T).argmax(1)]
            for part in np.array_split(rows, max(1, len(rows) // 512))
        ]
    )
    said = {
        "a source": [images[row]["sources"][0] for row in rows],
        "of the nearest": [images[row]["references"][0] for row in nearest],
        "of any": [
            images[row]["references"][0]
            for row in np.random.default_rng(0).choice(train, len(rows))
        ],
    }
    metrics = ["bleu", "rouge_l", "cider_d"]
    return {
        name: {
            metric: float(scores.corpus)
            for metric, scores in evaluate_captions(
                captions, references, metrics
            ).scores.items()
        }
        for name, captions in said.items()
    }


def _described(about):
    lines = [
        ", ".join(f"{n:,} {split}" for split, n in about["images"].items())
        + f" images, {about['references']:,} references",
        f"{about['words']:,} words; the features hold "
        f"{about['explained']:.0%} of the variance of the captions' words",
        "test split, captions that no model generated:",
    ]
    lines += [
        f"  {name:16} CIDEr-D {scores['cider_d']:.3f}, BLEU-4 "
        f"{scores['bleu_4']:.3f}, ROUGE-L {scores['rouge_l']:.3f}"
        for name, scores in about["test scores"].items()
    ]
    return "\n".join([*lines, f"{about['seconds']:.0f} s"])
