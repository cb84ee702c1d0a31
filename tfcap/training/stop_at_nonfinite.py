"""Stops the training of a model that Keras itself trains."""

import math

import keras


class StopAtNonfinite(keras.callbacks.Callback):
    """Stops a run at the step at which what is logged is not finite.

    For models with a loss of Keras, such as a discriminator that is trained
    alone. Their weights have moved by then, which those of `ObjectiveModel`
    and `Game` never do; no checkpoint is written of them.

    Raises:
        FloatingPointError: Names the loss or metric.
    """

    def on_train_batch_end(self, batch, logs=None):
        wrong = [
            f"`{name}` is {float(value)}"
            for name, value in (logs or {}).items()
            if not math.isfinite(value)
        ]
        if wrong:
            raise FloatingPointError(
                "Losses and metrics must be finite. Received: "
                f"{', '.join(wrong)}, at step {batch} of the epoch. What is on "
                "disk is from before it. See what is named, lower the learning "
                "rate, or clip the gradient with `global_clipnorm`."
            )
