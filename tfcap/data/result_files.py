"""Files of results, as the evaluation servers of COCO and VisDial take them."""

import json
import os

import numpy as np
from numpy.typing import NDArray

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io import whole_file
from tfcap._io.file_limits import limit
from tfcap._io.file_limits import raise_limit
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import is_image_id
from tfcap.data.entry_problems import listed
from tfcap.data.image_names import ImageNames
from tfcap.data.image_names import whole_number

_LAYOUT = 'Give a list of {"image_id": ..., "caption": ...}.'
_ONE = "Keep one caption for each image."


def load_results(path: str | os.PathLike, allow_empty: bool = False) -> dict:
    """Reads a file of results: one caption for each image.

    Args:
        path: String or path of a JSON file, gzipped or not, with a list of
            `{"image_id": 42, "caption": "a cat"}`. Other keys are skipped,
            and `42.0` is 42.
        allow_empty: Boolean, whether a caption may have no words. Defaults to
            `False`: it mostly means that something went wrong.

    Returns:
        Dict of image id to caption, in the order of the file.

    Raises:
        ValueError: If the file is cut off or malformed. Names the file, the
            first few entries and their number, and what to do.

    Example:

    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.json"
    >>> _ = path.write_text(json.dumps([{"image_id": 4, "caption": "a cat"}]))
    >>> tfcap.data.load_results(path)
    {4: 'a cat'}
    """
    entries = read_json(path, layout=_LAYOUT)
    if isinstance(entries, dict) and "image_id" in entries:
        raise malformed(path, "", "there is one entry and no list", _LAYOUT)
    if not isinstance(entries, list):
        raise malformed(
            path,
            "",
            "the content is no list, as in a file of references",
            f"{_LAYOUT} References come second where both are given.",
        )
    if not entries:
        raise malformed(path, "", "the list is empty", _LAYOUT)
    problems = EntryProblems(path)
    results, most = {}, limit("TFCAP_MAX_WORDS")
    for i, entry in enumerate(entries):
        where = f"entry {i}"
        if not isinstance(entry, dict):
            problems.add("there is no object", where, _LAYOUT)
            continue
        image_id = whole_number(entry.get("image_id"))
        caption = entry.get("caption")
        if not is_image_id(image_id):
            problem = "`image_id` is neither an integer nor some text"
            if "image_id" not in entry:
                problem = "`image_id` is missing"
            problems.add(problem, where, _LAYOUT)
            continue
        where = f"{where}, image {image_id!r}"
        if image_id in results:
            problems.add("an image is there again", where, _ONE)
        elif not isinstance(caption, str):
            problem = "`caption` is no text"
            if "caption" not in entry:
                problem = "`caption` is missing"
            problems.add(problem, where, _LAYOUT)
        elif not (allow_empty or caption.strip()):
            hint = (
                "Give each image a caption, or pass `allow_empty=True` "
                "(--allow-empty) to have them scored as no words."
            )
            problems.add("`caption` is empty", where, hint)
        elif len(caption) > most and len(caption.split()) > most:
            problem = f"`caption` has more than {most:,} words"
            problems.add(problem, where, raise_limit("TFCAP_MAX_WORDS"))
        results[image_id] = caption
    problems.check()
    return results


def match_results(
    results: dict,
    references: dict,
    subset: bool = False,
    path: str | os.PathLike = "results",
    skipped=(),
    filenames=(),
) -> list:
    """Puts results beside the references of their images.

    Ids may be written in different ways where it is plain what they mean: `42`,
    `"42"`, `"000000000042"` and `"COCO_val2014_000000000042.jpg"` are one
    image, as are a file's path, its name and its name without the ending. Where
    results are not of ids, they may be of file names, all of them.

    Args:
        results: Dict of image id to caption.
        references: Dict of image id to list of captions.
        subset: Boolean, whether images without a result are left out. Their
            references then count nowhere, not in document frequencies either.
            Defaults to `False`: every image must have a result.
        path: String or path of the results, for the messages.
        skipped: Ids of images that have no references and whose results are
            left out, see `CaptionSplit.skipped_images`. Defaults to none.
        filenames: Names of the images' files, in the order of the references,
            see `CaptionSplit.filenames`. Defaults to none.

    Returns:
        List of image ids, in the order of the references, list of their
        results, and list of their lists of references.

    Raises:
        ValueError: If there are results of images without references, images
            without a result, or two results of one image. Names the first few,
            and their number.

    Example:

    >>> tfcap.data.match_results({1: "a cat"}, {1: ["cat"], 2: ["dog"]}, True)
    ([1], ['a cat'], [['cat']])
    """
    known = list(references)
    skipped = [image for image in skipped if image not in references]
    names = [[*known, *skipped], list(filenames)]
    found = min(
        (_named_images(results, known + skipped, x) for x in names),
        key=lambda rows: len(rows[1]),
    )
    of, unknown, twice = found
    if unknown:
        raise ValueError(
            "`results` must be of images that have references. Received: "
            f"path={str(path)!r}, where {len(unknown):,} of {len(results):,} "
            f"are of other images ({listed(unknown)}), while there are "
            f"references of {listed(known)}. See that the references are those "
            "of these images, that the split is the right one, and write ids "
            "the same way in both files."
        )
    if twice:
        raise ValueError(
            "`results` must hold one caption for each image. Received: "
            f"path={str(path)!r}, where {len(twice):,} ids mean an image that "
            f"is there already ({listed(twice)}). {_ONE}"
        )
    absent = [i for i in references if i not in of]
    if absent and not subset:
        raise ValueError(
            "`results` must hold a caption for every image. Received: "
            f"path={str(path)!r}, where {len(absent):,} of "
            f"{len(references):,} images have none ({listed(absent)}). "
            "Caption them, or pass `subset=True` (--subset) to score only the "
            "images that have a result."
        )
    ids = [i for i in references if i in of]
    return ids, [results[of[i]] for i in ids], [references[i] for i in ids]


