"""The synthetic world's captions in the layout of Karpathy's splits."""

import json
import pathlib
import re


def write_karpathy(path, splits):
    """Writes `dataset_world.json` as `dataset_coco.json` is laid out.

    Sentences keep a capital and a full stop in `raw` and lose case and
    punctuation in `tokens`, as in the published files, so that a loader meets
    both. The pixels of an image are the row of `images_{split}.npy` at its
    place among the images of its split.

    Args:
        path: Path of the file to write.
        splits: Dict of split name to `(image_ids, captions)`, a sequence of
            integers and one list of strings for each.

    Example:

    >>> import json, tempfile, pathlib
    >>> from reproduce.world.karpathy_format import write_karpathy
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "dataset_world.json"
    >>> write_karpathy(path, {"train": ([7], [["a red ball"]])})
    >>> json.loads(path.read_text())["images"][0]["sentences"][0]["tokens"]
    ['a', 'red', 'ball']
    """
    images, sentence_id = [], 0
    for split, (image_ids, captions) in splits.items():
        for image_id, sentences in zip(image_ids, captions):
            image = _image(len(images), int(image_id), split)
            for caption in sentences:
                image["sentids"].append(sentence_id)
                image["sentences"].append(
                    {
                        "tokens": re.sub(r"[^\w ]", "", caption).split(),
                        "raw": caption[0].upper() + caption[1:] + ".",
                        "imgid": image["imgid"],
                        "sentid": sentence_id,
                    }
                )
                sentence_id += 1
            images.append(image)
    text = json.dumps({"images": images, "dataset": "world"})
    pathlib.Path(path).write_text(text, encoding="utf-8")


def _image(imgid, image_id, split):
    return {
        "filepath": split,
        "sentids": [],
        "filename": f"world_{split}_{image_id:012d}.png",
        "imgid": imgid,
        "split": split,
        "sentences": [],
        "cocoid": image_id,
    }
