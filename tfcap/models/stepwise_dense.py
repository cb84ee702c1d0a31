"""A dense layer that a decode calls step by step."""

import keras
from keras import ops

from tfcap.models.stepwise import Stepwise


class StepwiseDense(Stepwise, keras.layers.Dense):
    """`keras.layers.Dense` without an activation, called once a step.

    Weights, arguments, results and gradients are those of
    `keras.layers.Dense`; only how the kernel gets its gradient differs, in a
    decode.
    """

    def factors(self):
        kernel = ops.cast(self.kernel, self.compute_dtype)
        if not self.use_bias:
            return kernel, ops.zeros((self.units,), dtype=self.compute_dtype)
        return kernel, ops.cast(self.bias, self.compute_dtype)

    def call(self, inputs, training=None):
        if self.stepwise is None:
            return super().call(inputs, training=training)
        return self.stepwise(inputs)
