"""The optimizers of several learners, as callbacks see them."""

from collections import UserList

import keras


class JointOptimizer(keras.optimizers.MultiOptimizer):
    """The optimizers of several learners as one, for callbacks.

    It takes no steps: the model calls each of them.

    Args:
        optimizers: List of `keras.optimizers.Optimizer`s, all built.

    Attributes:
        optimizers: Sequence of the optimizers; of one that scales the loss,
            the one inside.
        iterations: Steps of the learner that has taken most.
    """

    def __init__(self, optimizers):
        super().__init__(None)
        # Not a list, of which Keras would save every entry, as the model's.
        self._whole = UserList(optimizers)
        self.built = True

    @property
    def optimizers(self):
        return [getattr(o, "inner_optimizer", o) for o in self._whole]

    @property
    def variables(self):
        return [v for optimizer in self._whole for v in optimizer.variables]

    @property
    def iterations(self):
        counts = [optimizer.iterations for optimizer in self.optimizers]
        return max(counts, key=lambda n: int(keras.ops.convert_to_numpy(n)))

    def finalize_variable_values(self, var_list):
        for optimizer in self.optimizers:
            optimizer.finalize_variable_values(optimizer._trainable_variables)

    def save_own_variables(self, store):
        """Saves nothing: the optimizers are the model's, which saves them."""

    def load_own_variables(self, store):
        """Loads nothing, see `save_own_variables()`."""
