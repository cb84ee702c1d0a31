"""A schedule of temperatures."""

import keras
from keras import ops

from tfcap._printed import printed


@keras.saving.register_keras_serializable(package="tfcap")
class ExponentialTemperature(keras.optimizers.schedules.LearningRateSchedule):
    """A temperature that decays exponentially to a minimum.

    ```
    temperature = max(minimum, initial * exp(-rate * step))
    ```

    Use it as `GumbelSoftmaxST(temperature=...)`.

    Args:
        initial: Float, temperature at step 0. Defaults to `1.0`.
        rate: Float, in 1/steps. Defaults to `1e-5`.
        minimum: Float. Defaults to `0.5`.

    Example:

    >>> schedule = tfcap.training.ExponentialTemperature(rate=1e-3)
    >>> [round(float(schedule(step)), 3) for step in (0, 100, 10_000)]
    [1.0, 0.905, 0.5]

    Reference:

    - Jang et al., Categorical Reparameterization with Gumbel-Softmax,
      ICLR 2017, section 4
    """

    __repr__ = printed

    def __init__(self, initial=1.0, rate=1e-5, minimum=0.5):
        if not 0 < minimum <= initial:
            raise ValueError(
                "`minimum` must be positive and at most `initial`. Received: "
                f"minimum={minimum}, initial={initial}."
            )
        self.initial = initial
        self.rate = rate
        self.minimum = minimum

    def __call__(self, step):
        step = ops.cast(step, "float32")
        cooled = self.initial * ops.exp(-self.rate * step)
        return ops.maximum(self.minimum, cooled)

    def get_config(self):
        return {
            "initial": self.initial,
            "rate": self.rate,
            "minimum": self.minimum,
        }
