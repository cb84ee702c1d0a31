"""Result files in the formats of the COCO and VisDial evaluation servers."""

import json
import os

import numpy as np
from numpy.typing import NDArray

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io import whole_file
from tfcap.data.entry_problems import ID
from tfcap.data.entry_problems import field
from tfcap.data.entry_problems import listed
from tfcap.data.image_names import ImageNames

_LAYOUT = 'Give a list of {"image_id": ..., "caption": ...}.'
_ONE = "Keep one caption for each image."


def load_results(path: str | os.PathLike, allow_empty: bool = False) -> dict:
    """Reads a file of results: one caption for each image.

    Args:
        path: String or path of a JSON file, gzipped or not, with a list of
            `{"image_id": 42, "caption": "a cat"}`. Other keys are ignored,
            and `42.0` is 42.
        allow_empty: Boolean, whether a caption may have no words. Defaults to
            `False`, since an empty caption is usually a mistake.

    Returns:
        Dict of image id to caption, in the order of the file.

    Raises:
        ValueError: If the file is cut off or malformed. The message names the
            file, the entry and a remedy.

    Example:

    >>> import json, pathlib, tempfile
    >>> from tfcap.data.result_files import load_results
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.json"
    >>> _ = path.write_text(json.dumps([{"image_id": 4, "caption": "a cat"}]))
    >>> load_results(path)
    {4: 'a cat'}
    """
    entries = read_json(path, layout=_LAYOUT)
    if not isinstance(entries, list) or not entries:
        problem = "there is no list of results, as in a file of references"
        hint = f"{_LAYOUT} References come second where both are given."
        raise malformed(path, "", problem, hint)
    results = {}
    for i, entry in enumerate(entries):
        where = f"entry {i}"
        image_id = field(path, where, entry, "image_id", ID, _LAYOUT)
        where = f"{where}, image {image_id!r:.60}"
        caption = field(path, where, entry, "caption", "text", _LAYOUT)
        if image_id in results:
            raise malformed(path, where, "the image is repeated", _ONE)
        if not (allow_empty or caption.strip()):
            hint = (
                "Give each image a caption, or pass `allow_empty=True` "
                "(--allow-empty) to score them as captions without words."
            )
            raise malformed(path, where, "`caption` is empty", hint)
        results[image_id] = caption
    return results


def match_results(
    results: dict,
    references: dict,
    subset: bool = False,
    path: str | os.PathLike = "results",
    skipped=(),
    filenames=(),
) -> list:
    """Matches results with the references of their images.

    Ids may be written in different ways if their meaning is clear: `42`,
    `"42"`, `"000000000042"` and `"COCO_val2014_000000000042.jpg"` are one
    image, as are a file's path, its name and its name without the ending.
    Instead of ids, all results may have file names.

    Args:
        results: Dict of image id to caption.
        references: Dict of image id to list of captions.
        subset: Boolean, whether images without a result are left out, also
            from document frequencies. Defaults to `False`: every image must
            have a result.
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
            without a result, or two results of one image.

    Example:

    >>> from tfcap.data.result_files import match_results
    >>> match_results({1: "a cat"}, {1: ["cat"], 2: ["dog"]}, subset=True)
    ([1], ['a cat'], [['cat']])
    """
    known = list(references)
    images = [*known, *(image for image in skipped if image not in references)]
    found = (
        _named_images(results, images, names)
        for names in (images, list(filenames))
    )
    of, wrong = min(found, key=lambda pair: len(pair[1]))
    if wrong:
        raise ValueError(
            "`results` must hold one caption for each image with references. "
            f"Received: path={str(path)!r}, where {len(wrong):,} of "
            f"{len(results):,} are of other images or repeated "
            f"({listed(wrong)}), while there are references of "
            f"{listed(known)}. Check the file of references and the split, "
            "and write ids the same way in both files."
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
    """Returns results by image id, and those of unknown or repeated images."""
    names, of, wrong = ImageNames(names), {}, []
    for name in results:
        rows = names.find(name)
        if len(rows) != 1 or image_ids[rows[0]] in of:
            wrong.append(name)
        else:
            of[image_ids[rows[0]]] = name
    return of, wrong


def write_visdial_ranks(
    path: str | os.PathLike, dialogs, ranks: NDArray
) -> int:
    """Writes a file of ranks in the format of the challenge's server.

    The file is a list of `{"image_id": 42, "round_id": 1, "ranks": [...]}`,
    one object for each round that has options, with `round_id` from 1: the last
    round of every dialog in the challenge's test split, all rounds in other
    splits. `ranks[n]` is the rank of option `n`.

    Args:
        path: String or path of the file.
        dialogs: `VisDialSplit` or `EncodedDialogs` of M dialogs.
        ranks: Integer array of shape `(M, R, N)`, a permutation of 1..N in
            every round that has options, such as
            `tfcap.metrics.ordinal_ranks(scores)`; other rounds are ignored.

    Returns:
        Integer, number of rounds written.

    Raises:
        ValueError: If the shape is not that of the options, or if a round's
            ranks are not a permutation of 1..N.

    Reference:

    - Visual Dialog Challenge, https://visualdialog.org/challenge, test split
    """
    ranks, options = np.asarray(ranks), dialogs.options
    valid = np.all(options >= 0, axis=-1)
    wanted = np.arange(1, options.shape[-1] + 1)
    if ranks.shape != options.shape or (np.sort(ranks[valid]) != wanted).any():
        raise ValueError(
            f"`ranks` must be a permutation of 1..{len(wanted)} in every round "
            f"that has options. Received: ranks of shape {ranks.shape}, for "
            f"options of shape {options.shape}. Pass `ordinal_ranks(scores)`, "
            "which breaks ties."
        )
    entries = [
        {
            "image_id": int(dialogs.image_ids[row]),
            "round_id": int(turn) + 1,
            "ranks": ranks[row, turn].astype(int).tolist(),
        }
        for row, turn in np.argwhere(valid)
    ]
    with whole_file(path, "w") as file:
        json.dump(entries, file)
    return len(entries)
