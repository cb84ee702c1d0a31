"""Ranks of whole pools in both directions, a tile of the scores at a time."""

import numpy as np
from keras import ops

from tfcap.metrics.pair_scores import given_scores
from tfcap.metrics.pair_scores import pair_scores
from tfcap.metrics.ranking import check_ties
from tfcap.metrics.ranking import ndcg
from tfcap.metrics.reports import RetrievalReport
from tfcap.metrics.retrieval_counts import count_rivals
from tfcap.metrics.retrieval_counts import lay_tiles


def evaluate_retrieval(
    images=None,
    texts=None,
    ids=None,
    scores=None,
    shape=None,
    relevance=None,
    ndcg_depth=None,
    recalls=(1, 5, 10),
    ties="mean",
    block_size=4096,
    verbose=0,
):
    """Ranks texts for each image, and images for each text.

    ```
    scores[b, m]         = dot(images[b], texts[m])
    image's rank of text = rank of the best of its texts among all others'
    text's rank of image = rank of its image among all images
    ```

    Ranks are counted, not sorted: how many score higher, and how many the
    same. Each tile of the matrix is computed once, serves both directions and
    is dropped, so memory is that of the embeddings and a few tiles. A truth is
    compared as the entry of the very matrix that its rivals stand in; computed
    apart, it would differ in its last bits and break ties.

    Args:
        images: Float tensor of shape `(B, D)`, embeddings of images.
        texts: Float tensor of shape `(M, D)`, embeddings of texts.
        ids: Integer array of shape `(M,)`, each text's row of `images`; -1
            for a text of none of them, which only distracts. Defaults to
            `None`: the m-th text is the m-th image's.
        scores: Instead of embeddings: tensor or array of shape `(B, M)`, or a
            function of integer arrays `rows` and `columns` that returns
            scores of shape `(len(rows), len(columns))`. Defaults to `None`.
        shape: `(B, M)`, needed if `scores` is a function.
        relevance: Graded relevance for NDCG, at least 0: array of shape
            `(B, M)`, or a function like `scores`. Defaults to `None`: the
            truth is relevant, and there is NDCG only in a direction in which
            every query has one truth.
        ndcg_depth: Integer, ranks that gain. Defaults to `None`, all.
        recalls: Integers, the K of the recalls. Defaults to `(1, 5, 10)`.
        ties: `"mean"`, `"best"` or `"worst"`, how a truth that ties with
            wrong candidates ranks. NDCG takes the mean gain of a tie
            whatever this is. Defaults to `"mean"`: a constant scorer's mean
            rank is chance level.
        block_size: Integer; a tile holds at most its square of scores, or
            all the texts of an image. Defaults to `4096`.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        `RetrievalReport`.

    Raises:
        ValueError: If scores are NaN or embeddings not finite, `ids` points
            to no image, or arguments do not fit together.

    Example:

    >>> images = np.eye(3, dtype="float32")
    >>> texts = np.array([[3, 1, 0], [0, 2, 1], [0, 3, 2]], "float32")
    >>> print(tfcap.metrics.evaluate_retrieval(images, texts))
                     R@1     R@5    R@10  median  mean     MRR    NDCG  count
    image -> text  66.67  100.00  100.00       1  1.33  0.8333  0.8770      3
    text -> image  66.67  100.00  100.00       1  1.33  0.8333  0.8770      3

    Reference:

    - Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard
      Negatives, BMVC 2018, for the rank of the best of several captions
    """
    check_ties(ties)
    if block_size < 1 or (ndcg_depth is not None and ndcg_depth < 1):
        raise ValueError(
            "`block_size` and `ndcg_depth` must be at least 1. Received: "
            f"block_size={block_size}, ndcg_depth={ndcg_depth}."
        )
    source = pair_scores(images, texts, scores, shape)
    tiles = lay_tiles(_checked_ids(ids, source.shape), source.shape, block_size)
    by_image, by_text = count_rivals(source, tiles, verbose)
    if relevance is None:
        gains = by_image.gains(ndcg_depth), by_text.gains(ndcg_depth)
    else:
        gains = _graded_gains(source, relevance, ndcg_depth, block_size)
    return RetrievalReport(
        by_image.ranks(ties), by_text.ranks(ties), *gains, recalls
    )


def _checked_ids(ids, shape):
    images, texts = shape
    if ids is None:
        if images != texts:
            raise ValueError(
                "`ids` must say which image each text is of, unless there "
                f"are as many. Received: ids=None for {images} images and "
                f"{texts} texts. For n texts an image in order, pass "
                "`np.repeat(np.arange(images), n)`."
            )
        return np.arange(images)
    ids = np.asarray(ids)
    if ids.shape != (texts,) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"`ids` must be integers of shape ({texts},), one per text. "
            f"Received: ids of shape {ids.shape} and type {ids.dtype}."
        )
    if texts and (ids.min() < -1 or ids.max() >= images):
        raise ValueError(
            f"`ids` must be rows of the images, in [-1, {images}). Received: "
            f"values from {ids.min()} to {ids.max()}. Map a data set's own "
            "ids to rows first."
        )
    return ids.astype("int64")


def _graded_gains(source, relevance, depth, block_size):
    """NDCG by image and by text: whole rows, then whole columns."""
    shape = source.shape if callable(relevance) else None
    relevance = given_scores(relevance, shape, "relevance")
    if relevance.shape != source.shape:
        raise ValueError(
            f"`relevance` must have the scores' shape {source.shape}. "
            f"Received: relevance.shape={relevance.shape}."
        )
    pair = source, relevance
    images, texts = source.shape
    depth = depth or max(images, texts, 1)
    by_image, by_text = [np.zeros(0)], [np.zeros(0)]
    for rows in _strips(images, texts, block_size):
        strips = [x.against(slice(0, texts))(rows) for x in pair]
        by_image.append(ndcg(*map(ops.convert_to_numpy, strips), depth))
    for columns in _strips(texts, images, block_size):
        strips = [x.against(columns)(slice(0, images)) for x in pair]
        strips = [ops.convert_to_numpy(x).T for x in strips]
        by_text.append(ndcg(*strips, depth))
    return np.concatenate(by_image), np.concatenate(by_text)


def _strips(queries, candidates, block_size):
    """Slices of the queries, so that a strip is no larger than a tile."""
    step = max(1, block_size**2 // max(candidates, 1))
    return [slice(i, min(i + step, queries)) for i in range(0, queries, step)]
