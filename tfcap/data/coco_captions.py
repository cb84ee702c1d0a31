"""Reading captions as COCO and as Karpathy publish them."""

import os
from collections import Counter

from tfcap.data.caption_split import SKIP
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import keep_captions
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import warn_of_repeated
from tfcap.data.entry_problems import warn_of_sentences
from tfcap.data.entry_problems import warn_of_splits
from tfcap.data.entry_problems import warn_of_words
from tfcap.data.image_names import whole_number
from tfcap.data.split_lists import choose_splits
from tfcap.io import malformed
from tfcap.io import paused_collection
from tfcap.io import read_json

#: Keys of an image's id in Karpathy's files, the first that is there.
_IDS = ("cocoid", "imgid")
_FIX = "Correct the file, or get it again from where it is published."
_LAYOUTS = (
    "Give a COCO annotation file (`images`, `annotations` with `image_id` "
    "and `caption`) or a file of Karpathy's (`images` with `sentences`)."
)


@paused_collection()
def load_captions(
    path: str | os.PathLike,
    split: str | list[str] | None = None,
    skip_empty: bool = False,
) -> CaptionSplit:
    """Reads a file of captions: COCO's annotations, or Karpathy's splits.

    Which of the two it is shows in the file. Every entry is checked, and what
    is wrong is named with the entries, since a caption too few shows in no
    score.

    Args:
        path: String or path, `captions_val2014.json` or `dataset_coco.json`
            and files like them, gzipped or not.
        split: String or list of strings, optional, which of Karpathy's splits
            to read; several may be joined by a plus, `"train+restval"`, and
            `"all"` are all. Must be given if the file has several.
        skip_empty: Boolean, whether captions without words, and images
            without captions, are left out instead of refused; the result says
            how many (`skipped_captions`, `skipped_images`). Defaults to
            `False`.

    Returns:
        A `CaptionSplit`, in the order of the images in the file. Image ids
        are those of COCO, where a file of Karpathy's has them, else its own.

    Raises:
        ValueError: If the file is cut off or malformed, or has no such split.
            Names the file, the first few entries, and what to do.

    Example:

    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.json"
    >>> said = [{"image_id": 4, "caption": "A cat."}]
    >>> content = {"images": [{"id": 4}], "annotations": said}
    >>> _ = path.write_text(json.dumps(content))
    >>> tfcap.data.load_captions(path).references()
    {4: ['A cat.']}

    Reference:

    - Chen et al., Microsoft COCO Captions: Data Collection and Evaluation
      Server, 2015
    - Karpathy and Fei-Fei, Deep Visual-Semantic Alignments for Generating
      Image Descriptions, CVPR 2015, whose splits these are
    """
    content = read_json(path, layout=_LAYOUTS)
    if isinstance(content, list):
        raise malformed(
            path,
            "",
            "the content is a list, as in a file of results",
            f"{_LAYOUTS} Results come first where both are given.",
        )
    images = content.get("images") if isinstance(content, dict) else None
    annotated = isinstance(content, dict) and "annotations" in content
    if not isinstance(images, list) or not images:
        problem = "`images` is no list of images"
        raise malformed(path, "", problem, _LAYOUTS)
    if annotated:
        return _read_coco(path, content, split, skip_empty)
    if any(
        isinstance(image, dict) and "sentences" in image for image in images
    ):
        return _read_karpathy(path, images, split, skip_empty)
    problem = "there are neither `annotations` nor `sentences` of images"
    raise malformed(path, "", problem, _LAYOUTS)


def _read_coco(path, content, split, skip_empty):
    if split not in (None, "all"):
        raise ValueError(
            "`split` must be left out for a COCO annotation file, which has "
            f"no splits. Received: split={split!r}, path={str(path)!r}."
        )
    problems = EntryProblems(path)
    ids = _image_ids(content["images"], problems, ("id",))
    found = {image_id: [] for image_id in ids}
    annotations = content["annotations"]
    if not isinstance(annotations, list) or not annotations:
        problem = "`annotations` is no list of annotations"
        raise malformed(path, "", problem, _LAYOUTS)
    for i, annotation in enumerate(annotations):
        where = f"annotation {i}"
        if not isinstance(annotation, dict):
            problems.add("there is no object", where, _FIX)
            continue
        image_id = whole_number(annotation.get("image_id"))
        if not is_image_id(image_id) or image_id not in found:
            problem = "`image_id` is that of no image in `images`"
            problems.add(problem, f"{where}: {image_id!r:.40}", _FIX)
            continue
        text, where = annotation.get("caption"), f"{where}, image {image_id!r}"
        if _is_caption(text, "caption", where, problems, skip_empty):
            found[image_id].append(text)
    names = _texts(content["images"], ids, "file_name", problems)
    problems.check()
    warn_of_repeated(path, (a.get("id") for a in annotations), "annotations")
    whole = CaptionSplit(
        image_ids=ids,
        captions=list(found.values()),
        filenames=names,
        splits=[""] * len(ids),
        source=str(path),
    )
    return keep_captions(whole, problems, skip_empty)


