"""Adam that clips the gradient of all devices."""

import keras
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas


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
