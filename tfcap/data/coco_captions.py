"""Reading files of captions, as data sets are published."""

import os
from collections import Counter

from tfcap._io import malformed
from tfcap._io import paused_collection
from tfcap._io import read_json
from tfcap._io.json_file import read_bytes
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.caption_split import is_caption
from tfcap.data.caption_split import keep_captions
from tfcap.data.caption_tables import read_records
from tfcap.data.caption_tables import read_table
from tfcap.data.entry_problems import FIX
from tfcap.data.entry_problems import ONE
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import is_left_out
from tfcap.data.entry_problems import warn_of_repeated
from tfcap.data.entry_problems import warn_of_sentences
from tfcap.data.entry_problems import warn_of_splits
from tfcap.data.entry_problems import warn_of_unread
from tfcap.data.entry_problems import warn_of_words
from tfcap.data.image_names import ImageNames
from tfcap.data.image_names import whole_number
from tfcap.data.split_lists import choose_splits
from tfcap.data.split_lists import take_splits

#: Keys of an image's id in Karpathy's files, the first that is there.
_IDS = ("cocoid", "imgid")
_LAYOUTS = (
    "Give a COCO annotation file (`images`, `annotations` with `image_id` "
    "and `caption`), a file of Karpathy's (`images` with `sentences`), or a "
    "table or list of images and captions."
)
#: What a file of JSON begins with, after the mark and zeros of encodings.
_JSON, _MARK = (b"[", b"{", b""), b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
#: Splits of nocaps, which are read together unless one is asked for.
_DOMAINS = frozenset(("in-domain", "near-domain", "out-domain", ""))


