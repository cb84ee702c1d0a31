"""Layers that a decode calls step by step."""

import contextlib
import threading

import keras

from tfcap.models.stepwise_product import StepwiseProduct


class Stepwise:
    """Mixin of layers that multiply with a kernel at every step of a decode.

    On TensorFlow, within `decoding()`, the kernel is read once, and its
    gradient is one product over all steps: see `StepwiseProduct`. A layer
    asks `stepwise` for that product in its call, and says in `factors()` of
    what.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Replicas decode side by side, each in a thread of its own.
        self._decode = threading.local()

    @property
    def stepwise(self):
        """The `StepwiseProduct` of the decode at hand, or `None`."""
        return getattr(self._decode, "product", None)

    def factors(self):
        """Kernel `(D, V)` and bias `(V,)` of a step."""
        raise NotImplementedError

    @contextlib.contextmanager
    def decoding(self, rows, steps):
        """Context of a decode.

        Args:
            rows: Integer or scalar tensor, rows of every call.
            steps: Integer, calls at most.
        """
        if keras.backend.backend() == "tensorflow":
            product = StepwiseProduct(*self.factors(), rows, steps)
            self._decode.product = product
        try:
            yield self
        finally:
            self._decode.product = None


@contextlib.contextmanager
def decoding(network, rows, steps):
    """Context of a decode of a network, in all its layers that share steps.

    Args:
        network: `keras.Model`.
        rows: Integer or scalar tensor, rows of every step.
        steps: Integer, steps at most.
    """
    with contextlib.ExitStack() as stack:
        for layer in network._flatten_layers():
            if isinstance(layer, Stepwise):
                stack.enter_context(layer.decoding(rows, steps))
        yield network