def _named_images(results, image_ids, names):
    """Results by the ids of their images, and those of none and of one again.

    A result is of no image, too, if it may be of several.
    """
    names = ImageNames(names)
    of, unknown, twice = {}, [], []
    for name in results:
        rows = names.find(name)
        if len(rows) != 1:
            unknown.append(name)
        elif image_ids[rows[0]] in of:
            twice.append(name)
        else:
            of[image_ids[rows[0]]] = name
    return of, unknown, twice


def write_visdial_ranks(
    path: str | os.PathLike, dialogs, ranks: NDArray
) -> int:
    """Writes a file of ranks in the format of the challenge's server.

    A list of `{"image_id": 42, "round_id": 1, "ranks": [...]}`, an object for
    each round that has options, `round_id` counted from 1: of the challenge's
    test split the last round of every dialog, of other splits all. `ranks[n]`
    is the rank of option `n`.

    Args:
        path: String or path of the file.
        dialogs: `VisDialSplit` or `EncodedDialogs` of M dialogs.
        ranks: Integer array of shape `(M, R, N)`, in every round that has
            options a permutation of 1..N, such as
            `tfcap.metrics.ordinal_ranks(scores)`; other rounds are skipped.

    Returns:
        Integer, number of rounds that were written.

    Raises:
        ValueError: If the shape is not that of the options, if a round's
            ranks are no permutation of 1..N, or if a dialog has no options
            at all. Names the image and the round.

    Reference:

    - Visual Dialog Challenge, https://visualdialog.org/challenge, test split
    """
    ranks, options = np.asarray(ranks), dialogs.options
    if ranks.shape != options.shape or ranks.dtype.kind not in "iu":
        raise ValueError(
            "`ranks` must be integers, one for each option. Received: "
            f"ranks.shape={ranks.shape} of {ranks.dtype}, for options of shape "
            f"{options.shape}. Pass `ordinal_ranks(scores)`."
        )
    valid = np.all(options >= 0, axis=-1)
    _check_dialogs(dialogs, valid)
    _check_permutations(dialogs, ranks, valid)
    entries = [
        {
            "image_id": int(dialogs.image_ids[row]),
            "round_id": int(turn) + 1,
            "ranks": ranks[row, turn].tolist(),
        }
        for row, turn in np.argwhere(valid)
    ]
    with whole_file(path, "w") as file:
        json.dump(entries, file)
    return len(entries)


def _check_dialogs(dialogs, valid):
    without = np.flatnonzero(~valid.any(axis=-1))
    if without.size:
        images = np.asarray(dialogs.image_ids)[without]
        raise ValueError(
            "`dialogs` must have options to rank, all N of them, in a round of "
            f"each dialog. Received: {len(without)} dialogs without, such as "
            f"of the images {images[:3].tolist()}. Leave them out with "
            "`select()`."
        )


def _check_permutations(dialogs, ranks, valid):
    size = ranks.shape[-1]
    wrong = np.any(np.sort(ranks, axis=-1) != np.arange(1, size + 1), axis=-1)
    wrong &= valid
    if wrong.any():
        row, turn = np.argwhere(wrong)[0]
        raise ValueError(
            f"`ranks` must be a permutation of 1..{size} in every round. "
            f"Received: in {wrong.sum()} rounds others, the first of image "
            f"{dialogs.image_ids[row]}, round {turn + 1}: "
            f"{ranks[row, turn].tolist()!s:.60}. Pass `ordinal_ranks(scores)`, "
            "which breaks ties."
        )
