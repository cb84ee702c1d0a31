"""Layers that share something between the steps of a decode."""

import contextlib
import threading

import keras


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

    def share(self, rows, steps):
        """What the steps of a decode share; arguments as of `decoding()`."""
        raise NotImplementedError

    @property
    def shared(self):
        """What `share()` made for the decode at hand, or `None`.

        A step may be traced into a graph of its own, which outlives the
        decode: nothing is shared there.
        """
        graph, shared = getattr(self._decode, "shared", (None, None))
        return shared if shared is not None and graph is _graph() else None

    @contextlib.contextmanager
    def decoding(self, rows, steps):
        """Context of a decode.

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


def decoding_layers(network, rows, steps):
    """Context of a decode of a network, in all its layers that share steps.

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
