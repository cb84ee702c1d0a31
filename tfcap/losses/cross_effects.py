"""Effects of the texts of a batch on each other's losses, as negatives."""

from typing import Any

from keras import ops

from tfcap._ops import gather_across_replicas
from tfcap._ops import masked_logsumexp
from tfcap._ops import rows_across_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap.losses.bidirectional_contrastive_loss import flat
from tfcap.losses.bidirectional_contrastive_loss import text_pool
from tfcap.losses.hinge_retrieval_loss import blend
from tfcap.losses.hinge_retrieval_loss import text_scores
from tfcap.losses.retrieval_loss import checked_pairs
from tfcap.losses.retrieval_loss import other_images


def hinge_effects(
    images: Any,
    texts: Any,
    margin: float,
    negatives,
    same: Any = None,
    mask: Any = None,
    drawn: Any = None,
) -> Any:
    """Effect of each text on the hinge losses of the other texts.

    ```
    effect[b, s] = sum over other texts (c, k) of
                   loss[c, k] - loss[c, k] without the text (b, s)
    ```

    of all replicas. The sum of all losses less what does not depend on a text
    is its own loss plus its effect: what the score function of the expected
    loss of a batch multiplies the gradient of its log probability with.

    Of texts that are endings of each other, `drawn` tells those that are
    there: each has the effect that it would have in the place of its own.

    Args:
        images: Float tensor of shape `(B, D)`.
        texts: Float tensor of shape `(B, S, D)`.
        same: Integer tensor of shape `(B,)`, or `None`.
        mask: Tensor of shape `(B, S)`, or `None`.
        drawn: Boolean tensor of shape `(B, S', N)` where `S = S' * N`, or
            `None`, all are there, none the ending of another.

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
    return _own(ops.sum(effects, axis=0), texts, ops.shape(texts)[1])


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
    """Effect of each text on the contrasts of the other texts.

    The same as `hinge_effects()`, of the contrast with other texts.

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
    return _own(ops.sum(effects, axis=(0, 1)), texts, ops.shape(pool)[1])


def _left_out(scores, truth, decoupled: bool):
    """Contrasts of all negatives, and of all but one.

    Args:
        scores: Float tensor of shape `(B, S or 1, N)`, -1e30 for what is no
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


def _without_own(scores, drawn):
    """The hardest of all texts that are there but the own one.

    Args:
        scores: Float tensor of shape `(B, rows * S' * N)`.
        drawn: Boolean tensor of shape `(rows, S', N)`, those that are there.

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
    top, second = _best_two(own)
    rest = ops.where(own >= top, second, top)
    return ops.repeat(rest, shape[-1], axis=1)


def _best_two(scores):
    """The two largest scores of every row: `(B, N)` to `(B, 1)` each."""
    none = ops.full_like(scores[:, :1], LARGE_NEGATIVE)
    best, _ = ops.top_k(ops.concatenate([scores, none], axis=-1), 2)
    return best[:, :1], best[:, 1:]


def _own(effects, texts, count: int):
    """This replica's texts of those that all replicas found effects of.

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
