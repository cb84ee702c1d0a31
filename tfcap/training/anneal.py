"""The callback that follows a schedule."""

import keras


class Anneal(keras.callbacks.Callback):
    """Sets a variable before every batch to what a schedule says.

    The step is counted from the epoch and the batch, so a run that continues
    at a later epoch finds its place. A model that is compiled with
    `steps_per_execution` is refused: no callback sees the steps in between.

    Args:
        variable: `keras.Variable`, such as the `temperature` of a word
            channel or the weight of a term.
        schedule: Callable from the step, an integer, to a number; a
            `keras.optimizers.schedules.LearningRateSchedule` will do.
        name: String under which the value is added to the epoch's logs.

    Example:

    >>> channel = tfcap.layers.GumbelSoftmaxST(temperature=1.0)
    >>> callback = tfcap.training.Anneal(
    ...     channel.temperature, tfcap.training.ExponentialTemperature()
    ... )
    """

    def __init__(self, variable, schedule, name="temperature"):
        super().__init__()
        if not hasattr(variable, "assign"):
            raise TypeError(
                "`variable` must be a `keras.Variable`. Received: "
                f"variable={variable!r}."
            )
        self.variable = variable
        self.schedule = schedule
        self.name = name
        self._epoch = 0

    def on_train_begin(self, logs=None):
        if self.params.get("steps") is None:
            raise ValueError(
                "`steps_per_epoch` must be given to `fit()` for data of "
                "unknown length, since the schedule counts steps. Received: "
                "steps=None."
            )
        together = getattr(self.model, "steps_per_execution", 1)
        if together != 1:
            raise ValueError(
                "`steps_per_execution` must be 1 with Anneal, which Keras "
                "calls once for all of them: the variable would stand still "
                f"in between. Received: steps_per_execution={together}. Leave "
                "it out of `compile()`."
            )

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        step = self._epoch * self.params["steps"] + batch
        self.variable.assign(self.schedule(step))

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            value = keras.ops.convert_to_numpy(self.variable)
            logs[self.name] = float(value)
