"""Synthetic files of the published sizes of COCO and VisDial v1.0.

Words, ids and features are drawn at random: only numbers and lengths are those
of the published files. Nothing is compressed, and no part of a file is a hole.
"""

import json
import pathlib

import numpy as np

from tfcap.data import FeatureWriter

#: Images of Karpathy's splits of COCO.
COCO = {"train": 82783, "restval": 30504, "val": 5000, "test": 5000}
#: Dialogs of VisDial v1.0, and the lengths of its lists of texts.
VISDIAL = {"train": 123287, "val": 2064}
TEXTS = {"train": (376593, 337527), "val": (18384, 18384)}
ROUNDS, OPTIONS = 10, 100
#: Height and width of the grid and width of the features: bottom-up regions
#: and VGG-19's last convolutions.
COCO_GRID = (1, 36), 2048
VISDIAL_GRID = (7, 7), 512
_FIRST_ID = 9


def write_coco(root, share=1.0, seed=0):
    """Writes `dataset_coco.json` and `features.h5`.

    Args:
        root: String or path of a folder, which is made.
        share: Float, share of the images. Defaults to 1.
        seed: Integer.
    """
    root, rng = _folder(root), np.random.default_rng(seed)
    splits = np.repeat(list(COCO), _shares(COCO.values(), share))
    rng.shuffle(splits)
    sentences = _sentences(rng, 5 * len(splits) + len(splits) // 400, 10.5, 3e4)
    counts = np.full(len(splits), 5)
    counts[: len(sentences) - 5 * len(splits)] += 1
    ids = _image_ids(len(splits))
    with open(root / "dataset_coco.json", "w") as file:
        file.write('{"images": [')
        start = 0
        for row, (image, split, count) in enumerate(zip(ids, splits, counts)):
            ended = start + int(count)
            about = _karpathy(row, image, split, sentences, start, ended)
            file.write(f"{', ' * bool(row)}{json.dumps(about)}")
            start = ended
        file.write('], "dataset": "coco"}')
    _write_features(root / "features.h5", ids, COCO_GRID, rng)


def write_visdial(root, share=1.0, seed=0):
    """Writes `visdial_1.0_train.json`, `..._val.json`, `image_features.h5`.

    Args:
        root: String or path of a folder, which is made.
        share: Float, share of the dialogs. Defaults to 1.
        seed: Integer.
    """
    root, rng = _folder(root), np.random.default_rng(seed)
    sizes = dict(zip(VISDIAL, _shares(VISDIAL.values(), share)))
    ids = _image_ids(sum(sizes.values()))
    first = 0
    for split, size in sizes.items():
        chosen = ids[first : first + size]
        texts = _shares(TEXTS[split], share)
        path = root / f"visdial_1.0_{split}.json"
        _write_dialogs(path, split, chosen, texts, rng)
        first += size
    _write_features(root / "image_features.h5", ids, VISDIAL_GRID, rng)


def _karpathy(row, image, split, sentences, start, ended):
    name = f"COCO_val2014_{image:012d}.jpg"
    said = [
        {
            "tokens": words,
            "raw": f"{' '.join(words)}.",
            "imgid": row,
            "sentid": number,
        }
        for number, words in enumerate(sentences[start:ended], start)
    ]
    return {
        "filepath": "val2014",
        "sentids": list(range(start, ended)),
        "filename": name,
        "imgid": row,
        "split": str(split),
        "sentences": said,
        "cocoid": image,
    }


def _write_dialogs(path, split, ids, texts, rng):
    """Writes one split of dialogs, a dialog at a time."""
    questions = [" ".join(x) for x in _sentences(rng, texts[0], 6.5, 1e4)]
    answers = [" ".join(x) for x in _sentences(rng, texts[1], 5.5, 1e4)]
    captions = _sentences(rng, len(ids), 10.5, 1e4)
    head = {"questions": questions, "answers": answers}
    with open(path, "w") as file:
        file.write(f'{{"version": "1.0", "split": "{split}", "data": ')
        file.write(json.dumps(head)[:-1] + ', "dialogs": [')
        for row, (image, caption) in enumerate(zip(ids, captions)):
            options = rng.integers(len(answers), size=(ROUNDS, OPTIONS))
            truth = rng.integers(OPTIONS, size=ROUNDS)
            asked = rng.integers(len(questions), size=ROUNDS).tolist()
            turns = [
                {
                    "question": question,
                    "answer": listed[gt],
                    "gt_index": gt,
                    "answer_options": listed,
                }
                for question, listed, gt in zip(
                    asked, options.tolist(), truth.tolist()
                )
            ]
            dialog = {"image_id": image, "caption": " ".join(caption)}
            content = json.dumps({**dialog, "dialog": turns})
            file.write(f"{', ' * bool(row)}{content}")
        file.write("]}}")


def _write_features(path, ids, grid, rng):
    """Writes features between 1/2 and 1, all bits of which are random."""
    (height, width), size = grid
    shape = height * width, size
    with FeatureWriter(path, ids, (height, width), size) as writer:
        for rows in np.array_split(np.arange(len(ids)), len(ids) // 256 + 1):
            bits = rng.integers(
                2**64,
                size=len(rows) * shape[0] * size // 4 + 1,
                dtype=np.uint64,
            )
            bits = bits.view(np.uint16)[: len(rows) * shape[0] * size]
            values = (bits & 0x3FF | 0x3800).view(np.float16)
            writer.write(rows, values.reshape(len(rows), *shape))


def _sentences(rng, number, length, words):
    """Lists of words, as many as Zipf's law makes of each."""
    lengths = np.clip(rng.poisson(length - 3, number) + 3, 3, 40)
    ends = np.cumsum(lengths)
    ranks = np.exp(rng.random(int(ends[-1])) * np.log(words)).astype(int)
    names = np.array([f"w{rank}" for rank in range(int(words) + 1)], object)
    said = names[ranks].tolist()
    return [said[end - n : end] for end, n in zip(ends, lengths)]


def _image_ids(number):
    """Distinct numbers with gaps, in rising order."""
    return [_FIRST_ID + 4 * row for row in range(number)]


def _shares(sizes, share):
    return [max(1, round(share * size)) for size in sizes]


def _folder(root):
    root = pathlib.Path(root)
    root.mkdir(parents=True, exist_ok=True)
    return root
