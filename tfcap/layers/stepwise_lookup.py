"""Words embedded step by step, with one gradient for their table."""

from tfcap.ops.word_vectors import as_tensor
from tfcap.ops.word_vectors import known_words
from tfcap.ops.word_vectors import look_up
from tfcap.ops.word_vectors import slope_of_table
from tfcap.ops.word_vectors import slope_of_vectors


class StepwiseLookup:
    """`tfcap.ops.embed_words()` at every step of a decode.

    A table that is read at every step has a gradient at every step, each as
    large as itself. Here each step adds a vector of zeros of its own, and the
    gradients of these are added up in the rows of the words, once.

    TensorFlow only.

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
        """The next step: `(n, V)` to `(n, D)`."""
        import tensorflow as tf

        words = known_words(vectors)
        self.read.append((vectors, words))

        @tf.custom_gradient
        def embedded(vectors, table):
            def slopes(upstream):
                return slope_of_vectors(upstream, table), None

            return look_up(words, table), slopes

        return embedded(vectors, self.table) + next(self.zeros)

    def _zeros(self, rows):
        """The zeros of every step, of shape `(rows, D)`."""
        import tensorflow as tf

        @tf.custom_gradient
        def copies(table):
            zeros = tf.zeros((rows, table.shape[-1]), table.dtype)

            def slopes(*upstream):
                vectors, words = zip(*self.read)
                upstream = upstream[: len(self.read)]
                size = table.shape[0]
                return slope_of_table(vectors, words, upstream, size)

            return [tf.identity(zeros) for _ in range(self.steps)], slopes

        return copies(self.table)
