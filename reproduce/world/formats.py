"""Writers of the published layouts: Karpathy's, VisDial v1.0 and TGIF."""

import itertools
import json
import os
import pathlib
import re

#: The host is reserved to be nowhere: there is nothing to download.
_URL = "https://tfcap.invalid/clips/{}.gif"


def write_karpathy(path: str | os.PathLike, splits: dict):
    """Writes `dataset_world.json` as `dataset_coco.json` is laid out.

    Sentences keep a capital and a full stop in `raw` and lose case and
    punctuation in `tokens`, as in the published files, so that a loader meets
    both. The pixels of an image are the row of `images_{split}.npy` at its
    index among the images of its split.

    Args:
        splits: Dict of split name to `(image_ids, captions)`, a sequence of
            integers and one list of strings for each.

    Example:

    >>> import json, tempfile, pathlib
    >>> from reproduce.world.formats import write_karpathy
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "dataset_world.json"
    >>> write_karpathy(path, {"train": ([7], [["a red ball"]])})
    >>> json.loads(path.read_text())["images"][0]["sentences"][0]["tokens"]
    ['a', 'red', 'ball']
    """
    images, number = [], itertools.count()
    for split, (image_ids, captions) in splits.items():
        for image_id, texts in zip(image_ids, captions):
            imgid, sentids = len(images), [next(number) for _ in texts]
            sentences = [
                {
                    "tokens": re.sub(r"[^\w ]", "", text).split(),
                    "raw": text[0].upper() + text[1:] + ".",
                    "imgid": imgid,
                    "sentid": sentid,
                }
                for text, sentid in zip(texts, sentids)
            ]
            images.append(
                {
                    "filepath": split,
                    "sentids": sentids,
                    "filename": f"world_{split}_{image_id:012d}.png",
                    "imgid": imgid,
                    "split": split,
                    "sentences": sentences,
                    "cocoid": image_id,
                }
            )
    text = json.dumps({"images": images, "dataset": "world"})
    pathlib.Path(path).write_text(text, encoding="utf-8")


def write_visdial(
    path: str | os.PathLike, split: str, image_ids, dialogs: list, options
):
    """Writes a split in the official layout, options and all.

    Questions and answers are stored once and pointed to, so the loader of
    the real data set reads the file as it is.

    Args:
        split: String, `"train"`, `"val"` or `"test"`.
    """
    questions, written = {}, []
    rows = zip(
        image_ids, dialogs, options.indices, options.gt_index, strict=True
    )
    for image_id, dialog, listed, places in rows:
        rounds = [
            {
                "question": questions.setdefault(said.question, len(questions)),
                "answer": numbers[place],
                "answer_options": numbers,
                "gt_index": place,
            }
            for said, numbers, place in zip(
                dialog.rounds, listed.tolist(), places.tolist()
            )
        ]
        written.append(
            {"image_id": image_id, "caption": dialog.caption, "dialog": rounds}
        )
    data = {
        "questions": list(questions),
        "answers": options.answers,
        "dialogs": written,
    }
    _dump(path, {"version": "1.0", "split": split, "data": data})


def write_dense_annotations(path: str | os.PathLike, image_ids, options):
    """Writes the graded relevance of candidates, as VisDial does for NDCG.

    Of one round an image, as in VisDial, each number equally often.
    """
    written = []
    for i, image_id in enumerate(image_ids):
        r = i % options.indices.shape[1]
        grades = [round(grade, 3) for grade in options.relevance[i, r].tolist()]
        written.append(
            {"image_id": image_id, "round_id": r + 1, "gt_relevance": grades}
        )
    _dump(path, written)


def _dump(path, value):
    # `dumps` runs in C as a whole, `dump` piece by piece: ten times slower.
    text = json.dumps(value, separators=(",", ":"))
    pathlib.Path(path).write_text(text, encoding="utf-8")


def write_tgif(folder: str | os.PathLike, splits: dict):
    """Writes `tgif-v1.0.tsv` and `splits/` as TGIF is laid out.

    Args:
        splits: Dict of split name to `(names, captions)`, a sequence of
            strings and one list of strings for each.

    Example:

    >>> import tempfile
    >>> from reproduce.world.formats import write_tgif
    >>> folder = tempfile.mkdtemp()
    >>> write_tgif(folder, {"val": (["video_7"], [["a red ball grows"]])})
    >>> tfcap.data.load_captions(f"{folder}/tgif-v1.0.tsv", "val").captions
    [['a red ball grows.']]
    """
    folder = pathlib.Path(folder)
    (folder / "splits").mkdir()
    lines = []
    for split, (names, captions) in splits.items():
        urls = [_URL.format(name) for name in names]
        text = "".join(f"{url}\n" for url in urls)
        (folder / "splits" / f"{split}.txt").write_text(text)
        for url, sentences in zip(urls, captions):
            lines += [f"{url}\t{caption}.\n" for caption in sentences]
    (folder / "tgif-v1.0.tsv").write_text("".join(lines), encoding="utf-8")
