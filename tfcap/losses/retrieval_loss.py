"""Losses of images and their texts."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import gather_across_replicas
from tfcap._ops import rows_across_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap._ops.replicas import at_step
from tfcap._ops.replicas import checked_schedule
from tfcap._ops.replicas import is_schedule
from tfcap._ops.replicas import outside_replicas
from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap._ops.sequences import at_least_float32
from tfcap._ops.sequences import check_shapes
from tfcap._ops.sequences import check_values
from tfcap.losses.masked_loss import MaskedLoss
from tfcap.losses.masked_loss import align
from tfcap.losses.masked_loss import reduce_loss

DIRECTIONS = ("image", "text")
#: Rows of a batch that may all show one image.
FEW = 4


class RetrievalLoss(MaskedLoss):
    """A Keras loss of embeddings of images and their texts.

    To write one, override `values_and_present()`, with the inputs that
    `embeddings()` returns.

    Call arguments:
        y_true: Integer tensor of shape `(B,)`, equal for rows that show the
            same image, or `None` if all differ. A single number for all rows
            of a batch is rejected.
        y_pred: Float tensor of shape `(B, 1 + S, D)`: for every row the
            embedding of its image, then of its texts. A text of zeros is
            absent, and so is the image of a row without texts.
        sample_weight: Float tensor, optional, of shape `(B,)` or `(B, S)`.
    """

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.convert_to_tensor(y_pred, dtype=self.dtype)
        # Labels may be absent, and stay integers.
        return self.reduced(y_true, y_pred, sample_weight)

    def embeddings(self, y_true, y_pred):
        """Splits labels and predictions.

        Returns:
            Images `(B, D)`, texts `(B, S, D)`, the labels `(B,)` or `None`,
            and a boolean tensor `(B, S)`, true for present texts.
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
    """Rejects labels without negatives, and labels that are not integers.

    Args:
        labels: Tensor of shape `(B,)`.
    """
    remedy = (
        "Pass the number of the image of every row, or no labels at all if "
        "all rows differ: `fit(batches)`."
    )
    dtype = keras.backend.standardize_dtype(labels.dtype)
    if "int" not in dtype and not outside_replicas():
        raise TypeError(
            "`y_true` must hold integers, equal for rows that show the same "
            f"image. Received: y_true of {dtype}. {remedy}"
        )
    every = gather_across_replicas(labels)
    same = ops.all(ops.logical_and(every == every[0], every >= 0))
    # A last batch of a few rows may show one image by chance.
    enough = ops.shape(every)[0] >= FEW
    check_values(
        ops.logical_not(ops.logical_and(same, enough)),
        "`y_true` must distinguish images: rows with equal numbers show the "
        "same image, and are not negatives of each other. Received: one number "
        f"for all rows of a batch, which has no negatives. {remedy}",
    )


def checked_pairs(images: Any, texts: Any, mask: Any = None):
    """Checks embeddings of images and texts, and masks absent ones.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        mask: Tensor of shape `(B, S)`, 0 for texts that are absent, or
            `None`.

    Returns:
        Images and texts that are zeros where absent, and a boolean tensor of
        shape `(B, S)`, true for present texts. The image of a row without
        texts is absent.

    Raises:
        ValueError: If shapes do not match.
    """
    images, texts = at_least_float32(images), at_least_float32(texts)
    check_shapes(images=(images, "B D"), texts=(texts, "B S D"))
    texts, valid = present_texts(texts, mask, "mask")
    if mask is not None:
        images = ops.where(rows_present(mask)[:, None], images, 0)
    return images, texts, valid


def present_texts(texts, mask, name):
    """Returns texts that are zeros where absent, and which are present."""
    if mask is None:
        mask = ops.ones_like(texts[..., 0])
    mask = ops.cast(mask, "bool")
    check_shapes(**{"texts": (texts, "B S D"), name: (mask, "B S")})
    # A product with what is absent would carry its infinities on.
    return ops.where(mask[..., None], texts, 0), mask


def rows_present(mask):
    """Returns which rows have a text, `(B,)`; `None` for all."""
    return None if mask is None else ops.any(ops.cast(mask, "bool"), axis=1)


