"""Contrastive loss of images and texts."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import gather_across_replicas
from tfcap._ops import masked_logsumexp
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import config_of
from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap._ops.sequences import at_least_float32
from tfcap._ops.sequences import check_shapes
from tfcap.losses.masked_loss import reduce_loss
from tfcap.losses.retrieval_loss import DIRECTIONS
from tfcap.losses.retrieval_loss import RetrievalLoss
from tfcap.losses.retrieval_loss import check_directions
from tfcap.losses.retrieval_loss import checked_pairs
from tfcap.losses.retrieval_loss import other_images
from tfcap.losses.retrieval_loss import own_effects
from tfcap.losses.retrieval_loss import present_texts
from tfcap.losses.retrieval_loss import rows_present
from tfcap.losses.retrieval_loss import with_distractors

COMBINATIONS = ("mean", "sum")


def bidirectional_contrastive_loss(
    images: Any,
    texts: Any,
    temperature: float = 0.07,
    directions=DIRECTIONS,
    combine="mean",
    decoupled: bool = True,
    siblings: bool = False,
    rivals: Any = None,
    rival_mask: Any = None,
    distractors: Any = None,
    distractor_same: Any = None,
    same: Any = None,
    mask: Any = None,
    reduction=None,
    distractor_mask: Any = None,
) -> Any:
    """Contrasts matching images and texts with others, in both directions.

    ```
    s(v, w) = dot(v, w) / temperature
    contrast = logsumexp(s of the others) - s(v, w)                  decoupled
    contrast = logsumexp(s of the others and of (v, w)) - s(v, w)    otherwise
    loss = mean or sum of contrast over other images v' of s(v', w)
                      and contrast over other texts w' of s(v, w')
    ```

    Without decoupling, the mean is the symmetric InfoNCE of CLIP; with it, the
    decoupled contrastive loss, which is negative if a pair stands out. Times
    a small temperature, it approaches the score of the best other minus that
    of the pair. A direction without others adds 0.

    The others are those of the batch, on all replicas. An image or a text
    that occurs `k` times among them counts as often, which adds up to
    `log(k)`.

    Args:
        images: Float tensor of shape `(B, D)`, usually unit vectors.
        texts: Float tensor of shape `(B, S, D)`, S texts of each image.
        temperature: Float, scalar tensor or `keras.Variable`. To learn it, let
            the model scale the embeddings of its images, and set this to 1.
        directions: Tuple of `"image"` and `"text"`, the kind of the others:
            text-to-image and image-to-text retrieval. Defaults to both.
        combine: `"mean"` or `"sum"`, of both directions.
        decoupled: Boolean, whether the pair itself is left out of the sum.
        siblings: Boolean, whether the other texts of the same image are among
            the others, as for captions that compete. Defaults to `False`, as
            for true captions.
        rivals: Float tensor of shape `(B, R, D)`, R additional texts of each
            image among the others, or `None`.
        rival_mask: Tensor of shape `(B, R)`, 0 for absent rivals. Defaults to
            `None`, all present.
        distractors: Float tensor of shape `(N, D)`, additional images among
            the others, or `None`.
        distractor_same: Integer tensor of shape `(N,)`, numbers of the
            distractors as in `same`, so that an image is not its own
            distractor. Defaults to `None`, all are other images.
        same: Integer tensor of shape `(B,)`: rows with equal numbers show the
            same image. A row with a negative number shows an image of its
            own. Defaults to `None`, all differ.
        mask: Tensor of shape `(B, S)`, 0 for absent texts. The image of a row
            without texts is not a negative. Defaults to `None`, all present.
        reduction: `None`, `"mean"` or `"sum"`. The mean is over present texts
            of all replicas, this replica's share.
        distractor_mask: Tensor of shape `(N,)`, 0 for absent distractors.
            Defaults to `None`, all present.

    Returns:
        Float tensor of shape `(B, S)`, at least float32, 0 for absent texts,
        or a scalar if reduced.

    Example:

    >>> images = np.eye(2)
    >>> loss = tfcap.losses.bidirectional_contrastive_loss(
    ...     images, images[:, None], temperature=0.5
    ... )
    >>> print(np.array(loss).round(4))
    [[-2.]
     [-2.]]

    Reference:

    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, equation 2: the
      reward is minus the temperature times the sum, with `siblings`. The
      released code takes the mean, and sums exponentials unshifted.
    - Yeh et al., Decoupled Contrastive Learning, ECCV 2022
    - Radford et al., Learning Transferable Visual Models From Natural Language
      Supervision, ICML 2021, figure 3
    """
    check_contrastive(temperature, directions, combine)
    options = directions, decoupled, siblings
    others = rivals, rival_mask, distractors, distractor_same
    masks = same, mask, distractor_mask
    parts = contrasts(images, texts, temperature, *options, *others, *masks)
    losses = combined(parts, combine)
    return reduce_loss(losses, mask, reduction=reduction)


@keras.saving.register_keras_serializable(package="tfcap")
class BidirectionalContrastiveLoss(RetrievalLoss):
    """`bidirectional_contrastive_loss()` of embeddings, for `compile()`.

    Trains a dual encoder, such as a `tfcap.models.RetrievalListener`:

    ```
    listener.compile("adam", loss=BidirectionalContrastiveLoss())
    listener.fit(batches)
    ```

    Args:
        temperature: Float or `keras.Variable`, which is saved as its value.
        directions: Tuple of `"image"` and `"text"`. Defaults to both.
        combine: `"mean"` or `"sum"`, of both directions.
        decoupled: Boolean, whether to use the decoupled contrastive loss
            rather than symmetric InfoNCE.
        siblings: Boolean, whether the other texts of the same image are
            negatives, too.
        reduction: As in Keras. Defaults to `"sum_over_batch_size"`, the mean
            over present texts.
        dtype: String, optional.

    Call arguments:
        y_true: Integer tensor of shape `(B,)`, equal for rows that show the
            same image, or `None` if all differ: `same` of
            `bidirectional_contrastive_loss()`.
        y_pred: Float tensor of shape `(B, 1 + S, D)`: for every row the
            embedding of its image, then of its texts. A text of zeros is
            absent, and so is the image of a row without texts.
        sample_weight: Float tensor, optional, of shape `(B,)` or `(B, S)`.

    Returns:
        Float scalar tensor; of shape `(B, S)` if `reduction` is `None`.

    Example:

    >>> loss = tfcap.losses.BidirectionalContrastiveLoss(decoupled=False)
    >>> collapsed = np.ones((5, 2, 1))
    >>> print(np.exp(loss(None, collapsed)).round(4))
    5.0

    Reference:

    - Yeh et al., Decoupled Contrastive Learning, ECCV 2022
    - Radford et al., Learning Transferable Visual Models From Natural Language
      Supervision, ICML 2021, figure 3
    """

    def __init__(
        self,
        temperature=0.07,
        directions=DIRECTIONS,
        combine="mean",
        decoupled=True,
        siblings: bool = False,
        name: str = "bidirectional_contrastive_loss",
        reduction="sum_over_batch_size",
        dtype: str | None = None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        check_contrastive(temperature, directions, combine)
        self.temperature = temperature
        self.directions = tuple(directions)
        self.combine = combine
        self.decoupled = decoupled
        self.siblings = siblings

    def values_and_present(self, y_true, y_pred):
        images, texts, same, present = self.embeddings(y_true, y_pred)
        losses = bidirectional_contrastive_loss(
            images,
            texts,
            self.temperature,
            self.directions,
            self.combine,
            self.decoupled,
            self.siblings,
            same=same,
            mask=present,
        )
        return losses, present

    def get_config(self):
        return {
            **super().get_config(),
            **config_of(self, "combine decoupled siblings"),
            "temperature": float(ops.convert_to_numpy(self.temperature)),
            "directions": list(self.directions),
        }


def contrasts(
    images,
    texts,
    temperature,
    directions,
    decoupled,
    siblings,
    rivals=None,
    rival_mask=None,
    distractors=None,
    distractor_same=None,
    same=None,
    mask=None,
    distractor_mask=None,
) -> dict:
    """Computes the contrast of each direction, 0 for absent texts.

    Arguments as in `bidirectional_contrastive_loss()`.

    Returns:
        Dict from each of `directions` to a float tensor of shape `(B, S)`, at
        least float32.
    """
    if distractor_same is not None and same is None:
        raise ValueError(
            "`same` must be given with `distractor_same`, to compare images "
            "of the batch with distractors. Received: same=None."
        )
    present = rows_present(mask)
    images, texts, mask = checked_pairs(images, texts, mask)
    scale = 1 / ops.convert_to_tensor(temperature, dtype=images.dtype)
    truth = scale * ops.einsum("bd,bsd->bs", images, texts)
    other = other_images(images, same, present)  # (B, N)
    found = {}
    if "image" in directions:
        pool, keep = gather_across_replicas(images), other
        if distractors is not None:
            numbers = same, distractor_same, distractor_mask
            pool, keep = with_distractors(pool, keep, distractors, *numbers)
        scores = scale * ops.tensordot(texts, pool, axes=[[2], [1]])
        found["image"] = _contrast(scores, keep[:, None], truth, decoupled)
    if "text" in directions:
        pool, keep = text_pool(
            images, texts, mask, other, siblings, rivals, rival_mask
        )
        scores = scale * ops.tensordot(images, pool, axes=[[1], [2]])
        scores, keep = flat(scores[:, None]), flat(keep)
        found["text"] = _contrast(scores, keep, truth, decoupled)
    return {key: ops.where(mask, value, 0) for key, value in found.items()}


def combined(parts, combine):
    """Returns the mean or sum of the directions of `contrasts()`."""
    total = sum(parts.values())
    return total / len(parts) if combine == "mean" else total


def text_pool(
    images: Any,
    texts: Any,
    mask: Any,
    other: Any,
    siblings: bool,
    rivals: Any,
    rival_mask: Any,
) -> Any:
    """Gathers the texts of all replicas, and the mask of negatives.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        mask: Boolean tensor of shape `(B, S)`.
        other: Boolean tensor of shape `(B, N)`, of `other_images()`.
        rivals: Float tensor of shape `(B, R, D)`, or `None`.
        rival_mask: Tensor of shape `(B, R)`, or `None`.

    Returns:
        Float tensor of shape `(N, K, D)`, the S texts and R rivals of the
        rows of all replicas; and a boolean tensor of shape
        `(B, S or 1, N, K)`.
    """
    pool, valid = texts, mask
    if rivals is not None:
        rivals = at_least_float32(rivals)
        check_shapes(texts=(texts, "B S D"), rivals=(rivals, "B R D"))
        rivals, valid = present_texts(rivals, rival_mask, "rival_mask")
        pool = ops.concatenate([texts, rivals], axis=1)
        valid = ops.concatenate([mask, valid], axis=1)
    pool, valid = map(gather_across_replicas, (pool, valid))
    keep = _other_texts(other, images, texts, pool, siblings)
    return pool, ops.logical_and(keep, valid)


def _other_texts(other, images, texts, pool, siblings: bool):
    """Mask of the texts of the pool other than the text or those of its image.

    Args:
        other: Boolean tensor of shape `(B, N)`.
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        pool: Float tensor of shape `(N, K, D)`, S texts and the rivals.

    Returns:
        Boolean tensor of shape `(B, S or 1, N, K or 1)`.
    """
    if not siblings:
        return other[:, None, :, None]
    other = other_images(images)
    indices = ops.arange(ops.shape(texts)[1])
    elsewhere = ops.not_equal(indices[:, None], ops.arange(ops.shape(pool)[1]))
    return ops.logical_or(other[:, None, :, None], elsewhere[None, :, None])


def flat(tensor):
    """Merges the axes of rows and texts into one: `(B, S, N, K)`."""
    return ops.reshape(tensor, (*ops.shape(tensor)[:2], -1))


def _contrast(scores, keep, truth, decoupled: bool):
    """Computes the contrast of one direction.

    Args:
        scores: Float tensor of shape `(B, S or 1, N)`.
        keep: Boolean tensor of shape `(B, S or 1, N)`, true for others.
        truth: Float tensor of shape `(B, S)`.

    Returns:
        Float tensor of shape `(B, S)`.
    """
    margin = masked_logsumexp(scores, keep) - truth  # (B, S)
    if not decoupled:
        return ops.softplus(margin)
    return ops.where(ops.any(keep, axis=-1), margin, 0)


def check_contrastive(temperature, directions, combine):
    """Rejects arguments of a contrastive loss that are out of range."""
    if isinstance(temperature, int | float) and temperature <= 0:
        raise ValueError(
            "`temperature` must be positive. Received: "
            f"temperature={temperature}."
        )
    check_directions(directions)
    check_choice(combine, "combine", COMBINATIONS)


def contrast_effects(
    images: Any,
    texts: Any,
    temperature: float,
    decoupled: bool,
    siblings: bool,
    rivals: Any = None,
    rival_mask: Any = None,
    same: Any = None,
    mask: Any = None,
) -> Any:
    """Computes the effect of each text on the contrasts of the other texts.

    The equivalent of `hinge_effects()` for contrasts.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        rivals: Float tensor of shape `(B, R, D)`, or `None`.
        rival_mask: Tensor of shape `(B, R)`, or `None`.
        same: Integer tensor of shape `(B,)`, or `None`.
        mask: Tensor of shape `(B, S)`, or `None`.

    Returns:
        Float tensor of shape `(B, S)`, at least float32, 0 for absent texts.
    """
    images, texts, valid = checked_pairs(images, texts, mask)
    scale = 1 / ops.convert_to_tensor(temperature, dtype=images.dtype)
    truth = scale * ops.einsum("bd,bsd->bs", images, texts)[..., None]
    other = other_images(images, same)
    pool, keep = text_pool(
        images, texts, valid, other, siblings, rivals, rival_mask
    )
    scores = scale * ops.tensordot(images, pool, axes=[[1], [2]])
    scores = ops.where(flat(keep), flat(scores[:, None]), LARGE_NEGATIVE)
    total, without = _left_out(scores, truth, decoupled)
    effects = ops.where(flat(keep), total - without, 0)
    effects = ops.where(valid[..., None], effects, 0)
    return own_effects(ops.sum(effects, axis=(0, 1)), texts, ops.shape(pool)[1])


def _left_out(scores, truth, decoupled: bool):
    """Computes contrasts with all negatives, and with all except one.

    Args:
        scores: Float tensor of shape `(B, S or 1, N)`, -1e30 where there is no
            negative.
        truth: Float tensor of shape `(B, S, 1)`.

    Returns:
        Float tensors of shapes `(B, S, 1)` and `(B, S, N)`.
    """
    best = ops.argmax(scores, axis=-1)[..., None]
    is_best = ops.equal(best, ops.arange(ops.shape(scores)[-1]))
    total = ops.logsumexp(scores, axis=-1, keepdims=True)  # (B, S or 1, 1)
    others = masked_logsumexp(scores, ops.logical_not(is_best))[..., None]
    lonely = others <= 0.5 * LARGE_NEGATIVE
    if decoupled:
        contrast = total - truth
        # A contrast without negatives is 0.
        without_best = ops.where(lonely, 0, others - truth)
    else:
        total = ops.logaddexp(total, truth)
        contrast = total - truth
        without_best = ops.logaddexp(others, truth) - truth
    # All but the largest are at most half of the sum, so that the difference
    # is well conditioned; without the largest, the sum is taken again.
    share = ops.minimum(ops.exp(scores - total), 0.5)
    return contrast, ops.where(
        is_best, without_best, contrast + ops.log1p(-share)
    )
