"""Images that look alike to a retriever."""

import os

import numpy as np

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap.data import nearest_neighbors
from tfcap.training import from_chief
from tfcap.training import is_chief


def mined_neighbors(retriever, batches, path, k: int = 5):
    """The k images nearest to each one, found now unless they were before.

    Returns:
        Int32 array of shape `(M, k)`, for the `neighbors` of
        `tfcap.data.CaptionBatches`.

    Raises:
        ValueError: If the file is another split's, or has fewer neighbours.
    """
    image_ids = np.array(np.asarray(batches.captions.image_ids).tolist())
    if from_chief(os.path.exists(path)):
        kept = load_arrays(path, ("image_ids", "rows"))
        rows = kept["rows"]
        same = np.array_equal(kept["image_ids"], image_ids)
        if not same or rows.shape[1] < k:
            raise ValueError(
                f"`path` must hold {k} neighbours of each image of the split. "
                f"Received: path={str(path)!r}, which holds {rows.shape[1]} of "
                f"{len(rows)} images{'' if same else ', other ones'}. Name "
                "another."
            )
        return rows[:, :k]
    key = getattr(retriever, "image_key", "image")
    images = [
        np.asarray(retriever.embed_images(inputs[key], training=False))
        for inputs, _ in batches.evaluation()
    ]
    rows = from_chief(nearest_neighbors(np.concatenate(images), k))
    if is_chief():
        save_arrays(path, {"image_ids": image_ids, "rows": rows})
    return rows