def other_images(images: Any, same: Any = None, present: Any = None) -> Any:
    """Returns a mask of present rows of all replicas that show another image.

    Args:
        images: Float tensor of shape `(B, D)`.
        same: Integer tensor of shape `(B,)`: rows with equal numbers show the
            same image. A row with a negative number shows an image of its
            own.
        present: Boolean tensor of shape `(B,)`, or `None`, all present.

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
        keep: Boolean tensor of shape `(B, N)`, true for other images.
        distractors: Float tensor of shape `(M, D)`.
        same: Integer tensor of shape `(B,)`, or `None`.
        distractor_same: Integer tensor of shape `(M,)`, numbers of the
            distractors as in `same`, or `None` if none is in the batch.
        distractor_mask: Tensor of shape `(M,)`, 0 for absent distractors, or
            `None`, all present.
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


def _apart(same, others):
    """Returns which numbers differ from those of all replicas."""
    differ = ops.not_equal(same[:, None], gather_across_replicas(others))
    return ops.logical_or(differ, (same < 0)[:, None])


def check_directions(directions):
    """Rejects unknown directions of a retrieval."""
    if (
        isinstance(directions, str)
        or not directions
        or not set(directions) <= set(DIRECTIONS)
    ):
        raise ValueError(
            f"`directions` must be a tuple of some of {DIRECTIONS}. "
            f"Received: directions={directions!r}."
        )


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
    """Trains matching images and texts to be closer than others by a margin.

    ```
    s(v, w) = dot(v, w)
    hinge(v', w') = max(0, margin + s(v', w') - s(v, w))
    loss = hardest or sum over other images v' of hinge(v', w)
         + hardest or sum over other texts w' of hinge(v, w')
    ```

    The others are those of the batch, on all replicas. Texts of one image are
    not negatives of each other.

    Args:
        images: Float tensor of shape `(B, D)`, usually unit vectors.
        texts: Float tensor of shape `(B, S, D)`, S texts of each image.
        margin: Float. Defaults to `0.2`.
        negatives: `"hardest"`, `"sum"`, or a number or `keras.Variable` from
            0, the sum, to 1, the hardest, which blends the two: with the
            hardest negatives from the start, a network may never learn.
            Defaults to `"hardest"`.
        directions: Tuple of `"image"` and `"text"`, the kind of the negatives.
            Defaults to both.
        distractors: Float tensor of shape `(N, D)`, images that no text of the
            batch describes, or `None`.
        same: Integer tensor of shape `(B,)`: rows with equal numbers show the
            same image and are not negatives of each other. A row with a
            negative number shows an image of its own. Defaults to `None`, all
            differ.
        mask: Tensor of shape `(B, S)`, 0 for absent texts. The image of a row
            without texts is not a negative, unless it is among `distractors`.
            Defaults to `None`, all present.
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
    check_hinge(margin, negatives, directions)
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
            schedule, a callable of `step`, is a warm-up; it is saved as its
            current value. Defaults to `"hardest"`.
        step: Integer `keras.Variable` that counts the steps of a schedule,
            such as `optimizer.iterations`. Defaults to `None`.
        directions: Tuple of `"image"` and `"text"`. Defaults to both.
        name: String. Defaults to `"hinge_retrieval_loss"`.
        reduction: As in Keras; the papers minimize the `"sum"`. Defaults to
            `"sum_over_batch_size"`, the mean over present texts.
        dtype: String, optional.

    Call arguments:
        y_true: Integer tensor of shape `(B,)`, equal for rows that show the
            same image, or `None` if all differ: `same` of
            `hinge_retrieval_loss()`.
        y_pred: Float tensor of shape `(B, 1 + S, D)`: for every row the
            embedding of its image, then of its texts. A text of zeros is
            absent, and so is the image of a row without texts.
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
                    f"{negatives!r}. Pass `step=optimizer.iterations`."
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
        """The negatives at this step."""
        if is_schedule(self._negatives):
            return at_step(self._negatives, self._step)
        return self._negatives

    def hinges(self, y_true: Any, y_pred: Any):
        """Computes the losses of texts, collapsed ones, and which are present.

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
    """Computes the losses of texts, and those at equal scores.

    At equal scores, as of a collapsed network, the loss is `margin` for each
    negative. Arguments as in `hinge_retrieval_loss()`; with `drawn`, booleans
    `(B, S', N)` of `S = S' * N` texts, only these are negatives.

    Returns:
        Pair of float tensors of shape `(B, S)`, at least float32.
    """
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
    """Computes scores of images with the texts of all replicas, in one axis.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        mask: Boolean tensor of shape `(B, S)`.
        other: Boolean tensor of shape `(B, N)`, of `other_images()`.

    Returns:
        Float tensor of shape `(B, N * S)`, and a boolean one, true for present
        texts of another image.
    """
    pool, valid = map(gather_across_replicas, (texts, mask))
    scores = ops.tensordot(images, pool, axes=[[1], [2]])  # (B, N, S)
    keep = ops.logical_and(other[..., None], valid)
    rows = ops.shape(images)[0]
    return tuple(ops.reshape(x, (rows, -1)) for x in (scores, keep))


def _hinge(scores, keep, truth, margin: float, negatives):
    """Computes losses of one direction, and those at equal scores.

    Args:
        scores: Float tensor of shape `(B, S or 1, N)`.
        keep: Boolean tensor of shape `(B, 1, N)`, true for negatives.
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
    """Returns the weights of the hardest negative and the sum, or `None`."""
    if isinstance(negatives, str):
        return (1.0, None) if negatives == "hardest" else (None, 1.0)
    weight = ops.cast(negatives, dtype)
    return weight, 1 - weight


