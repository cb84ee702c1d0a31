"""Running without graphs, where a trace takes longer than the steps."""

import contextlib

import tensorflow as tf


@contextlib.contextmanager
def run_eagerly():
    """Runs `tf.function`s, and so Keras' steps, eagerly."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)