def _read_karpathy(path, images, split, skip_empty):
    whole, images = images, _choose(path, images, split)
    problems = EntryProblems(path)
    ids = _image_ids(images, problems, _IDS)
    _check_apart(whole, images, ids, problems)
    kept = []
    for image_id, image in zip(ids, images):
        sentences = image.get("sentences")
        if not isinstance(sentences, list):
            problem = "`sentences` is no list"
            problems.add(problem, f"image {image_id!r}", _FIX)
            sentences = []
        for i, sentence in enumerate(sentences):
            where = f"image {image_id!r}, sentence {i}"
            text = sentence.get("raw") if isinstance(sentence, dict) else None
            _is_caption(text, "raw", where, problems, skip_empty)
        kept.append(sentences)
    folders = _texts(images, ids, "filepath", problems)
    names = _texts(images, ids, "filename", problems)
    problems.check()
    tokens = _tokens(ids, kept, problems)
    problems.check()
    captions = [[sentence["raw"] for sentence in row] for row in kept]
    warn_of_sentences(path, images, ids)
    if tokens is not None:
        warn_of_words(path, ids, captions, tokens)
    whole = CaptionSplit(
        image_ids=ids,
        captions=captions,
        filenames=["/".join(filter(None, x)) for x in zip(folders, names)],
        splits=[image.get("split", "") for image in images],
        tokens=tokens,
        source=str(path),
    )
    return keep_captions(whole, problems, skip_empty)


def _choose(path, images, split):
    """The images of some splits."""
    for i, image in enumerate(images):
        if not isinstance(image, dict):
            raise malformed(path, f"image {i}", "there is no object", _FIX)
    problems = EntryProblems(path)
    named = any("split" in image for image in images)
    for i, image in enumerate(images):
        # One that is not whole would be in no split.
        if named and not isinstance(image.get("split"), str):
            problems.add("`split` is no text", f"image number {i}", _FIX)
    problems.check()
    names = [image.get("split", "") for image in images]
    wanted = choose_splits(split, Counter(names), path)
    warn_of_splits(path, Counter(names), wanted)
    return [image for image, name in zip(images, names) if name in wanted]


def _check_apart(whole, chosen, ids, problems):
    """Refuses an image of the chosen splits that is in another one, too."""
    known, objects = set(ids), set(map(id, chosen))
    for image in whole:
        key = next((key for key in _IDS if key in image), None)
        other = image.get(key) if key and id(image) not in objects else None
        other = whole_number(other)
        if is_image_id(other) and other in known:
            hint = "Keep each image in one split."
            where = f"{other!r}, split {image.get('split')!r:.40}"
            problems.add("an image is in another split, too", where, hint)
    problems.check()


def _image_ids(images, problems, keys):
    """Distinct ids of images; raises with their indices otherwise."""
    ids, seen = [], set()
    for i, image in enumerate(images):
        found = image if isinstance(image, dict) else {}
        key = next((key for key in keys if key in found), keys[0])
        image_id = whole_number(found.get(key))
        if not is_image_id(image_id):
            problem = f"`{key}` is neither an integer nor some text"
            problems.add(problem, f"image number {i}", _FIX)
        elif image_id in seen:
            hint = "Keep one entry for each image."
            problems.add("an image is there again", f"{image_id!r}", hint)
        ids.append(image_id)
        seen.add(image_id if is_image_id(image_id) else None)
    problems.check()
    return ids


def _is_caption(text, key, where, problems, skip_empty):
    """Check that a caption is text; an empty one may be a problem or not."""
    if not isinstance(text, str):
        problems.add(f"`{key}` is no text", where, _FIX)
    elif not (skip_empty or text.strip()):
        problems.add(
            f"`{key}` is empty", where, f"Leave out such captions{SKIP}"
        )
    else:
        return True
    return False


def _tokens(ids, sentences, problems):
    """The words of each sentence, if sentences have them; then all must."""
    tokens = [[s.get("tokens") for s in row] for row in sentences]
    if all(words is None for row in tokens for words in row):
        return None
    for image_id, row in zip(ids, tokens):
        for i, words in enumerate(row):
            whole = isinstance(words, list)
            if not whole or not all(isinstance(w, str) and w for w in words):
                where = f"image {image_id!r}, sentence {i}"
                problems.add("`tokens` is no list of words", where, _FIX)
    return tokens


def _texts(images, ids, key, problems):
    """A text of each image, which may be absent."""
    texts = [image.get(key, "") for image in images]
    for image_id, text in zip(ids, texts):
        if not isinstance(text, str):
            problems.add(f"`{key}` is no text", f"image {image_id!r}", _FIX)
    return texts
