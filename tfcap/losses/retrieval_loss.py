"""The base class of losses of images and their texts."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import gather_across_replicas
from tfcap._ops import rows_across_replicas
from tfcap._ops.arguments import check_shapes
from tfcap._ops.arguments import check_values
from tfcap._ops.replicas import outside_replicas
from tfcap.losses.masked_loss import MaskedLoss
from tfcap.losses.masked_loss import align
from tfcap.losses.masked_loss import at_least_float32

DIRECTIONS = ("image", "text")
#: Rows of a batch that may all show one image.
FEW = 4


class RetrievalLoss(MaskedLoss):
    """A Keras loss of embeddings of images and their texts.

    To write one, override `values_and_present()`, which finds in
    `embeddings()` what it reads.

    Call arguments:
        y_true: Integer tensor of shape `(B,)`, by which rows that show the
            same image are known, or `None` where all differ. Numbers that are
            one for all of a batch are refused.
        y_pred: Float tensor of shape `(B, 1 + S, D)`: of every row the
            embedding of its image, then of its texts. A text of zeros is
            absent, and so is the image of a row without any.
        sample_weight: Float tensor, optional, of shape `(B,)` or `(B, S)`.
    """

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.convert_to_tensor(y_pred, dtype=self.dtype)
        # Labels may be absent, and stay integers.
        return self.reduced(y_true, y_pred, sample_weight)

    def embeddings(self, y_true, y_pred):
        """Takes labels and predictions apart.

        Returns:
            Images `(B, D)`, texts `(B, S, D)`, the labels `(B,)` or `None`,
            and a boolean tensor `(B, S)`, which texts are present.
        """
        y_pred = at_least_float32(y_pred)
        check_shape(y_pred, "B N D", "y_pred")
        if y_true is not None:
            y_true = align(ops.convert_to_tensor(y_true), 1, "y_true")
            _check_labels(y_true)
        images, texts = y_pred[:, 0], y_pred[:, 1:]
        present = ops.any(ops.not_equal(texts, 0), axis=-1)
        return images, texts, y_true, present


def _check_labels(labels):
    """Refuses labels by which no row has a negative, or that are no labels.

    Args:
        labels: Tensor of shape `(B,)`.
    """
    remedy = (
        "Give the number of the image that every row shows, or no labels at "
        "all where all rows differ: `fit(batches)`."
    )
    dtype = keras.backend.standardize_dtype(labels.dtype)
    if "int" not in dtype and not outside_replicas():
        raise TypeError(
            "`y_true` must hold integers, by which rows that show the same "
            f"image are known. Received: y_true of {dtype}. {remedy}"
        )
    every = gather_across_replicas(labels)
    same = ops.all(ops.logical_and(every == every[0], every >= 0))
    # A last batch of a few rows may show one image by chance.
    enough = ops.shape(every)[0] >= FEW
    check_values(
        ops.logical_not(ops.logical_and(same, enough)),
        "`y_true` must distinguish images: rows of equal numbers show the same "
        "image, and are not each other's negatives. Received: one number for "
        f"all rows of a batch, from which nothing is learned. {remedy}",
    )


def checked_pairs(images: Any, texts: Any, mask: Any = None):
    """Embeddings of images and texts as the losses compute with them.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        mask: Tensor of shape `(B, S)`, 0 for texts that are absent, or
            `None`.

    Returns:
        Images and texts that are zeros where absent, and a boolean tensor of
        shape `(B, S)`, which texts are present. The image of a row without
        a text is absent.

    Raises:
        ValueError: If shapes do not fit.
    """
    images, texts = at_least_float32(images), at_least_float32(texts)
    check_shapes(images=(images, "B D"), texts=(texts, "B S D"))
    texts, valid = present_texts(texts, mask, "mask")
    if mask is not None:
        images = ops.where(rows_present(mask)[:, None], images, 0)
    return images, texts, valid


def present_texts(texts, mask, name):
    """Texts that are zeros where absent, and which are present."""
    if mask is None:
        mask = ops.ones_like(texts[..., 0])
    mask = ops.cast(mask, "bool")
    check_shapes(**{"texts": (texts, "B S D"), name: (mask, "B S")})
    # A product with what is absent would carry its infinities on.
    return ops.where(mask[..., None], texts, 0), mask


def rows_present(mask):
    """Rows that have a text, `(B,)`, by the mask of texts, or `None`, all."""
    return None if mask is None else ops.any(ops.cast(mask, "bool"), axis=1)


def other_images(images: Any, same: Any = None, present: Any = None) -> Any:
    """Mask of the rows of all replicas that show another image, and are valid.

    Args:
        images: Float tensor of shape `(B, D)`.
        same: Integer tensor of shape `(B,)`: rows of equal numbers show the
            same image. A row with a negative number is like no other.
        present: Boolean tensor of shape `(B,)`, or `None`, all are there.

    Returns:
        Boolean tensor of shape `(B, rows of all replicas)`.
    """
    rows = rows_across_replicas(images)
    other = ops.not_equal(rows[:, None], gather_across_replicas(rows))
    if present is not None:
        other = ops.logical_and(other, gather_across_replicas(present))
    if same is None:
        return other
    same = ops.convert_to_tensor(same)
    check_shapes(images=(images, "B D"), same=(same, "B"))
    return ops.logical_and(other, _apart(same, same))


def with_distractors(
    images: Any,
    keep: Any,
    distractors: Any,
    same: Any = None,
    distractor_same: Any = None,
    distractor_mask: Any = None,
):
    """Adds the distractors of all replicas to images.

    Args:
        images: Float tensor of shape `(N, D)`.
        keep: Boolean tensor of shape `(B, N)`, which are of another image.
        distractors: Float tensor of shape `(M, D)`.
        same: Integer tensor of shape `(B,)`, or `None`.
        distractor_same: Integer tensor of shape `(M,)`, the numbers of the
            distractors among those of `same`, or `None` where they are of no
            image of the batch.
        distractor_mask: Tensor of shape `(M,)`, 0 for those that are absent,
            or `None`, all are there.
    """
    distractors = at_least_float32(distractors)
    check_shapes(images=(images, "K D"), distractors=(distractors, "N D"))
    if distractor_same is None:
        other = ops.ones_like(distractors[:, 0], dtype="bool")
        other = gather_across_replicas(other)[None]
    else:
        distractor_same = ops.convert_to_tensor(distractor_same)
        check_shapes(
            distractors=(distractors, "N D"),
            distractor_same=(distractor_same, "N"),
        )
        other = _apart(ops.convert_to_tensor(same), distractor_same)
    other = ops.logical_or(other, ops.zeros_like(keep[:, :1]))
    if distractor_mask is not None:
        check_shapes(
            distractors=(distractors, "N D"),
            distractor_mask=(distractor_mask, "N"),
        )
        valid = ops.cast(distractor_mask, "bool")
        distractors = ops.where(valid[:, None], distractors, 0)
        other = ops.logical_and(other, gather_across_replicas(valid))
    distractors = gather_across_replicas(distractors)
    return (
        ops.concatenate([images, distractors], axis=0),
        ops.concatenate([keep, other], axis=1),
    )


def with_memory(
    scores: Any, keep: Any, queries: Any, memory: Any, direction: str, same: Any
):
    """Adds what a memory holds to scores and to what is scored.

    Args:
        scores: Float tensor of shape `(B, S or 1, N)`.
        keep: Boolean tensor of shape `(B, S or 1, N)`, which are negatives.
        queries: Float tensor of shape `(B, S or 1, D)`.
        memory: `tfcap.losses.CrossBatchMemory`, or `None`.
        direction: `"image"` or `"text"`, of which entries are added.
        same: Integer tensor of shape `(B,)`, or `None`.
    """
    if memory is None:
        return scores, keep
    held = memory.entries()
    vectors, valid, numbers = held["images"], held["mask"], held["numbers"]
    if direction == "text":
        vectors = ops.reshape(held["texts"], (-1, vectors.shape[-1]))
        numbers = ops.repeat(numbers, valid.shape[1])
        valid = ops.reshape(valid, (-1,))
    else:
        valid = ops.any(valid, axis=1)
    if same is not None:
        same = ops.cast(same, numbers.dtype)[:, None]
        apart = ops.logical_or(ops.not_equal(same, numbers), same < 0)
        valid = ops.logical_and(valid, apart)[:, None]  # (B, 1, N)
    vectors = ops.cast(vectors, queries.dtype)
    more = ops.tensordot(queries, vectors, axes=[[2], [1]])
    valid = ops.logical_and(valid, ops.ones_like(keep[..., :1]))
    return (
        ops.concatenate([scores, more], axis=-1),
        ops.concatenate([keep, valid], axis=-1),
    )


def _apart(same, others):
    """Mask of numbers that differ from those of all replicas, `(B, others)`."""
    differ = ops.not_equal(same[:, None], gather_across_replicas(others))
    return ops.logical_or(differ, (same < 0)[:, None])


def check_directions(directions):
    """Refuses what names no direction of a retrieval."""
    if (
        isinstance(directions, str)
        or not directions
        or not set(directions) <= set(DIRECTIONS)
    ):
        raise ValueError(
            f"`directions` must be a tuple of some of {DIRECTIONS}. "
            f"Received: directions={directions!r}."
        )
