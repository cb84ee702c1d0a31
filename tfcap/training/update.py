"""One optimizer step, right on one replica and on several."""

import tensorflow as tf

from tfcap.ops import num_replicas
from tfcap.ops import sum_over_replicas


def update(optimizer, gradients, variables, global_clipnorm=None):
    """Applies gradients that were taken of a replica's share of the loss.

    Keras clips every replica's gradient before they are summed, which is
    another update than that of one device; here the sum is clipped.

    Args:
        optimizer: `keras.optimizers.Optimizer`, built.
        gradients: List of tensors or `None`, of `optimizer.scale_loss(loss)`.
        variables: List of `keras.Variable`, in the same order.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
    """
    pairs = [
        (gradient, variable)
        for gradient, variable in zip(gradients, variables)
        if gradient is not None
    ]
    if not pairs:
        raise ValueError(
            "No gradient reaches any variable. Received: "
            f"{len(variables)} trainable variables. See that the objective's "
            "decoder and reward connect the loss with the network, and that "
            "the network is not frozen."
        )
    gradients = [tf.convert_to_tensor(gradient) for gradient, _ in pairs]
    if global_clipnorm is not None:
        replicas = num_replicas()
        gradients = [sum_over_replicas(gradient) for gradient in gradients]
        # A loss-scaled gradient is clipped at a norm scaled alike.
        scale = getattr(optimizer, "dynamic_scale", 1.0)
        gradients, _ = tf.clip_by_global_norm(
            gradients, global_clipnorm * tf.cast(scale, tf.float32)
        )
        gradients = [gradient / replicas for gradient in gradients]
    by_id = {id(v): g for g, (_, v) in zip(gradients, pairs)}
    # Every trainable variable is passed, in the order the optimizer knows.
    optimizer.apply(
        [
            by_id.get(id(variable), tf.zeros(variable.shape, variable.dtype))
            for variable in variables
        ],
        variables,
    )


def weight_penalty(variables):
    """This replica's share of the penalties that layers put on their weights.

    Args:
        variables: List of `keras.Variable`; what a layer was given as
            `kernel_regularizer` and the like is their `regularizer`.

    Returns:
        Float scalar tensor, or 0.0 where there is none.
    """
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

    Returns:
        List of the channels.
    """
    channels = list(channels)
    for channel in channels:
        if not channel.built:
            channel.build((None, speaker.vocabulary_size))
    return channels
