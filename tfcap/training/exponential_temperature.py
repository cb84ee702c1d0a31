"""A temperature that cools."""

import math


class ExponentialTemperature:
    """A temperature that cools to a floor.

    ```
    temperature = max(minimum, initial * exp(-rate * step))
    ```

    Args:
        initial: Float, temperature at step 0. Defaults to `1.0`.
        rate: Float, in 1/steps. Defaults to `1e-5`.
        minimum: Float. Defaults to `0.5`.
        every: Integer, number of steps between changes. Defaults to `1`.

    Example:

    >>> schedule = tfcap.training.ExponentialTemperature(rate=1e-3)
    >>> schedule(0), round(schedule(100), 3), schedule(10_000)
    (1.0, 0.905, 0.5)

    Reference:

    - Jang et al., Categorical Reparameterization with Gumbel-Softmax,
      ICLR 2017, section 4
    """

    def __init__(self, initial=1.0, rate=1e-5, minimum=0.5, every=1):
        if not 0 < minimum <= initial:
            raise ValueError(
                "`minimum` must be positive and at most `initial`. Received: "
                f"minimum={minimum}, initial={initial}."
            )
        self.initial = initial
        self.rate = rate
        self.minimum = minimum
        self.every = every

    def __call__(self, step):
        step = step // self.every * self.every
        return max(self.minimum, self.initial * math.exp(-self.rate * step))
