"""Writing ranks as the Visual Dialog Challenge takes them."""

import json

import numpy as np

from tfcap.io import whole_file


def write_visdial_ranks(path, dialogs, ranks):
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
    there = np.all(options >= 0, axis=-1)
    _check_dialogs(dialogs, there)
    _check_permutations(dialogs, ranks, there)
    entries = [
        {
            "image_id": int(dialogs.image_ids[row]),
            "round_id": int(turn) + 1,
            "ranks": ranks[row, turn].tolist(),
        }
        for row, turn in np.argwhere(there)
    ]
    with whole_file(path, "w") as file:
        json.dump(entries, file)
    return len(entries)


def _check_dialogs(dialogs, there):
    without = np.flatnonzero(~there.any(axis=-1))
    if without.size:
        images = np.asarray(dialogs.image_ids)[without]
        raise ValueError(
            "`dialogs` must have options to rank, all N of them, in a round of "
            f"each dialog. Received: {len(without)} dialogs without, such as "
            f"of the images {images[:3].tolist()}. Leave them out with "
            "`select()`."
        )


def _check_permutations(dialogs, ranks, there):
    size = ranks.shape[-1]
    wrong = np.any(np.sort(ranks, axis=-1) != np.arange(1, size + 1), axis=-1)
    wrong &= there
    if wrong.any():
        row, turn = np.argwhere(wrong)[0]
        raise ValueError(
            f"`ranks` must be a permutation of 1..{size} in every round. "
            f"Received: in {wrong.sum()} rounds others, the first of image "
            f"{dialogs.image_ids[row]}, round {turn + 1}: "
            f"{ranks[row, turn].tolist()!s:.60}. Pass `ordinal_ranks(scores)`, "
            "which breaks ties."
        )
