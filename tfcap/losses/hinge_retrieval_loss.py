"""Hinge loss of retrieval, against other images and other texts."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import gather_across_replicas
from tfcap._ops.schedules import at_step
from tfcap._ops.schedules import checked_schedule
from tfcap._ops.schedules import is_schedule
from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap.losses.masked_loss import reduce_loss
from tfcap.losses.retrieval_loss import DIRECTIONS
from tfcap.losses.retrieval_loss import RetrievalLoss
from tfcap.losses.retrieval_loss import check_directions
from tfcap.losses.retrieval_loss import checked_pairs
from tfcap.losses.retrieval_loss import other_images
from tfcap.losses.retrieval_loss import rows_present
from tfcap.losses.retrieval_loss import with_distractors

NEGATIVES = ("hardest", "sum")


def hinge_retrieval_loss(
    images: Any,
    texts: Any,
    margin: float = 0.2,
    negatives="hardest",
    directions=DIRECTIONS,
    distractors: Any = None,
    same: Any = None,
    mask: Any = None,
    reduction=None,
) -> Any:
    """Asks an image and its text to be closer than other images and texts.

    ```
    s(v, w) = dot(v, w)
    hinge(v', w') = max(0, margin + s(v', w') - s(v, w))
    loss = hardest or sum over other images v' of hinge(v', w)
         + hardest or sum over other texts w' of hinge(v, w')
    ```

    The others are those of the batch, of all replicas. The texts of one image
    are not each other's negatives.

    Args:
        images: Float tensor of shape `(B, D)`, usually unit vectors.
        texts: Float tensor of shape `(B, S, D)`, S texts of each image.
        margin: Float. Defaults to `0.2`.
        negatives: `"hardest"`, `"sum"`, or a number or `keras.Variable` from
            0, the sum, to 1, the hardest, between which the two are blended:
            hardest negatives from the start may keep a network from ever
            learning, and a callback can bring them in later. Defaults to
            `"hardest"`.
        directions: Tuple of `"image"` and `"text"`, what negatives are looked
            for among. Defaults to both.
        distractors: Float tensor of shape `(N, D)`, images that no text of the
            batch describes, or `None`.
        same: Integer tensor of shape `(B,)`: rows of equal numbers show the
            same image and are not each other's negatives. A row with a
            negative number is like no other. Defaults to `None`, all differ.
        mask: Tensor of shape `(B, S)`, 0 for texts that are absent. A row
            without any is absent itself: its image is no negative, as it
            would be among `distractors`. Defaults to `None`, all are there.
        reduction: `None`, `"mean"` or `"sum"`. The mean is over present texts
            of all replicas, this replica's share. Defaults to `None`.

    Returns:
        Float tensor of shape `(B, S)`, at least float32, 0 for absent texts,
        or a scalar if reduced.

    Example:

    >>> images = np.array([[1.0, 0.0], [0.8, 0.6]])
    >>> loss = tfcap.losses.hinge_retrieval_loss(images, images[:, None])
    >>> print(loss.numpy().round(4))
    [[0.]
     [0.]]
    >>> swapped = images[::-1, None]
    >>> loss = tfcap.losses.hinge_retrieval_loss(images, swapped)
    >>> print(loss.numpy().round(4))
    [[0.8]
     [0.8]]

    Reference:

    - Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard
      Negatives, BMVC 2018, equations 5 and 6
    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 3, where the margin is 1; their released code has 0.2, and
      sums over the batch.
    """
    losses, _ = hinges(
        images, texts, margin, negatives, directions, distractors, same, mask
    )
    return reduce_loss(losses, mask, reduction=reduction)


@keras.saving.register_keras_serializable(package="tfcap")
class HingeRetrievalLoss(RetrievalLoss):
    """`hinge_retrieval_loss()` of a model's embeddings, for `compile()`.

    Trains a `tfcap.models.RetrievalListener`:

    ```
    listener.compile("adam", loss=HingeRetrievalLoss())
    listener.fit(batches)
    ```

    Args:
        margin: Float. Defaults to `0.2`.
        negatives: `"hardest"`, `"sum"`, or a number or `keras.Variable` from
            0, the sum, to 1, the hardest; see `hinge_retrieval_loss()`. A
            schedule, a callable of `step`, is a warm-up. In the config of a
            saved model stands the value then. Defaults to `"hardest"`.
        step: Integer `keras.Variable` that counts the steps of a schedule,
            `optimizer.iterations`: a loss is not told when it trains.
            Defaults to `None`.
        directions: Tuple of `"image"` and `"text"`. Defaults to both.
        name: String. Defaults to `"hinge_retrieval_loss"`.
        reduction: As in Keras: `"sum"` is what the papers minimize. Defaults
            to `"sum_over_batch_size"`, the mean over present texts.
        dtype: String, optional.

    Call arguments:
        y_true: Integer tensor of shape `(B,)`, by which rows that show the
            same image are known, or `None` where all differ: `same` of
            `hinge_retrieval_loss()`.
        y_pred: Float tensor of shape `(B, 1 + S, D)`: of every row the
            embedding of its image, then of its texts. A text of zeros is
            absent, and so is the image of a row without any.
        sample_weight: Float tensor, optional, of shape `(B,)` or `(B, S)`.

    Returns:
        Float scalar tensor; of shape `(B, S)` if `reduction` is `None`.

    Example:

    >>> loss = tfcap.losses.HingeRetrievalLoss(reduction="sum")
    >>> collapsed = np.ones((5, 2, 1))
    >>> print(loss(None, collapsed).numpy().round(4))
    2.0

    A warm-up of 200 steps with summed negatives:

    >>> adam = keras.optimizers.Adam()
    >>> step_200 = keras.optimizers.schedules.PiecewiseConstantDecay(
    ...     [199], [0.0, 1.0]
    ... )
    >>> loss = tfcap.losses.HingeRetrievalLoss(
    ...     negatives=step_200, step=adam.iterations
    ... )

    Reference:

    - Faghri et al., VSE++, BMVC 2018, equations 5 and 6
    """

    def __init__(
        self,
        margin: float = 0.2,
        negatives="hardest",
        directions=DIRECTIONS,
        name: str = "hinge_retrieval_loss",
        reduction="sum_over_batch_size",
        dtype: str | None = None,
        step: Any = None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        if is_schedule(negatives):
            if not isinstance(step, keras.Variable):
                raise ValueError(
                    "`step` must be the variable that counts the steps of a "
                    f"schedule. Received: step={step!r}, negatives="
                    f"{negatives!r}. Give `step=optimizer.iterations`."
                )
            negatives = checked_schedule(
                negatives, "negatives", "in [0, 1]", lambda x: 0 <= x <= 1
            )
        scheduled = is_schedule(negatives)
        check_hinge(margin, 0.0 if scheduled else negatives, directions)
        self.margin = margin
        self._negatives = negatives
        self._step = step
        self.directions = tuple(directions)

    @property
    def negatives(self):
        """The negatives that count, at this step."""
        if is_schedule(self._negatives):
            return at_step(self._negatives, self._step)
        return self._negatives

    def hinges(self, y_true: Any, y_pred: Any):
        """Losses, what they were if collapsed, and presence of every text.

        Args:
            y_true: Integer tensor of shape `(B,)` or `(B, 1)`, or `None`.
            y_pred: Float tensor of shape `(B, 1 + S, D)`.

        Returns:
            Float tensors of shape `(B, S)`, the second as in `hinges()`, and a
            boolean one.
        """
        images, texts, same, present = self.embeddings(y_true, y_pred)
        losses, collapsed = hinges(
            images,
            texts,
            self.margin,
            self.negatives,
            self.directions,
            same=same,
            mask=present,
        )
        return losses, collapsed, present

    def values_and_present(self, y_true, y_pred):
        losses, _, present = self.hinges(y_true, y_pred)
        return losses, present

    def get_config(self):
        negatives = self.negatives
        if not isinstance(negatives, str):
            negatives = float(ops.convert_to_numpy(negatives))
        return {
            **super().get_config(),
            "margin": self.margin,
            "negatives": negatives,
            "directions": list(self.directions),
        }


def hinges(
    images,
    texts,
    margin,
    negatives,
    directions,
    distractors=None,
    same=None,
    mask=None,
    drawn=None,
):
    """The losses of texts, and what they would be if all scores were equal.

    That is what a network comes to that has given up: `margin` for each
    negative. Arguments as in `hinge_retrieval_loss()`; with `drawn`, booleans
    `(B, S', N)` of `S = S' * N` texts, only these are negatives.

    Returns:
        Pair of float tensors of shape `(B, S)`, at least float32.
    """
    check_hinge(margin, negatives, directions)
    present = rows_present(mask)
    images, texts, mask = checked_pairs(images, texts, mask)
    truth = ops.einsum("bd,bsd->bs", images, texts)  # s(v, w)
    other = other_images(images, same, present)  # (B, N)
    parts = []
    if "image" in directions:
        rivals, keep = gather_across_replicas(images), other
        if distractors is not None:
            rivals, keep = with_distractors(rivals, keep, distractors)
        scores = ops.tensordot(texts, rivals, axes=[[2], [1]])  # (B, S, N)
        parts.append(_hinge(scores, keep[:, None], truth, margin, negatives))
    if "text" in directions:
        if drawn is not None:
            mask = ops.logical_and(mask, ops.reshape(drawn, ops.shape(mask)))
        scores, keep = (
            x[:, None] for x in text_scores(images, texts, mask, other)
        )
        parts.append(_hinge(scores, keep, truth, margin, negatives))
    losses, collapsed = (sum(part) for part in zip(*parts))
    return losses, ops.broadcast_to(collapsed, ops.shape(losses))


def text_scores(images: Any, texts: Any, mask: Any, other: Any) -> Any:
    """Scores of images with the texts of all replicas, in one axis.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        mask: Boolean tensor of shape `(B, S)`.
        other: Boolean tensor of shape `(B, N)`, of `other_images()`.

    Returns:
        Float tensor of shape `(B, N * S)`, and a boolean one, which texts are
        present and of another image.
    """
    pool, valid = map(gather_across_replicas, (texts, mask))
    scores = ops.tensordot(images, pool, axes=[[1], [2]])  # (B, N, S)
    keep = ops.logical_and(other[..., None], valid)
    rows = ops.shape(images)[0]
    return tuple(ops.reshape(x, (rows, -1)) for x in (scores, keep))


def _hinge(scores, keep, truth, margin: float, negatives):
    """Losses of one direction, and what they would be at equal scores.

    Args:
        scores: Float tensor of shape `(B, S or 1, N)`.
        keep: Boolean tensor of shape `(B, 1, N)`, which are negatives.
        truth: Float tensor of shape `(B, S)`.

    Returns:
        Pair of float tensors, of shapes `(B, S)` and `(B, 1)`.
    """
    dtype = truth.dtype
    scores = ops.where(keep, scores, LARGE_NEGATIVE)
    count = ops.sum(ops.cast(keep, dtype), axis=-1)  # negatives, (B, 1)
    hardest, summed = blend(negatives, dtype)
    losses = collapsed = 0.0
    if hardest is not None:
        # The nearest negative is also that of the largest hinge.
        hinge = ops.relu(margin + ops.max(scores, axis=-1) - truth)
        losses = losses + hardest * hinge
        collapsed = collapsed + hardest * margin * ops.minimum(count, 1)
    if summed is not None:
        hinge = ops.relu(margin + scores - truth[..., None])
        losses = losses + summed * ops.sum(hinge, axis=-1)
        collapsed = collapsed + summed * margin * count
    return losses, collapsed


def blend(negatives, dtype):
    """Weights of the hardest negative and of the sum, or `None` for none."""
    if isinstance(negatives, str):
        return (1.0, None) if negatives == "hardest" else (None, 1.0)
    weight = ops.cast(negatives, dtype)
    return weight, 1 - weight


def check_hinge(margin, negatives, directions):
    """Refuses arguments that no hinge loss can have."""
    if margin <= 0:
        raise ValueError(
            f"`margin` must be positive. Received: margin={margin}."
        )
    known = (
        negatives in NEGATIVES
        if isinstance(negatives, str)
        else isinstance(negatives, keras.Variable)
        or ops.is_tensor(negatives)
        or (isinstance(negatives, int | float) and 0 <= negatives <= 1)
    )
    if not known:
        raise ValueError(
            '`negatives` must be "hardest", "sum", or a number or '
            "`keras.Variable` from 0 to 1. Received: "
            f"negatives={negatives!r}."
        )
    check_directions(directions)
