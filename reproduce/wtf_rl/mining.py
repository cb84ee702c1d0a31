"""Images that look alike to a retriever."""

import os

import numpy as np

from tfcap.data import load_neighbors
from tfcap.data import nearest_neighbors
from tfcap.data import save_neighbors
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
    image_ids = batches.captions.image_ids
    if from_chief(os.path.exists(path)):
        rows = load_neighbors(path, image_ids)
        if rows.shape[1] < k:
            raise ValueError(
                f"`path` must hold {k} neighbours of each image. Received: "
                f"path={str(path)!r}, which holds {rows.shape[1]}. Name "
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
        save_neighbors(path, image_ids, rows)
    return rows
