"""Losses over candidates and words, some of which may be absent."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import masked_logsumexp
from tfcap._ops import sum_over_replicas
from tfcap._ops import token_log_probs
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import check_not_softmax
from tfcap._ops.arguments import config_of
from tfcap._ops.sequences import at_least_float32
from tfcap._ops.sequences import check_shapes
from tfcap._ops.sequences import dense
from tfcap._printed import printed

MEANS = ("mean", "sum_over_batch_size")
REDUCTIONS = (None, "none", "sum", *MEANS, "mean_with_sample_weight")


class MaskedLoss(keras.losses.Loss):
    """A Keras loss whose mean is over the rows that are present.

    Keras divides the sum of a loss by the number of rows on a replica, absent
    ones included. Dialogs have absent rounds and captions have padding: here
    a mean is over the present rows of all replicas.

    To write one, override `values_and_present()` and `hide()`.

    Args:
        name: String, optional.
        reduction: `"sum_over_batch_size"`, `"mean"`, `"sum"`,
            `"mean_with_sample_weight"` or `None`. Defaults to
            `"sum_over_batch_size"`, the mean over present rows.
        dtype: String, the dtype of the computation. Defaults to Keras'
            `floatx()`.

    Call arguments:
        y_true: Tensor, the labels.
        y_pred: Float tensor, the predictions. Its Keras mask marks further
            rows as absent.
        sample_weight: Float tensor, optional, of shape `(B,)` or of the shape
            of the rows.

    Returns:
        Float scalar tensor, or one value per row if `reduction` is `None`.
    """

    __repr__ = printed

    #: Padding of ragged labels.
    pad = 0

    def values_and_present(self, y_true, y_pred):
        """Returns one value per row, and 1 for each row that is present."""
        raise NotImplementedError

    def hide(self, y_true, mask):
        """Returns the labels with masked entries marked absent."""
        raise NotImplementedError

    def call(self, y_true: Any, y_pred: Any):
        values, present = self.values_and_present(y_true, y_pred)
        return reduce_loss(values, present, reduction=None)

    def __call__(self, y_true, y_pred, sample_weight=None):
        mask = getattr(y_pred, "_keras_mask", None)
        y_true = dense(y_true, self.pad)
        y_true = ops.convert_to_tensor(y_true, dtype=self.dtype)
        y_pred = ops.convert_to_tensor(y_pred, dtype=self.dtype)
        if mask is not None:
            y_true = self.hide(y_true, ops.cast(mask, "bool"))
        return self.reduced(y_true, y_pred, sample_weight)

    def reduced(self, y_true, y_pred, sample_weight=None):
        """Computes the loss of labels and predictions that are tensors."""
        values, present = self.values_and_present(y_true, y_pred)
        if sample_weight is not None:
            sample_weight = row_weights(sample_weight, values)
        return reduce_loss(values, present, sample_weight, self.reduction)


def align(weights, rank: int, name: str):
    """Appends axes until `weights` has `rank`, so that leading axes match.

    Args:
        weights: Tensor of at most `rank` axes, or one more of size 1.

    Raises:
        ValueError: If there are more axes than that.
    """
    extra = len(weights.shape) - rank
    if extra == 1 and weights.shape[-1] == 1:
        return ops.squeeze(weights, axis=-1)
    if extra > 0:
        raise ValueError(
            f"`{name}` must have at most {rank} axes. "
            f"Received: {name}.shape={tuple(weights.shape)}."
        )
    for _ in range(-extra):
        weights = ops.expand_dims(weights, axis=-1)
    return weights


def row_weights(weights: Any, values: Any) -> Any:
    """Returns weights of values, or of their leading axes, by `align()`.

    Raises:
        ValueError: If a row has no weight.
    """
    name, shape = "sample_weight", tuple(values.shape)
    weights = ops.cast(ops.convert_to_tensor(weights), values.dtype)
    weights = align(weights, len(shape), name)
    # One weight of the last axes is that of all; one of a batch is not.
    known = [
        size == want or None in (size, want) or (i and size == 1)
        for i, (size, want) in enumerate(zip(weights.shape, shape))
    ]
    if not all(known):
        raise ValueError(
            f"`{name}` must be of shape {shape}, or of its leading axes. "
            f"Received: {name}.shape={tuple(weights.shape)}."
        )
    return weights


def reduce_loss(
    values: Any, present: Any = None, weights: Any = None, reduction="mean"
):
    """Reduces a loss over its present entries.

    ```
    sum                     = sum(weights * values)
    mean                    = sum(weights * values) / count(present)
    mean_with_sample_weight = sum(weights * values) / sum(weights)
    ```

    all over present entries. Under `tf.distribute` a mean's denominator counts
    entries of all replicas and its numerator is this replica's share. Keras'
    optimizer sums gradients over replicas, so that the shares add up to the
    exact mean of the global batch, wherever the absent entries are.

    Args:
        reduction: `None`, `"none"`, `"sum"`, `"mean"`, its Keras synonym
            `"sum_over_batch_size"`, or `"mean_with_sample_weight"`.

    Returns:
        Float scalar tensor, 0 if no entry is present; without a reduction, a
        tensor of the shape of `values`, 0 where absent.

    Raises:
        ValueError: If `reduction` is unknown.
    """
    check_choice(reduction, "reduction", REDUCTIONS)
    keep = ops.ones_like(values)
    if present is not None:
        keep = keep * ops.cast(ops.cast(present, "bool"), keep.dtype)
    # where() rather than a product: what is absent may be infinite.
    values = ops.where(keep > 0, values, 0)
    if weights is not None:
        weights = ops.cast(weights, values.dtype)
        values = values * weights
    if reduction in (None, "none"):
        return values
    total = ops.sum(values)
    if reduction == "sum":
        return total
    if weights is not None and reduction not in MEANS:
        keep = keep * weights
    divisor = ops.stop_gradient(sum_over_replicas(ops.sum(keep)))
    return ops.divide_no_nan(total, divisor)


def n_pair_loss(labels: Any, scores: Any) -> tuple[Any, Any]:
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
            row without truth is absent; of several truths, the mean score is
            used.
        scores: Float tensor of shape `(..., N)`.

    Returns:
        Float tensor of shape `(...)`, at least float32, and a boolean one,
        true for present rows.

    Example:

    >>> labels = np.array([[0, 1, 0], [-1, -1, -1]])
    >>> scores = np.array([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    >>> from tfcap.losses.masked_loss import n_pair_loss
    >>> loss, present = n_pair_loss(labels, scores)
    >>> print(np.exp(loss).round(4), present.numpy())
    [3. 1.] [ True False]

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 4
    """
    labels, scores = ops.convert_to_tensor(labels), at_least_float32(scores)
    check_shapes(scores=(scores, "... N"), labels=(labels, "... N"))
    is_truth = ops.equal(labels, 1)
    truths = ops.sum(ops.cast(is_truth, scores.dtype), axis=-1)
    present = truths > 0
    keep = ops.logical_and(ops.equal(labels, 0), present[..., None])
    truth = ops.sum(ops.where(is_truth, scores, 0), axis=-1)
    truth = truth / ops.maximum(truths, 1)
    margins = masked_logsumexp(scores - truth[..., None], keep)
    return ops.softplus(margins), present


