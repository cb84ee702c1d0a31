"""The optimizers of several learners, as callbacks see them."""

from collections import UserList

import keras


class JointOptimizer(keras.optimizers.MultiOptimizer):
    """The optimizers of several learners as one, for callbacks.

    Keras' callbacks go through `optimizers`, each with its own learning rate
    and moving averages. Other callbacks know one optimizer: to them,
    `learning_rate` is that of the first learner, and to set it multiplies all
    rates by the same factor, as schedules of groups of parameters do. Rates
    that are equal stay equal.

    Args:
        optimizers: Dict of `keras.optimizers.Optimizer`s by the names of the
            learners, all built.

    Attributes:
        optimizers: Sequence of the optimizers; of one that scales the loss,
            the one inside.
        iterations: Steps of the learner that has taken most.
    """

    def __init__(self, optimizers):
        super().__init__(None)
        self._names = tuple(optimizers)
        self._whole = UserList(optimizers.values())
        # Not a list, of which Keras would save every entry, as the model's.
        self._inner_optimizers = UserList(
            getattr(optimizer, "inner_optimizer", optimizer)
            for optimizer in optimizers.values()
        )
        self._rate = _SharedRate(self._inner_optimizers)
        self.built = True

    @property
    def variables(self):
        return [v for optimizer in self._whole for v in optimizer.variables]

    @property
    def iterations(self):
        counts = [optimizer.iterations for optimizer in self.optimizers]
        return max(counts, key=lambda n: int(keras.ops.convert_to_numpy(n)))

    @property
    def learning_rate(self):
        return self._rate.read()

    @learning_rate.setter
    def learning_rate(self, value):
        self._rate.assign(value)

    def finalize_variable_values(self, var_list):
        for optimizer in self.optimizers:
            optimizer.finalize_variable_values(optimizer._trainable_variables)

    def get_config(self):
        save = keras.saving.serialize_keras_object
        return {name: save(o) for name, o in zip(self._names, self._whole)}

    def save_own_variables(self, store):
        """Saves nothing: the optimizers are the model's, which saves them."""

    def load_own_variables(self, store):
        """Loads nothing, see `save_own_variables()`."""


class _SharedRate(keras.Variable):
    """The learning rate of the first optimizer, which all others follow."""

    def __init__(self, optimizers):
        super().__init__(0.0, trainable=False, name="learning_rate")
        self._optimizers = optimizers
        self._ratios = [1.0] * len(optimizers)
        self.read()

    def read(self):
        """Takes the rates as they are now, and returns itself."""
        first, *_ = rates = [
            float(keras.ops.convert_to_numpy(optimizer.learning_rate))
            for optimizer in self._optimizers
        ]
        if first:
            # A warmup from 0 comes back to what the ratios were before it.
            self._ratios = [rate / first for rate in rates]
        super().assign(first)
        return self

    def assign(self, value):
        value = float(keras.ops.convert_to_numpy(value))
        self.read()
        for optimizer, ratio in zip(self._optimizers, self._ratios):
            optimizer.learning_rate = ratio * value
        return super().assign(value)
