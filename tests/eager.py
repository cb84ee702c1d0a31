"""Running without graphs, where a trace takes longer than the steps."""

import contextlib


@contextlib.contextmanager
def run_eagerly():
    """Runs `tf.function`s, and so Keras' steps, eagerly."""
    import tensorflow as tf

    # Kept, for a test may put something else in its place.
    run = tf.config.run_functions_eagerly
    run(True)
    try:
        yield
    finally:
        run(False)