def check_hinge(margin, negatives, directions):
    """Rejects arguments of a hinge loss that are out of range."""
    checked_number(margin, "margin", "positive", lambda x: x > 0)
    if isinstance(negatives, int | float):
        expected = '"hardest", "sum", or from 0 to 1'
        checked_number(negatives, "negatives", expected, lambda x: 0 <= x <= 1)
    elif not isinstance(negatives, keras.Variable) and not ops.is_tensor(
        negatives
    ):
        check_choice(negatives, "negatives", NEGATIVES)
    check_directions(directions)


def hinge_effects(
    images: Any,
    texts: Any,
    margin: float,
    negatives,
    same: Any = None,
    mask: Any = None,
    drawn: Any = None,
) -> Any:
    """Computes the effect of each text on the losses of the other texts.

    ```
    effect[b, s] = sum over other texts (c, k) of
                   loss[c, k] - loss[c, k] without the text (b, s)
    ```

    of all replicas. The part of the summed losses that depends on a text is
    its own loss plus its effect, by which the score function of a batch's
    expected loss multiplies the gradient of its log probability.

    If texts are alternative endings, `drawn` marks the present ones: each
    ending has the effect that it would have in their place.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        same: Integer tensor of shape `(B,)`, or `None`.
        mask: Tensor of shape `(B, S)`, or `None`.
        drawn: Boolean tensor of shape `(B, S', N)` where `S = S' * N`, or
            `None` if no text is an alternative ending.

    Returns:
        Float tensor of shape `(B, S)`, at least float32, 0 for absent texts.
    """
    images, texts, valid = checked_pairs(images, texts, mask)
    truth = ops.einsum("bd,bsd->bs", images, texts)  # (B, S)
    other = other_images(images, same)
    scores, keep = text_scores(images, texts, valid, other)  # (B, N * S)
    scores = ops.where(keep, scores, LARGE_NEGATIVE)
    if drawn is None:
        drawn = valid[..., None]
    there = ops.logical_and(valid, ops.reshape(drawn, ops.shape(valid)))
    counts = ops.cast(there, truth.dtype)
    hardest, summed = blend(negatives, truth.dtype)
    effects = 0.0
    if hardest is not None:
        rest = _without_own(scores, gather_across_replicas(drawn))

        def losses(rivals):  # (B, N * S), summed over the texts that are there
            hinge = ops.relu(margin + rivals[:, None] - truth[..., None])
            return ops.sum(hinge * counts[..., None], axis=1)

        # Without the hardest negative, the second one takes its place. Of two
        # equally hard ones neither matters: the gap is 0.
        gaps = losses(ops.maximum(rest, scores)) - losses(rest)
        effects = effects + hardest * gaps
    if summed is not None:
        hinge = ops.relu(margin + scores[:, None] - truth[..., None])
        hinge = ops.sum(hinge * counts[..., None], axis=1)
        effects = effects + summed * hinge
    effects = ops.where(keep, effects, 0)
    return own_effects(ops.sum(effects, axis=0), texts, ops.shape(texts)[1])


def _without_own(scores, drawn):
    """Returns the largest score of present texts other than a text's own.

    Args:
        scores: Float tensor of shape `(B, rows * S' * N)`.
        drawn: Boolean tensor of shape `(rows, S', N)`, true for present texts.

    Returns:
        Float tensor of the shape of `scores`.
    """
    shape = (-1, ops.shape(drawn)[0] * ops.shape(drawn)[1], drawn.shape[-1])
    own = ops.where(
        ops.reshape(drawn, (1, *shape[1:])),
        ops.reshape(scores, shape),
        LARGE_NEGATIVE,
    )
    own = ops.max(own, axis=-1)  # (B, rows * S')
    none = ops.full_like(own[:, :1], LARGE_NEGATIVE)
    best, _ = ops.top_k(ops.concatenate([own, none], axis=-1), 2)
    top, second = best[:, :1], best[:, 1:]
    rest = ops.where(own >= top, second, top)
    return ops.repeat(rest, shape[-1], axis=1)


def own_effects(effects, texts, count: int):
    """Sums effects over replicas, and returns those of this replica's texts.

    Args:
        effects: Float tensor of shape `(N * K,)`, of the texts of N rows of
            all replicas, on this replica's rows.
        texts: Float tensor of shape `(B, S, D)`, S the first of K.

    Returns:
        Float tensor of shape `(B, S)`.
    """
    effects = sum_over_replicas(ops.reshape(effects, (-1, count)))
    own = ops.take(effects, rows_across_replicas(texts), axis=0)
    return own[:, : ops.shape(texts)[1]]
