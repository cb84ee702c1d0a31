"""Optimizers, and their steps: if finite, and alike on several replicas."""

import functools
from collections import UserList
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
    """Losses and logs of learners that share an objective.

    Args:
        names: List of strings, the learners.
        prefix: String, before the names to log.
        losses: Dict of scalars, losses of terms.
        logs: Dict of scalars by the names to log.
        loss: Scalar, their sum with the penalties on the learners' weights.
    """

    names: list
    prefix: str
    losses: dict
    logs: dict
    loss: Any


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
    """Prepares an optimizer's step by the gradient of the global batch.

    Keras clips every replica's gradient before they are summed, which is
    another step than that of one device; here the sum is clipped.

    Args:
        optimizer: `keras.optimizers.Optimizer`, built.
        gradients: List of tensors or `None`, of `optimizer.scale_loss(loss)`,
            that were taken of a replica's share of the loss.
        variables: List of `keras.Variable`, in the same order.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
    """
    if all(gradient is None for gradient in gradients):
        raise ValueError(
            "No gradient reaches any variable. Received: "
            f"{len(variables)} trainable variables. See that the objective's "
            "decoder and reward connect the loss with the network, and that "
            "the network is not frozen."
        )
    shares = [
        tf.zeros(v.shape, v.dtype) if g is None else tf.convert_to_tensor(g)
        for g, v in zip(gradients, variables)
    ]
    clips, scaled = global_clipnorm is not None, scales(optimizer)
    # All replicas must see the same gradient, to clip it or to decide that
    # the loss was scaled too much.
    whole = num_replicas() > 1 and (clips or scaled)
    if whole:
        shares = [sum_over_replicas(gradient) for gradient in shares]
    size = tf.add_n([tf.nn.l2_loss(tf.cast(g, tf.float32)) for g in shares])
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
    return Update(optimizer, shares, variables, size)


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


class JointOptimizer(keras.optimizers.MultiOptimizer):
    """The optimizers of several learners as one, for callbacks.

    It takes no steps: the model calls each of them.

    Args:
        optimizers: List of `keras.optimizers.Optimizer`s, all built.
        variables: List of lists of what each of them trains.

    Attributes:
        optimizers: Sequence of the optimizers; of one that scales the loss,
            the one inside.
        iterations: Steps of the learner that has taken most.
    """

    def __init__(self, optimizers, variables):
        super().__init__(None)
        # No lists, of which Keras would save every entry, as the model's.
        self._whole, self._trained = UserList(optimizers), UserList(variables)
        self.built = True

    @property
    def optimizers(self):
        return [getattr(o, "inner_optimizer", o) for o in self._whole]

    @property
    def variables(self):
        return [v for optimizer in self._whole for v in optimizer.variables]

    @property
    def iterations(self):
        counts = [optimizer.iterations for optimizer in self.optimizers]
        return max(counts, key=lambda n: int(keras.ops.convert_to_numpy(n)))

    def finalize_variable_values(self, var_list):
        for optimizer, trained in zip(self.optimizers, self._trained):
            optimizer.finalize_variable_values(trained)

    def save_own_variables(self, store):
        """Saves nothing: the optimizers are the model's, which saves them."""

    def load_own_variables(self, store):
        """Loads nothing, see `save_own_variables()`."""


@keras.saving.register_keras_serializable(package="tfcap")
class ClippedAdam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` whose `global_clipnorm` is of all devices.

    Keras clips the gradient of each replica before they are summed, which is
    another step than that of one device. For models with a `compile()` of
    Keras' own; `tfcap.training.JointTraining` clips by itself. On one device
    this is Keras' optimizer to the bit.

    Args:
        *args, **kwargs: As `keras.optimizers.Adam`.

    Example:

    >>> optimizer = tfcap.training.ClippedAdam(1e-3, global_clipnorm=5.0)
    >>> optimizer.global_clipnorm
    5.0
    """

    def apply(self, grads, trainable_variables=None):
        replicas = num_replicas()
        if self.global_clipnorm and replicas > 1:
            whole = [
                sum_over_replicas(tf.convert_to_tensor(gradient))
                for gradient in grads
            ]
            whole, _ = tf.clip_by_global_norm(whole, self.global_clipnorm)
            # They are summed once more, and are too small to be clipped.
            grads = [gradient / replicas for gradient in whole]
        super().apply(grads, trainable_variables)