@keras.saving.register_keras_serializable(package="tfcap")
class NPairLoss(MaskedLoss):
    """N-pair loss over candidate scores, for `compile()`.

    ```
    loss = log(1 + sum_i exp(score_i - score_truth))
    ```

    A softmax cross-entropy over each row's candidates, in which candidates
    may be ignored and rows may be absent. The mean is over present rows, also
    under `tf.distribute`.

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

    - Sohn, Improved Deep Metric Learning with Multi-class N-pair Loss
      Objective, NIPS 2016
    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 4. Their released code
      takes `exp()` of unshifted scores.
    """

    def __init__(
        self,
        name: str = "n_pair_loss",
        reduction="sum_over_batch_size",
        dtype: str | None = None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def values_and_present(self, y_true, y_pred):
        return n_pair_loss(y_true, y_pred)

    def hide(self, y_true, mask):
        return ops.where(align(mask, len(y_true.shape), "mask"), y_true, -1)


def one_pair_loss(anchor: Any, positive: Any, sample: Any) -> Any:
    """Trains a generated sample to score above the truth, by embeddings.

    ```
    loss = log(1 + exp(dot(anchor, positive) - dot(anchor, sample)))
    ```

    The N-pair loss of one negative, with truth and sample exchanged: the
    generator learns what the discriminator prefers.

    Args:
        anchor: Float tensor of shape `(..., D)`, the embedding of image,
            question and history.
        positive: Float tensor of shape `(..., D)`, the human answer's.
        sample: Float tensor of shape `(..., D)`, the generated answer's.

    Returns:
        Float tensor of shape `(...)`, at least float32.

    Example:

    >>> a = np.array([[1.0, 0.0]])
    >>> from tfcap.losses.masked_loss import one_pair_loss
    >>> loss = one_pair_loss(a, positive=a, sample=a)
    >>> print(np.exp(loss).round(4))
    [2.]

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, eq. 5
    """
    anchor, positive, sample = map(at_least_float32, (anchor, positive, sample))
    check_shapes(
        anchor=(anchor, "... D"),
        positive=(positive, "... D"),
        sample=(sample, "... D"),
    )
    # Scores are subtracted last: differences of embeddings would round worse.
    truth = ops.sum(anchor * positive, axis=-1)
    emitted = ops.sum(anchor * sample, axis=-1)
    return ops.softplus(truth - emitted)


REDUCED_OVER = ("sequence", "token")


@keras.saving.register_keras_serializable(package="tfcap")
class SequenceCrossentropy(MaskedLoss):
    """Teacher-forcing loss of a speaker, for `compile()`.

    ```
    word = -log(softmax(logits_t)[token_t])
    loss = mean over sequences of the sum of their words   over "sequence"
    loss = mean over words                                 over "token"
    ```

    Padding counts in neither mean. The computation is always in float32:
    Keras casts labels to a loss's dtype, and half precision would change word
    ids above 2048 (256 in bfloat16).

    Args:
        reduction_over: `"sequence"` or `"token"`. Defaults to `"sequence"`,
            the likelihood of whole captions or answers.
        name: String. Defaults to `"sequence_crossentropy"`.
        reduction: As in Keras. Defaults to `"sum_over_batch_size"`, the mean
            over sequences or words.
        pad: Integer, id of padding, as in the speaker. If it is also the end
            token, ends do not count; `tfcap.objectives.TeacherForcing`
            distinguishes them. Defaults to `0`.

    Call arguments:
        y_true: Integer tensor of shape `(B, ..., T)`, word ids padded with
            `pad`, the end token included.
        y_pred: Float tensor of shape `(B, ..., T, V)`, logits. The output of a
            softmax of Keras is rejected.

    Returns:
        Float32 scalar tensor; if `reduction` is `None`, of shape `(B, ...)`
        or, over tokens, `(B, ..., T)`.

    Example:

    >>> loss = tfcap.losses.SequenceCrossentropy(reduction_over="token")
    >>> tokens, logits = np.array([[3, 2, 0]]), np.zeros((1, 3, 4))
    >>> print(np.exp(loss(tokens, logits)).round(4))
    4.0
    """

    def __init__(
        self,
        reduction_over="sequence",
        name: str = "sequence_crossentropy",
        reduction="sum_over_batch_size",
        pad: int = 0,
    ):
        super().__init__(name=name, reduction=reduction, dtype="float32")
        check_choice(reduction_over, "reduction_over", REDUCED_OVER)
        self.reduction_over = reduction_over
        self.pad = pad

    def values_and_present(self, y_true, y_pred):
        tokens = ops.cast(y_true, "int32")
        check_not_softmax(y_pred, "y_pred")
        check_shapes(logits=(y_pred, "... T V"), tokens=(tokens, "... T"))
        words = ops.not_equal(tokens, self.pad)
        values = ops.where(words, -token_log_probs(y_pred, tokens), 0)
        if self.reduction_over == "token":
            return values, words
        return ops.sum(values, axis=-1), ops.any(words, axis=-1)

    def hide(self, y_true, mask):
        mask = align(mask, len(y_true.shape), "mask")
        return ops.where(mask, y_true, self.pad)

    def get_config(self):
        return {**super().get_config(), **config_of(self, "reduction_over pad")}
