"""Products and look-ups of every step of a decode, with one gradient.

TensorFlow only.
"""

import contextlib
import threading
from typing import Any

import keras
from keras import ops

from tfcap.layers._fast.word_vectors import as_tensor
from tfcap.layers._fast.word_vectors import known_words
from tfcap.layers._fast.word_vectors import look_up
from tfcap.layers._fast.word_vectors import table_gradient
from tfcap.layers._fast.word_vectors import vectors_gradient


class Stepwise:
    """Mixin of layers that are called step by step.

    On TensorFlow, within `decoding()`, a layer has in `shared` what `share()`
    made for all steps, such as one gradient for a weight that every step
    reads.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Replicas decode side by side, each in a thread of its own.
        self._decode = threading.local()

    def share(self, rows: Any, steps: int) -> Any:
        """Makes what all steps share; arguments as of `decoding()`."""
        raise NotImplementedError

    def stepwise(self, inputs: Any, plain: Any) -> Any:
        """Returns `plain(inputs)`, in a decode by what its steps share."""
        shared = self.shared
        takes = shared is not None and shared.takes(inputs)
        return shared(inputs) if takes else plain(inputs)

    @property
    def shared(self) -> Any:
        """Result of `share()` for the current decode, or `None`.

        A step may be traced into a graph of its own, which outlives the
        decode: nothing is shared there.
        """
        graph, shared = getattr(self._decode, "shared", (None, None))
        return shared if shared is not None and graph is _graph() else None

    @contextlib.contextmanager
    def decoding(self, rows: Any, steps: int):
        """Opens the context of a decode.

        Args:
            rows: Integer or scalar tensor, rows of every call.
            steps: Integer, calls at most.
        """
        before = getattr(self._decode, "shared", (None, None))
        if keras.backend.backend() == "tensorflow":
            self._decode.shared = _graph(), self.share(rows, steps)
        try:
            yield self
        finally:
            self._decode.shared = before


def decoding_layers(
    network: keras.Model, rows: Any, steps: int
) -> contextlib.ExitStack:
    """Opens the context of a decode, in all layers that share steps.

    Args:
        network: `keras.Model`.
        rows: Integer or scalar tensor, rows of every step.
        steps: Integer, steps at most.
    """
    contexts = contextlib.ExitStack()
    for layer in network._flatten_layers():
        if isinstance(layer, Stepwise):
            contexts.enter_context(layer.decoding(rows, steps))
    return contexts


def _graph():
    """The graph that is being traced, or `None` in eager execution."""
    import tensorflow as tf

    eager = tf.executing_eagerly()
    return None if eager else tf.compat.v1.get_default_graph()


class StepwiseProduct:
    """`inputs @ kernel + bias` at every step of a decode.

    A kernel that is read at every step has a gradient at every step, each as
    large as itself, and they are added up: of a vocabulary head, hundreds of
    megabytes. Here the steps take the kernel for a constant, and each has a
    copy of the bias of its own. The gradients to the copies are all that the
    kernel needs:

    ```
    gradient = concat(inputs of all steps)^T @ concat(upstream of all steps)
    ```

    Gradients of these gradients reach the kernel from every step, as those of
    plain products do.

    Args:
        kernel: Float tensor of shape `(D, U)`.
        bias: Float tensor of shape `(U,)`; the result has its dtype.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how often it is called at most.
    """

    def __init__(self, kernel: Any, bias: Any, rows: Any, steps: int):
        import tensorflow as tf

        self.kernel = kernel
        self.rows = tf.get_static_value(rows)
        self.steps = steps
        self.inputs = []
        # Made by the first step: a SavedModel traces every gradient of a graph.
        self.biases = self._copies(bias, rows)

    def takes(self, inputs):
        """Check whether a tensor has a step's shape, and a step is left."""
        left = len(self.inputs) < self.steps
        return left and inputs.shape.is_compatible_with((self.rows, None))

    def __call__(self, inputs):
        """Computes the next step: `(n, D)` to `(n, U)`."""
        import tensorflow as tf

        bias = next(self.biases)
        self.inputs.append(inputs)

        @tf.custom_gradient
        def product(inputs, kernel):
            def gradient(upstream):
                # To the kernel: by the copies of the bias.
                return self.gradient_of_inputs(upstream, kernel), None

            return self.multiply(inputs, kernel), gradient

        return tf.cast(product(inputs, self.kernel), bias.dtype) + bias

    def multiply(self, inputs, kernel):
        """Multiplies the inputs of a step with the kernel."""
        import tensorflow as tf

        return tf.matmul(inputs, kernel)

    def gradient_of_inputs(self, upstream, kernel):
        """Gradient `(n, D)` to the inputs of a step."""
        import tensorflow as tf

        return tf.matmul(upstream, kernel, transpose_b=True)

    def gradients_of_weights(self, upstream):
        """Gradients to kernel and bias, of the gradients to all steps."""
        import tensorflow as tf

        inputs = tf.concat(self.inputs, axis=0)
        upstream = tf.concat(upstream, axis=0)
        kernel = tf.matmul(
            inputs, tf.cast(upstream, inputs.dtype), transpose_a=True
        )
        return kernel, tf.reduce_sum(upstream, axis=0)

    def _copies(self, bias, rows):
        """Copies the bias for every step, of shape `(rows, U)`."""
        import tensorflow as tf

        @tf.custom_gradient
        def copies(kernel, bias):
            every = tf.broadcast_to(bias, (rows, bias.shape[-1]))

            def gradient(*upstream):
                return self.gradients_of_weights(upstream[: len(self.inputs)])

            return [tf.identity(every) for _ in range(self.steps)], gradient

        yield from copies(self.kernel, bias)


class StepwiseLookup(StepwiseProduct):
    """`embed_words()` at every step of a decode, without a bias.

    Args:
        table: Float tensor or variable of shape `(V, D)`.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how often it is called at most.
    """

    def __init__(self, table: Any, rows: Any, steps: int):
        import tensorflow as tf

        table = as_tensor(table)
        zeros = tf.zeros((table.shape[-1],), table.dtype)
        super().__init__(table, zeros, rows, steps)

    def takes(self, inputs):
        """Check whether vectors are those of a step, of known words."""
        return super().takes(inputs) and known_words(inputs) is not None

    def multiply(self, inputs, kernel):
        return look_up(known_words(self.inputs[-1]), kernel)

    def gradient_of_inputs(self, upstream, kernel):
        return vectors_gradient(upstream, kernel)

    def gradients_of_weights(self, upstream):
        words = [known_words(vectors) for vectors in self.inputs]
        size = self.kernel.shape[0]
        return table_gradient(self.inputs, words, upstream, size), None


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
