"""Steps of optimizers, right on one replica and on several, if finite."""

import functools
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

import keras
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas

_FOUND = "tfcap: not finite: "
_END = " (end)"


class Computed(NamedTuple):
    """What the objective of a learner finds in a batch.

    Args:
        losses: Dict of scalars, losses of terms.
        logs: Dict of scalars by the names to log.
        penalty: Scalar, of the weights of the learner.
    """

    losses: dict
    logs: dict
    penalty: Any


class Update(NamedTuple):
    """A step that an optimizer is about to take.

    Args:
        gradients: List of tensors, to be summed over replicas.
        variables: List of `keras.Variable`, in the same order.
        size: Float32 scalar, half the squared norm of the gradient, not finite
            where that is not.
    """

    optimizer: Any
    gradients: list
    variables: list
    size: Any


def scales(optimizer: keras.optimizers.Optimizer) -> bool:
    """Check whether an optimizer scales the loss by itself."""
    dynamic = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return dynamic or optimizer.loss_scale_factor is not None


def update_of(
    optimizer: keras.optimizers.Optimizer,
    gradients: list,
    variables: list,
    global_clipnorm: float | None = None,
) -> Update:
    """An optimizer's step by the gradient of the global batch.

    Keras clips every replica's gradient before they are summed, which is
    another step than that of one device; here the sum is clipped.

    Args:
        optimizer: `keras.optimizers.Optimizer`, built.
        gradients: List of tensors or `None`, of `optimizer.scale_loss(loss)`,
            that were taken of a replica's share of the loss.
        variables: List of `keras.Variable`, in the same order.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
    """
    reached = [i for i, g in enumerate(gradients) if g is not None]
    if not reached:
        raise ValueError(
            "No gradient reaches any variable. Received: "
            f"{len(variables)} trainable variables. See that the objective's "
            "decoder and reward connect the loss with the network, and that "
            "the network is not frozen."
        )
    shares = [tf.convert_to_tensor(gradients[i]) for i in reached]
    clips, scaled = global_clipnorm is not None, scales(optimizer)
    # All replicas must see the same gradient, to clip it or to decide that
    # the loss was scaled too much.
    whole = num_replicas() > 1 and (clips or scaled)
    if whole:
        shares = [sum_over_replicas(gradient) for gradient in shares]
    halves = [tf.nn.l2_loss(tf.cast(g, tf.float32)) for g in shares]
    size = tf.add_n(halves)
    scale = tf.cast(optimizer.scale_loss(1.0), tf.float32)
    if clips:
        norm, limit = tf.sqrt(2.0 * size), global_clipnorm * scale
        shares, _ = tf.clip_by_global_norm(shares, limit, norm)
    if whole:
        # Keras sums over replicas.
        shares = [g / tf.cast(num_replicas(), g.dtype) for g in shares]
    if hasattr(optimizer, "dynamic_scale"):
        # It skips the step itself, and scales the next loss by less.
        size = tf.where(scale > 1.0, 0.0, size)
    every = [tf.zeros(v.shape, v.dtype) for v in variables]
    for i, gradient in zip(reached, shares):
        every[i] = gradient
    return Update(optimizer, every, variables, size)


def weight_penalty(variables: list) -> Any:
    """This replica's share of the penalties on the weights of layers."""
    penalties = [
        tf.cast(variable.regularizer(variable.value), tf.float32)
        for variable in variables
        if getattr(variable, "regularizer", None) is not None
    ]
    return sum(penalties) / num_replicas() if penalties else 0.0


def apply_if_finite(
    updates: Iterable[Update], causes: Iterable[dict], nonfinite: str
) -> Any:
    """Takes the steps of all optimizers, or of none.

    Every replica decides the same, from the sum of what they found.

    Args:
        causes: Dicts of float scalar tensors, by what to call them. Of what
            is not finite, the first dict with any of it is named.
        nonfinite: String, `"raise"`, `"skip"` or `"ignore"`.

    Returns:
        Boolean scalar tensor, whether they were taken.
    """
    updates = list(updates)

    def apply(gradients):
        for update, own in zip(updates, gradients):
            update.optimizer.apply(own, update.variables)

    gradients = [update.gradients for update in updates]
    if nonfinite == "ignore":
        apply(gradients)
        return tf.constant(True)
    values = {name: v for cause in causes for name, v in cause.items()}
    ranks = [rank for rank, cause in enumerate(causes) for _ in cause]
    found = tf.stack([tf.cast(v, tf.float32) for v in values.values()])
    found = sum_over_replicas(found) / num_replicas()
    finite = tf.reduce_all(tf.math.is_finite(found))

    def refuse(finite, found):
        if nonfinite == "raise":
            text = _FOUND + _names(found, list(values), ranks) + _END
            tf.debugging.Assert(finite, [text])

    def decide(strategy, finite, found, gradients):
        finite, found = (
            strategy.experimental_local_results(x)[0] for x in (finite, found)
        )
        run = strategy.extended.call_for_each_replica
        tf.cond(
            finite,
            lambda: (run(apply, (gradients,)), tf.constant(True))[1],
            lambda: (refuse(finite, found), tf.constant(False))[1],
        )

    # A condition inside a replica could not hold an optimizer's step, which
    # is taken by all replicas together.
    tf.distribute.get_replica_context().merge_call(
        decide, args=(finite, found, gradients)
    )
    return finite


def _names(values, names, ranks):
    """String tensor that tells which values are not finite."""
    bad = tf.logical_not(tf.math.is_finite(values))
    first = tf.reduce_min(tf.boolean_mask(ranks, bad))
    texts = tf.strings.join([names, tf.strings.as_string(values)], " is ")
    shown = tf.logical_and(bad, tf.equal(ranks, first))
    return tf.strings.reduce_join(tf.boolean_mask(texts, shown), separator=", ")


def explained(train_function: Callable, optimizer: Any) -> Callable:
    """A train function that tells of a step that is not finite in one line."""

    @functools.wraps(train_function)
    def run(*args):
        try:
            return train_function(*args)
        except tf.errors.InvalidArgumentError as error:
            _, marker, rest = error.message.partition(_FOUND)
            if not marker:
                raise
        message = rest.partition(_END)[0]
        done = int(keras.ops.convert_to_numpy(optimizer.iterations))
        raise FloatingPointError(
            "Losses, rewards and gradients must be finite. Received: "
            f"{message}, after {done} updates. The weights are those of the "
            "last update. See what is named, lower the learning rate, clip the "
            'gradient with `global_clipnorm`, or give `nonfinite="skip"`, '
            "which leaves such steps out and counts them."
        )

    return run
