"""A dense layer that a decode calls step by step."""

import keras
from keras import ops

from tfcap.layers.stepwise import Stepwise
from tfcap.models.stepwise_product import StepwiseProduct


@keras.saving.register_keras_serializable(package="tfcap")
class StepwiseDense(Stepwise, keras.layers.Dense):
    """`keras.layers.Dense`, called once a step.

    Weights, arguments, results and gradients are those of
    `keras.layers.Dense`; only how the kernel gets its gradient differs, in a
    decode.
    """

    def share(self, rows, steps):
        kernel = ops.cast(self.kernel, self.compute_dtype)
        if self.bias is None:
            bias = ops.zeros((self.units,), self.compute_dtype)
        else:
            bias = ops.cast(self.bias, self.compute_dtype)
        return StepwiseProduct(kernel, bias, rows, steps)

    def call(self, inputs, training=None):
        product = self.shared
        if product is None or not product.takes(inputs):
            return super().call(inputs, training=training)
        return self.activation(product(inputs))
