"""Learning rates of the studies."""

import keras


def falling(rate, steps):
    """A rate that falls to a twentieth along a cosine."""
    return keras.optimizers.schedules.CosineDecay(
        rate, max(steps, 1), alpha=0.05
    )


def rising(rate, steps):
    """A rate that rises from 0 over some steps, or a constant one."""
    if not steps:
        return rate
    return keras.optimizers.schedules.CosineDecay(
        0.0, 1, alpha=1.0, warmup_target=rate, warmup_steps=steps
    )
