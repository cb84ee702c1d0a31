"""N-pair loss."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import masked_logsumexp
from tfcap._ops.arguments import check_shapes
from tfcap.losses.masked_loss import MaskedLoss
from tfcap.losses.masked_loss import align
from tfcap.losses.masked_loss import at_least_float32
from tfcap.losses.masked_loss import reduce_loss


def n_pair_loss(
    anchor: Any,
    positive: Any,
    negatives: Any,
    negative_mask: Any = None,
    reduction=None,
) -> Any:
    """Scores the positive above every negative, on embeddings.

    ```
    loss = log(1 + sum_i exp(dot(anchor, negative_i) - dot(anchor, positive)))
    ```

    Computed as `softplus(logsumexp(...))` in at least float32, so that scores
    of any size are safe in half precision.

    Args:
        anchor: Float tensor of shape `(..., D)`.
        positive: Float tensor of shape `(..., D)`.
        negatives: Float tensor of shape `(..., N, D)`.
        negative_mask: Tensor of shape `(..., N)`, 0 for what is to be left
            out: an absent candidate, or a false negative (a candidate that
            says the same as the truth). Defaults to `None`, all count.
        reduction: `None`, `"mean"` or `"sum"`. The mean is divided over the
            replicas of `tf.distribute`. Defaults to `None`.

    Returns:
        Float tensor of shape `(...)`, at least float32, or a scalar if
        reduced.

    Example:

    >>> anchor, positive = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]])
    >>> negatives = np.array([[[2.0, 1.0], [2.0, 5.0]]])
    >>> loss = tfcap.losses.n_pair_loss(anchor, positive, negatives)
    >>> print(np.exp(loss).round(4))
    [3.]

    Reference:

    - Sohn, Improved Deep Metric Learning with Multi-class N-pair Loss
      Objective, NIPS 2016
    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 4. Their released code
      takes `exp()` of unshifted scores.
    """
    anchor, positive = at_least_float32(anchor), at_least_float32(positive)
    negatives = at_least_float32(negatives)
    check_shapes(
        anchor=(anchor, "... D"),
        positive=(positive, "... D"),
        negatives=(negatives, "... N D"),
    )
    keep = None
    if negative_mask is not None:
        negative_mask = ops.convert_to_tensor(negative_mask)
        check_shapes(
            negatives=(negatives, "... N D"),
            negative_mask=(negative_mask, "... N"),
        )
        keep = ops.cast(negative_mask, "bool")
        # A product with what is masked would carry its infinities on.
        negatives = ops.where(keep[..., None], negatives, 0)
    truth = ops.sum(anchor * positive, axis=-1)
    others = ops.squeeze(ops.matmul(negatives, anchor[..., None]), axis=-1)
    return reduce_loss(_n_pair(truth, others, keep), reduction=reduction)


def n_pair_loss_from_scores(labels: Any, scores: Any, reduction=None) -> Any:
    """Scores the truth above every other candidate.

    ```
    loss = log(1 + sum_i exp(score_i - score_truth))
         = -log(softmax(scores)[truth])
    ```

    over the candidates labelled 0: a softmax cross-entropy over the candidate
    list. The N-pair loss differs in how scores are made, plain
    dot products of embeddings whose norms are penalized (`EmbeddingNorm`).

    Args:
        labels: Tensor of shape `(..., N)`: 1 for the truth, 0 for a wrong
            candidate, -1 for one to ignore (absent or a false negative). A
            row has one truth; a row with none is absent. Of several truths in
            a row, the mean score is used.
        scores: Float tensor of shape `(..., N)`.
        reduction: `None`, `"mean"` (over present rows of all replicas, this
            replica's share) or `"sum"`. Defaults to `None`.

    Returns:
        Float tensor of shape `(...)`, at least float32, 0 for absent rows, or
        a scalar if reduced.

    Example:

    >>> labels = np.array([[0, 1, 0], [-1, -1, -1]])
    >>> scores = np.array([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    >>> loss = tfcap.losses.n_pair_loss_from_scores(labels, scores)
    >>> print(np.exp(loss).round(4))
    [3. 1.]

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 4
    """
    values, present = _from_scores(labels, scores)
    return reduce_loss(values, present, reduction=reduction)


@keras.saving.register_keras_serializable(package="tfcap")
class NPairLoss(MaskedLoss):
    """N-pair loss over candidate scores, for `compile()`.

    ```
    loss = log(1 + sum_i exp(score_i - score_truth))
    ```

    A softmax cross-entropy over each row's candidates, in which candidates
    may be ignored and rows may be absent: the mean is over present rows only,
    exactly so under `tf.distribute`.

    Args:
        name: String. Defaults to `"n_pair_loss"`.
        reduction: As in Keras. Defaults to `"sum_over_batch_size"`, the mean
            over present rows.
        dtype: String, optional.

    Call arguments:
        y_true: Tensor of shape `(B, ..., N)`: 1 truth, 0 wrong, -1 ignored. A
            row without a 1 is absent.
        y_pred: Float tensor of shape `(B, ..., N)`, the scores.

    Returns:
        Float scalar tensor; of shape `(B, ...)` if `reduction` is `None`.

    Example:

    >>> loss = tfcap.losses.NPairLoss()
    >>> labels = np.array([[0, 1, 0], [-1, -1, -1]])
    >>> scores = np.array([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    >>> print(np.exp(loss(labels, scores)).round(4))
    3.0

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 4
    """

    def __init__(
        self,
        name: str = "n_pair_loss",
        reduction="sum_over_batch_size",
        dtype: str | None = None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def values_and_present(self, y_true, y_pred):
        return _from_scores(y_true, y_pred)

    def hide(self, y_true, mask):
        return ops.where(align(mask, len(y_true.shape), "mask"), y_true, -1)


def _from_scores(labels, scores):
    labels, scores = ops.convert_to_tensor(labels), at_least_float32(scores)
    check_shapes(scores=(scores, "... N"), labels=(labels, "... N"))
    is_truth = ops.equal(labels, 1)
    truths = ops.sum(ops.cast(is_truth, scores.dtype), axis=-1)
    present = truths > 0
    keep = ops.logical_and(ops.equal(labels, 0), present[..., None])
    truth = ops.sum(ops.where(is_truth, scores, 0), axis=-1)
    return _n_pair(truth / ops.maximum(truths, 1), scores, keep), present


def _n_pair(truth, others, keep):
    return ops.softplus(masked_logsumexp(others - truth[..., None], keep))
