"""One optimizer step, right on one replica and on several."""

from typing import Any
from typing import NamedTuple

import keras
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap.training.accumulation import accumulation_steps
from tfcap.training.accumulation import clips


class Step(NamedTuple):
    """A step that an optimizer is about to take.

    Args:
        gradients: List of tensors, to be summed over replicas.
        variables: List of `keras.Variable`, in the same order.
        sizes: List of float32 scalars, half the squared norm of each gradient,
            not finite where it is not. 0 where that only tells an optimizer
            to scale the loss by less.
        global_clipnorm: Float or `None`, norm to clip the mean of several
            batches' gradients to; those of one batch are clipped already.
    """

    optimizer: Any
    gradients: list
    variables: list
    sizes: list
    global_clipnorm: float | None = None


def prepare(optimizer, gradients, variables, global_clipnorm=None):
    """An optimizer's step, right on one replica and on several.

    Keras clips every replica's gradient before they are summed, which is
    another update than that of one device; here the sum is clipped. Where the
    optimizer accumulates, `advance()` clips the mean of the sums.

    Args:
        optimizer: `keras.optimizers.Optimizer`, built.
        gradients: List of tensors or `None`, of `optimizer.scale_loss(loss)`,
            that were taken of a replica's share of the loss.
        variables: List of `keras.Variable`, in the same order.
        global_clipnorm: Float or `None`, norm to clip the gradient to.

    Returns:
        `Step`, for all variables, in the order the optimizer knows.
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
    scales, scale = _scale(optimizer)
    accumulates = accumulation_steps(optimizer) > 1
    clipping = global_clipnorm is not None or clips(optimizer)
    # All replicas must see the same gradient, to clip it, to keep it or to
    # decide that the loss was scaled too much.
    whole = num_replicas() > 1 and (scales or accumulates or clipping)
    if whole:
        shares = [sum_over_replicas(gradient) for gradient in shares]
    halves = [tf.nn.l2_loss(tf.cast(g, tf.float32)) for g in shares]
    if accumulates:
        shares = _divided(shares, scale)
    elif global_clipnorm is not None:
        # A loss-scaled gradient is clipped at a norm scaled alike.
        norm = tf.sqrt(2.0 * tf.add_n(halves))
        shares, _ = tf.clip_by_global_norm(
            shares, global_clipnorm * scale, norm
        )
    if whole and not accumulates:
        shares = _shared(optimizer, shares, scale)
    if scales:
        halves = [tf.where(scale > 1.0, 0.0, half) for half in halves]
    every = [tf.zeros(v.shape, v.dtype) for v in variables]
    sizes = [tf.constant(0.0)] * len(variables)
    for i, gradient, half in zip(reached, shares, halves):
        every[i], sizes[i] = gradient, half
    return Step(optimizer, every, list(variables), sizes, global_clipnorm)


def _scale(optimizer):
    """Check whether an optimizer looks for a scale of the loss; the scale."""
    if hasattr(optimizer, "dynamic_scale"):
        return True, tf.cast(optimizer.dynamic_scale, tf.float32)
    return False, tf.constant(optimizer.loss_scale_factor or 1.0, tf.float32)


def _shared(optimizer, gradients, scale):
    """A replica's share in gradients that all have, clipped as by Keras."""
    if clips(optimizer):
        # Keras clips the shares again, which are too small for it.
        gradients = optimizer._clip_gradients(_divided(gradients, scale))
        gradients = _divided(gradients, 1.0 / scale)
    return _divided(gradients, num_replicas())


def _divided(gradients, number):
    return [g / tf.cast(number, g.dtype) for g in gradients]


def weight_penalty(variables):
    """This replica's share of the penalties on the weights of layers."""
    penalties = [
        tf.cast(variable.regularizer(variable.value), tf.float32)
        for variable in variables
        if getattr(variable, "regularizer", None) is not None
    ]
    return sum(penalties) / num_replicas() if penalties else 0.0


def built(channels, speaker):
    """Builds word channels for a speaker's vocabulary.

    Keras traces a model once more to build it as long as any layer of it is
    not built.
    """
    channels = list(channels)
    for channel in channels:
        if not channel.built:
            channel.build((None, speaker.vocabulary_size))
    return channels


def optimizers_by_name(optimizer, names):
    """Optimizers of the networks that learn.

    Raises:
        ValueError: If the names differ, or two share an optimizer.
    """
    names = list(names)
    wanted = ", ".join(map(repr, names))
    if not isinstance(optimizer, dict):
        if optimizer is None or len(names) != 1:
            raise ValueError(
                "`optimizer` must be a dict of an optimizer for each of "
                f"{wanted}. Received: optimizer={optimizer!r}. Give "
                f"`compile({{{names[0]!r}: keras.optimizers.Adam(), ...}})`."
            )
        optimizer = {names[0]: optimizer}
    if set(optimizer) != set(names):
        raise ValueError(
            f"`optimizer` must have exactly the keys {wanted}, the networks "
            f"that learn. Received: the keys {', '.join(map(repr, optimizer))}."
            " Add what is missing, and leave out what does not learn."
        )
    optimizers = {name: keras.optimizers.get(optimizer[name]) for name in names}
    if len({id(own) for own in optimizers.values()}) < len(names):
        raise ValueError(
            "`optimizer` must be one of its own for every network that "
            f"learns. Received: the same for two of {wanted}."
        )
    return optimizers


def build_optimizer(
    name: str, optimizer: keras.optimizers.Optimizer, network: keras.Model
):
    """Builds an optimizer for a network, or checks that it was built for it.

    Raises:
        ValueError: If it was built for another network.
    """
    variables = network.trainable_variables
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if inner.built and {id(v) for v in inner._trainable_variables} != {
        id(v) for v in variables
    }:
        raise ValueError(
            f"`optimizer` of {name!r} must be new, or built for the same "
            "variables. Received: one that has trained others. Make another."
        )
    if not optimizer.built:
        optimizer.build(variables)
