"""Reading files of captions, as data sets are published."""

import dataclasses
import os

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io.json_file import read_bytes
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import ImageEntries
from tfcap.data.caption_tables import read_records
from tfcap.data.caption_tables import read_table
from tfcap.data.entry_problems import FIX
from tfcap.data.entry_problems import ID
from tfcap.data.entry_problems import field
from tfcap.data.split_lists import take_splits

_LAYOUTS = (
    "Give a COCO annotation file (`images`, `annotations` with `image_id` "
    "and `caption`), a file of Karpathy's (`images` with `sentences`), or a "
    "table or list of images and captions."
)
#: What a file of JSON begins with, after the mark and zeros of encodings.
_JSON, _MARK = (b"[", b"{", b""), b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
#: Splits of nocaps, which are read together unless one is asked for.
_DOMAINS = frozenset(("in-domain", "near-domain", "out-domain", ""))
#: What VizWiz says of captions that do not count, and how: pandas writes 1.0
#: for a truth where others of a column are missing.
_LEFT_OUT = ("is_rejected", "is_precanned")
_TRUE = ("true", "1", "1.0")
#: How to do without captions that are empty, after another hint.
_SKIP = (
    ", or pass `skip_empty=True` (--skip-empty) to leave them out and count "
    "them."
)


def load_captions(
    path: str | os.PathLike,
    split: str | list[str] | None = None,
    skip_empty: bool = False,
) -> CaptionSplit:
    """Loads a caption file in any of the published formats.

    - annotations of COCO and files like them (VizWiz, nocaps, STAIR): captions
      that VizWiz marks by `is_rejected` or `is_precanned` do not count; the
      domains of nocaps are splits;
    - splits of Karpathy (COCO, Flickr8k, Flickr30k, RSICD, UCM);
    - a table: `Flickr8k.token.txt`, `results_20130124.token`, `tgif-v1.0.tsv`,
      Kaggle's `captions.txt` and `results.csv`, or any text whose first line
      names columns such as `image,caption`. Several captions of an image are
      rows, columns with numbers, or a list;
    - a list of rows in JSON, such as TextCaps' `data`.

    The format is detected. Every entry is checked, since a missing caption
    would change scores in silence, and the first wrong one is reported.

    Args:
        path: String or path, gzipped or not.
        split: String or list of strings, the splits to read; several may be
            joined by a plus, `"train+restval"`, and `"all"` reads all of
            them. Required if the file has several. A file without splits has
            those of the lists of Flickr8k or TGIF beside it, `"train"`,
            `"val"` and `"test"`. For your own lists, see
            `CaptionSplit.select()`. Optional.
        skip_empty: Boolean, whether captions without words, and images
            without captions, are left out rather than rejected; the result
            counts them (`skipped_captions`, `skipped_images`). Defaults to
            `False`.

    Returns:
        A `CaptionSplit`, in the order of the images in the file. Image ids
        are COCO's, if a file of Karpathy's has them, else the file's own; for
        file names alone, these are the ids, except for photos of Flickr, whose
        ids are the numbers at the beginning of their names, and GIFs of TGIF,
        whose ids are the last part of the URL. Five captions of Flickr8k
        belong to an image that does not exist, `2258277193_586949ec62.jpg.1`,
        and are left out.

    Raises:
        ValueError: If the file is truncated or malformed, or the split is
            missing.

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
    content = read_bytes(path)
    if content.lstrip(_MARK)[:1] not in _JSON:
        entries = read_table(path, content)
    else:
        content = read_json(path, content=content, layout=_LAYOUTS)
        images = content.get("images") if isinstance(content, dict) else None
        rows = content.get("data") if isinstance(content, dict) else content
        if isinstance(images, list) and "annotations" in content:
            entries = _read_coco(path, content)
        elif isinstance(images, list):
            entries = _read_karpathy(path, images)
        elif isinstance(rows, list):
            entries = _read_rows(path, rows)
        else:
            problem = "`images` is not a list of images"
            raise malformed(path, "", problem, _LAYOUTS)
    whole = entries.to_split()
    if split is None and _DOMAINS >= {*whole.splits}:
        split = "all"
    chosen = take_splits(whole, split)
    return _with_captions(chosen, entries.noun, skip_empty)


def _read_rows(path, rows):
    """Rows of JSON, such as TextCaps' `data` or LAVIS' lists."""
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise malformed(path, f"entry {i}", "there is no object", _LAYOUTS)
    rows = [{k.strip().lower(): v for k, v in row.items()} for row in rows]
    return read_records(path, "entry", list(enumerate(rows)))


def _read_coco(path, content):
    entries, images = ImageEntries(path, "annotation"), content["images"]
    named = any("split" in image for image in images if type(image) is dict)
    for i, image in enumerate(images):
        where = f"image number {i}"
        image_id = field(path, where, image, "id", ID)
        about = [
            field(path, where, image, key, "text", default="")
            for key in ("file_name", "split" if named else "domain")
        ]
        entries.add(where, image_id, *about)
    annotations = field(path, "", content, "annotations", "a list", _LAYOUTS)
    for i, annotation in enumerate(annotations):
        where = f"annotation {i}"
        image_id = field(path, where, annotation, "image_id", ID)
        if image_id not in entries.images:
            problem = f"`image_id` is {image_id!r:.60}, of no image"
            raise malformed(path, where, problem, FIX)
        entries.say(image_id, i, annotation, "caption")
    return entries


def _read_karpathy(path, images):
    entries = ImageEntries(path, "sentence")
    for i, image in enumerate(images):
        named = isinstance(image, dict) and "cocoid" in image
        key, where = "cocoid" if named else "imgid", f"image number {i}"
        image_id = field(path, where, image, key, ID, _LAYOUTS)
        folder, name, split = (
            field(path, where, image, key, "text", default="")
            for key in ("filepath", "filename", "split")
        )
        name = "/".join(filter(None, (folder, name)))
        entries.add(where, image_id, name, split)
        sentences = field(path, where, image, "sentences", "a list", _LAYOUTS)
        for k, sentence in enumerate(sentences):
            entries.say(image_id, k, sentence, "raw")
    return entries


def _with_captions(split, noun, skip_empty):
    """A split of texts, of whose entries each image has some that count."""
    path, tokens = split.source, []
    kept, captions, skipped, bare = [], [], 0, []
    for row, image_id in enumerate(split.image_ids):
        image, counting = f"image {image_id!r:.60}", []
        for place, entry, key in split.captions[row]:
            where = f"{image}, {noun} {place}"
            left_out = isinstance(entry, dict) and any(
                str(entry.get(name)).lower() in _TRUE for name in _LEFT_OUT
            )
            text = "" if left_out else field(path, where, entry, key, "text")
            if text.strip():
                counting.append((where, entry, text))
            elif not (skip_empty or left_out):
                hint = f"Remove such captions{_SKIP}"
                raise malformed(path, where, f"`{key}` is empty", hint)
        if not (skip_empty or split.captions[row]):
            hint = f"Take the file that has captions of such images{_SKIP}"
            raise malformed(path, image, "there is no caption", hint)
        skipped += len(split.captions[row]) - len(counting)
        if counting:
            kept.append(row)
            captions.append([text for *_, text in counting])
            tokens.append([found[:2] for found in counting])
        else:
            bare.append(image_id)
    if not kept:
        raise malformed(path, "", "there is no caption", _LAYOUTS)
    return dataclasses.replace(
        split.take(kept),
        captions=captions,
        tokens=_tokens(path, tokens) if noun == "sentence" else None,
        skipped_captions=skipped,
        skipped_images=tuple(bare),
    )


def _tokens(path, sentences):
    """The words of each sentence, if sentences have them; then all must."""
    if not any("tokens" in entry for row in sentences for _, entry in row):
        return None
    return [
        [
            field(path, where, entry, "tokens", "a list of words")
            for where, entry in row
        ]
        for row in sentences
    ]
