"""Parts of the tests of KerasHub's causal language models."""

import numpy as np


def randomize(model, seed=0):
    """Weights that tell words apart: initial ones are nearly zero."""
    random = np.random.default_rng(seed)
    for weight in model.trainable_variables:
        scales = "norm" in weight.path and "beta" not in weight.path
        weight.assign(float(scales) + random.normal(0, 0.3, weight.shape))
    return model


def close(actual, expected, tolerance=1e-5):
    actual, expected = np.asarray(actual), np.asarray(expected)
    # Against the largest entry: sums of many terms cancel.
    size = tolerance * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, tolerance, size)
