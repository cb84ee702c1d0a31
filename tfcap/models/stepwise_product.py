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

    Gradients of these gradients reach the kernel from every step, as those of
    plain products do. TensorFlow only.

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
        """Whether a tensor has the shape of a step's, and one is left."""
        left = len(self.read) < self.steps
        return left and rows.shape.is_compatible_with((self.rows, None))

    def __call__(self, rows):
        """The next step: `(n, D)` to `(n, U)`."""
        import tensorflow as tf

        bias = next(self.biases)
        self.read.append(rows)

        @tf.custom_gradient
        def product(rows, kernel):
            def slopes(upstream):
                return tf.matmul(upstream, kernel, transpose_b=True), None

            return tf.matmul(rows, kernel), slopes

        return tf.cast(product(rows, self.kernel), bias.dtype) + bias

    def _biases(self, kernel, bias, rows, steps):
        """The bias of every step, of shape `(rows, U)`."""
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
