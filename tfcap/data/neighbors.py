"""Similar images, and wrong answers drawn as negatives."""

import numpy as np
from numpy.typing import NDArray


def nearest_neighbors(embeddings: NDArray, k, block: int = 1024) -> NDArray:
    """Finds the k nearest other rows by dot product.

    All pairs of rows are compared, a block at a time.

    Args:
        embeddings: Float array of shape `(M, D)`, usually unit vectors.
        k: Integer from 1 to `M - 1`.
        block: Integer, rows at a time. Defaults to `1024`.

    Returns:
        Int32 array of shape `(M, k)`, the other rows, nearest first, ties in
        the order of the rows.

    Raises:
        ValueError: If `k` is not in 1..M - 1.

    Example:

    >>> embeddings = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]])
    >>> tfcap.data.nearest_neighbors(embeddings, 1).ravel()
    array([1, 2, 1], dtype=int32)

    Reference:

    - Zhang et al., Distinctive Image Captioning via CLIP Guided Group
      Optimization, ECCV 2022 workshops, section 3.2: groups of similar images
    """
    embeddings = np.ascontiguousarray(embeddings, "float32")
    if embeddings.ndim != 2 or not 0 < k < len(embeddings):
        raise ValueError(
            "`k` must be in 1..M - 1 for `embeddings` of shape (M, D). "
            f"Received: k={k}, embeddings.shape={embeddings.shape}."
        )
    blocks = np.array_split(
        np.arange(len(embeddings)), range(block, len(embeddings), block)
    )
    return np.concatenate([_nearest(embeddings, x, k) for x in blocks])


def _nearest(embeddings, own, k):
    """Finds the neighbors of some rows; of equal scores, the first rows."""
    scores = embeddings[own] @ embeddings.T
    scores[np.arange(len(own)), own] = -np.inf
    least = -np.partition(-scores, k - 1, axis=1)[:, k - 1, None]
    # Scores above the k-th, then as many that tie with it as fit.
    larger, ties = scores > least, scores == least
    room = k - larger.sum(1, keepdims=True)
    chosen = larger | (ties & (np.cumsum(ties, axis=1) <= room))
    rows = np.nonzero(chosen)[1].reshape(len(own), k)
    values = np.take_along_axis(scores, rows, 1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(rows, order, 1).astype("int32")


def draw_wrong_options(
    options: NDArray, gt_index: NDArray, size: int, rng: np.random.Generator
) -> NDArray:
    """Draws wrong options of each question, without replacement.

    Args:
        options: Integer array of shape `(Q, N)`, the answer ids.
        gt_index: Integer array of shape `(Q,)`, index of the truth; -1 in
            questions without one.

    Returns:
        Integer array of shape `(Q, size)` of answer ids.
    """
    keys = rng.random(options.shape, dtype=np.float32)
    keys[np.arange(len(keys)), gt_index] = 2.0
    chosen = np.argpartition(keys, size - 1, axis=-1)[:, :size]
    return np.take_along_axis(options, chosen, axis=-1)


def draw_in_batch(
    wrong: NDArray, present: NDArray, size: int, rng: np.random.Generator
) -> NDArray:
    """Draws from the wrong options of the batch's other questions.

    Args:
        wrong: Integer array of shape `(Q, W)`.
        present: Boolean array of shape `(Q,)`, which questions exist.

    Returns:
        Integer array of shape `(Q, size)` of answer ids; -1 where there is no
        other question.
    """
    drawn = np.full((len(wrong), size), -1, np.int32)
    count, width = int(present.sum()), wrong.shape[1]
    if count < 2:
        return drawn
    pool = wrong[present].reshape(-1)
    place = rng.integers(0, (count - 1) * width, (count, size))
    own = np.arange(count)[:, None] * width
    drawn[present] = pool[np.where(place >= own, place + width, place)]
    return drawn
