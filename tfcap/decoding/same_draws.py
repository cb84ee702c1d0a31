"""Replaying the random numbers of a network."""

import contextlib

from keras import ops


class SameDraws:
    """Keeps the state of a network's random generators, to draw again.

    A speaker that reads the same words twice in training has other masks of
    dropout the second time. Within `again()` they are those that came after
    this object was made; afterwards the network goes on as if nothing had been
    drawn there. Networks that are no Keras layers draw new numbers.

    Args:
        network: `keras.layers.Layer`, or any other object.
    """

    def __init__(self, network):
        layers = ()
        if hasattr(network, "_flatten_layers"):
            layers = network._flatten_layers()
        # A generator may belong to several layers.
        found = {
            id(generator): generator.state
            for layer in layers
            for generator in layer._seed_generators
        }
        self.states = list(found.values())
        self.before = [ops.copy(state) for state in self.states]

    @contextlib.contextmanager
    def again(self):
        """Context in which the network draws the numbers once more."""
        after = [ops.copy(state) for state in self.states]
        self._assign(self.before)
        try:
            yield
        finally:
            self._assign(after)

    def _assign(self, values):
        for state, value in zip(self.states, values):
            state.assign(value)
