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
    def shared(self):
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


def decoding_layers(network: keras.Model, rows: Any, steps: int):
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
    """`rows @ kernel + bias` at every step of a decode.

    A kernel that is read at every step has a gradient at every step, each as
    large as itself, and they are added up: of a vocabulary head, hundreds of
    megabytes. Here the steps take the kernel for a constant, and each has a
    copy of the bias of its own. What reaches the copies is all that the
    kernel needs:

    ```
    gradient = concat(rows of all steps)^T @ concat(upstream of all steps)
    ```

    Gradients of these gradients reach the kernel from every step, as those of
    plain products do.

    Args:
        kernel: Float tensor of shape `(D, U)`.
        bias: Float tensor of shape `(U,)`; the result has its dtype.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how often it is called at most.
    """

    def __init__(self, kernel, bias, rows, steps):
        import tensorflow as tf

        self.rows = tf.get_static_value(rows)
        self.steps = steps
        self.kernel = kernel
        self.read = []
        self.biases = iter(self._biases(kernel, bias, rows, steps))

    def takes(self, rows):
        """Check whether a tensor has a step's shape, and a step is left."""
        left = len(self.read) < self.steps
        return left and rows.shape.is_compatible_with((self.rows, None))

    def __call__(self, rows):
        """Computes the next step: `(n, D)` to `(n, U)`."""
        import tensorflow as tf

        bias = next(self.biases)
        self.read.append(rows)

        @tf.custom_gradient
        def product(rows, kernel):
            def gradient(upstream):
                return tf.matmul(upstream, kernel, transpose_b=True), None

            return tf.matmul(rows, kernel), gradient

        return tf.cast(product(rows, self.kernel), bias.dtype) + bias

    def _biases(self, kernel, bias, rows, steps):
        """Copies the bias for every step, of shape `(rows, U)`."""
        import tensorflow as tf

        @tf.custom_gradient
        def copies(kernel, bias):
            every = tf.broadcast_to(bias, (rows, bias.shape[-1]))

            def gradient(*upstream):
                read = tf.concat(self.read, axis=0)
                upstream = tf.concat(upstream[: len(self.read)], axis=0)
                return (
                    tf.matmul(
                        read, tf.cast(upstream, read.dtype), transpose_a=True
                    ),
                    tf.reduce_sum(upstream, axis=0),
                )

            return [tf.identity(every) for _ in range(steps)], gradient

        return copies(kernel, bias)


class StepwiseLookup:
    """`embed_words()` at every step of a decode.

    As `StepwiseProduct`, but each step adds a vector of zeros of its own, and
    the gradients of these are added up in the rows of the words, once.

    Args:
        table: Float tensor or variable of shape `(V, D)`.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how often it is called at most.
    """

    def __init__(self, table, rows, steps):
        import tensorflow as tf

        self.table = as_tensor(table)
        self.rows = tf.get_static_value(rows)
        self.steps = steps
        self.read = []
        self.zeros = iter(self._zeros(rows))

    def takes(self, vectors):
        """Check whether vectors are those of a step, of known words."""
        return (
            len(self.read) < self.steps
            and vectors.shape.is_compatible_with((self.rows, None))
            and known_words(vectors) is not None
        )

    def __call__(self, vectors):
        """Computes the next step: `(n, V)` to `(n, D)`."""
        import tensorflow as tf

        words = known_words(vectors)
        self.read.append((vectors, words))

        @tf.custom_gradient
        def embedded(vectors, table):
            def gradient(upstream):
                return vectors_gradient(upstream, table), None

            return look_up(words, table), gradient

        return embedded(vectors, self.table) + next(self.zeros)

    def _zeros(self, rows):
        """The zeros of every step, of shape `(rows, D)`."""
        import tensorflow as tf

        @tf.custom_gradient
        def copies(table):
            zeros = tf.zeros((rows, table.shape[-1]), table.dtype)

            def gradient(*upstream):
                vectors, words = zip(*self.read)
                upstream = upstream[: len(self.read)]
                size = table.shape[0]
                return table_gradient(vectors, words, upstream, size)

            return [tf.identity(zeros) for _ in range(self.steps)], gradient

        return copies(self.table)


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
