"""A product taken step by step, the gradient of which is taken once."""


class StepwiseProduct:
    """`rows @ kernel + bias` at every step of a decode.

    A kernel that is read at every step has a gradient at every step, each as
    large as itself, and they are added up: of a vocabulary head, hundreds of
    megabytes. Here the steps take the kernel for a constant, and each has a
    copy of the bias of its own. What reaches the copies is all that the
    kernel needs:

    ```
    gradient = concat(rows of all steps)^T @ concat(slopes of all steps)
    ```

    TensorFlow only.

    Args:
        kernel: Float tensor of shape `(D, V)`.
        bias: Float tensor of shape `(V,)`; the result has its dtype.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how many calls share the gradient; those beyond have
            one of their own.
    """

    def __init__(self, kernel, bias, rows, steps):
        import tensorflow as tf

        self.factors = kernel, bias
        self.kernel = tf.stop_gradient(kernel)
        self.read = []
        self.biases = iter(self._biases(kernel, bias, rows, steps))

    def __call__(self, rows):
        """The next step: `(n, D)` to `(n, V)`."""
        import tensorflow as tf

        kernel, bias = self.kernel, next(self.biases, None)
        if bias is None:
            kernel, bias = self.factors
        else:
            self.read.append(rows)
        return tf.cast(tf.matmul(rows, kernel), bias.dtype) + bias

    def _biases(self, kernel, bias, rows, steps):
        """The bias of every step, of shape `(rows, V)`."""
        import tensorflow as tf

        @tf.custom_gradient
        def copies(kernel, bias):
            every = tf.broadcast_to(bias, (rows, bias.shape[-1]))

            def slopes(*upstream):
                read = tf.concat(self.read, axis=0)
                upstream = tf.concat(upstream[: len(self.read)], axis=0)
                slope = tf.cast(upstream, read.dtype)
                return (
                    tf.matmul(read, slope, transpose_a=True),
                    tf.reduce_sum(upstream, axis=0),
                )

            return [tf.identity(every) for _ in range(steps)], slopes

        return copies(kernel, bias)