@paused_collection()
def load_captions(
    path: str | os.PathLike,
    split: str | list[str] | None = None,
    skip_empty: bool = False,
    split_files: dict | None = None,
) -> CaptionSplit:
    """Reads a file of captions, as data sets are published.

    - annotations of COCO and files like them (VizWiz, nocaps, STAIR): captions
      that VizWiz marks by `is_rejected` or `is_precanned` do not count; the
      domains of nocaps are splits;
    - splits of Karpathy (COCO, Flickr8k, Flickr30k, RSICD, UCM);
    - a table: `Flickr8k.token.txt`, `results_20130124.token`, `tgif-v1.0.tsv`,
      Kaggle's `captions.txt` and `results.csv`, or any text whose first line
      names columns such as `image,caption`. Several captions of an image are
      rows, columns with numbers, or a list;
    - a list of rows in JSON, such as TextCaps' `data`.

    Which it is shows in the file. Every entry is checked, and what is wrong is
    named with the entries, since a caption too few shows in no score.

    Args:
        path: String or path, gzipped or not.
        split: String or list of strings, optional, which splits to read;
            several may be joined by a plus, `"train+restval"`, and `"all"` are
            all. Must be given if the file, or `split_files`, has several.
        skip_empty: Boolean, whether captions without words, and images
            without captions, are left out instead of refused; the result says
            how many (`skipped_captions`, `skipped_images`). Defaults to
            `False`.
        split_files: Dict of split name to the path of a list of its images
            (see `read_image_ids()`), optional. Defaults to the splits in the
            file; where it has none, to the lists of Flickr8k or TGIF beside
            it, as `"train"`, `"val"` and `"test"`.

    Returns:
        A `CaptionSplit`, in the order of the images in the file. Image ids
        are those of COCO, where a file of Karpathy's has them, or else the
        file's own; where it has file names alone, these are the ids, but for
        photos of Flickr, which are known by the number that names begin with,
        and GIFs of TGIF, known by the last part of the URL. Five captions of
        Flickr8k are of an image that does not exist,
        `2258277193_586949ec62.jpg.1`, and are left out.

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
    content = read_bytes(path)
    if content.lstrip(_MARK)[:1] not in _JSON:
        whole, problems = read_table(path, content, skip_empty)
    else:
        content = read_json(path, content=content, layout=_LAYOUTS)
        images = content.get("images") if isinstance(content, dict) else None
        rows = content.get("data") if isinstance(content, dict) else content
        if images and isinstance(images, list) and "annotations" in content:
            whole, problems = _read_coco(path, content, skip_empty)
        elif images and isinstance(images, list):
            own = split if split_files is None else "all"
            whole, problems = _read_karpathy(path, images, own, skip_empty)
            if split_files is None:
                return keep_captions(whole, problems, skip_empty)
        elif isinstance(rows, list):
            whole, problems = _read_rows(path, rows, skip_empty)
        else:
            problem = "`images` is no list of images"
            raise malformed(path, "", problem, _LAYOUTS)
    if (split, split_files) == (None, None) and _DOMAINS >= {*whole.splits}:
        split = "all"
    chosen = take_splits(whole, split, split_files)
    return keep_captions(chosen, problems, skip_empty)


def _read_rows(path, rows, skip_empty):
    """Rows of JSON, such as TextCaps' `data` or LAVIS' lists."""
    if any(not isinstance(row, dict) for row in rows):
        i = next(i for i, row in enumerate(rows) if not isinstance(row, dict))
        raise malformed(path, f"entry {i}", "there is no object", _LAYOUTS)
    rows = [{k.strip().lower(): v for k, v in row.items()} for row in rows]
    if all(row.keys() <= {"image_id", "caption", "id"} for row in rows):
        raise malformed(
            path,
            "",
            "the content is a list, as in a file of results",
            f"{_LAYOUTS} Results come first where both are given.",
        )
    records = [(f"entry {i}", row) for i, row in enumerate(rows)]
    return read_records(path, records, skip_empty)


def _read_coco(path, content, skip_empty):
    problems = EntryProblems(path)
    images = content["images"]
    ids = _image_ids(images, problems, ("id",))
    found, names = {image_id: [] for image_id in ids}, ImageNames(ids)
    annotations = content["annotations"]
    if not isinstance(annotations, list) or not annotations:
        problem = "`annotations` is no list of annotations"
        raise malformed(path, "", problem, _LAYOUTS)
    for i, annotation in enumerate(annotations):
        where = f"annotation {i}"
        if not isinstance(annotation, dict):
            problems.add("there is no object", where, FIX)
            continue
        image_id = whole_number(annotation.get("image_id"))
        if is_image_id(image_id) and image_id not in found:
            rows = names.find(image_id)
            image_id = ids[rows[0]] if len(rows) == 1 else image_id
        if not is_image_id(image_id) or image_id not in found:
            problem = "`image_id` is that of no image in `images`"
            problems.add(problem, f"{where}: {image_id!r:.40}", FIX)
            continue
        text, where = annotation.get("caption"), f"{where}, image {image_id!r}"
        if is_left_out(annotation, where, problems):
            found[image_id].append("")
        elif is_caption(text, "caption", where, problems, skip_empty):
            found[image_id].append(text)
    files = _texts(images, ids, "file_name", problems)
    named = any("split" in image for image in images)
    splits = _texts(images, ids, "split" if named else "domain", problems)
    problems.check()
    warn_of_repeated(path, (a.get("id") for a in annotations), "annotations")
    warn_of_unread(path, annotations, "annotations", ("split", "domain"))
    warn_of_unread(
        path, images, "images", read=("split", "domain", "file_name")
    )
    captions = list(found.values())
    whole = CaptionSplit(ids, captions, files, splits, source=str(path))
    return whole, problems


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
            problems.add(problem, f"image {image_id!r}", FIX)
            sentences = []
        for i, sentence in enumerate(sentences):
            where = f"image {image_id!r}, sentence {i}"
            text = sentence.get("raw") if isinstance(sentence, dict) else None
            is_caption(text, "raw", where, problems, skip_empty)
        kept.append(sentences)
    folders = _texts(images, ids, "filepath", problems)
    names = _texts(images, ids, "filename", problems)
    problems.check()
    tokens = _tokens(ids, kept, problems)
    problems.check()
    captions = [[sentence["raw"] for sentence in row] for row in kept]
    warn_of_sentences(path, images, ids)
    warn_of_unread(path, [x for row in kept for x in row], "sentences")
    warn_of_unread(
        path, images, "images", read=("split", "filepath", "filename")
    )
    if tokens is not None:
        warn_of_words(path, ids, captions, tokens)
    for image_id, texts, row in zip(ids, captions, kept):
        for i, sentence in enumerate(row):
            where = f"image {image_id!r}, sentence {i}"
            if is_left_out(sentence, where, problems):
                texts[i] = ""
    problems.check()
    whole = CaptionSplit(
        image_ids=ids,
        captions=captions,
        filenames=["/".join(filter(None, x)) for x in zip(folders, names)],
        splits=[image.get("split", "") for image in images],
        tokens=tokens,
        source=str(path),
    )
    return whole, problems


def _choose(path, images, split):
    """The images of some splits."""
    if not any(isinstance(x, dict) and "sentences" in x for x in images):
        problem = "there are neither `annotations` nor `sentences` of images"
        raise malformed(path, "", problem, _LAYOUTS)
    for i, image in enumerate(images):
        if not isinstance(image, dict):
            raise malformed(path, f"image {i}", "there is no object", FIX)
    problems = EntryProblems(path)
    named = any("split" in image for image in images)
    for i, image in enumerate(images):
        # One that is not whole would be in no split.
        if named and not isinstance(image.get("split"), str):
            problems.add("`split` is no text", f"image number {i}", FIX)
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
            problems.add(problem, f"image number {i}", FIX)
        elif image_id in seen:
            problems.add("an image is there again", f"{image_id!r}", ONE)
        ids.append(image_id)
        seen.add(image_id if is_image_id(image_id) else None)
    problems.check()
    return ids


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
                problems.add("`tokens` is no list of words", where, FIX)
    return tokens


def _texts(images, ids, key, problems):
    """A text of each image, which may be absent."""
    texts = [image.get(key, "") for image in images]
    for image_id, text in zip(ids, texts):
        if not isinstance(text, str):
            problems.add(f"`{key}` is no text", f"image {image_id!r}", FIX)
    return texts
