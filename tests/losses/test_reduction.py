import numpy as np
import pytest

from tfcap.losses.masked_loss import reduce_loss

VALUES = np.array([1.0, np.inf, 3.0])
PRESENT = np.array([1, 0, 1])


def test_absent_values_may_be_infinite():
    assert float(reduce_loss(VALUES, PRESENT)) == 2.0
    assert float(reduce_loss(VALUES, PRESENT, reduction="sum")) == 4.0
    np.testing.assert_array_equal(
        reduce_loss(VALUES, PRESENT, reduction=None), [1, 0, 3]
    )


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="`reduction` must be one of"):
        reduce_loss(VALUES, reduction="median")
