import numpy as np
import pytest
from keras import ops

from tfcap.metrics.retrieval_counts import compare_on_device
from tfcap.metrics.retrieval_counts import compare_on_host


@pytest.mark.parametrize("shape", [(1, 1), (3, 700), (700, 3), (129, 255)])
def test_host_and_device_count_the_same(shape):
    rng = np.random.default_rng(0)
    tile = rng.integers(3, size=shape).astype("float32")
    own = (
        rng.integers(3, size=(shape[0], 1)).astype("float32"),
        rng.integers(3, size=(1, shape[1])).astype("float32"),
    )
    host = compare_on_host(ops.convert_to_tensor(tile), *own)
    device = compare_on_device(ops.convert_to_tensor(tile), *own)
    for a, b in zip(host, device):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(host[0], (tile > own[0]).sum(axis=1))
    np.testing.assert_array_equal(host[3], (tile == own[1]).sum(axis=0))


@pytest.mark.parametrize("shape", [(2, 9000), (9000, 2), (1000, 1000)])
def test_sums_in_bytes_do_not_overflow(shape):
    tile = np.ones(shape, "float32")
    own = np.zeros((shape[0], 1), "float32"), np.ones((1, shape[1]), "float32")
    row_above, row_equal, column_above, column_equal = compare_on_host(
        tile, *own
    )
    assert np.all(row_above == shape[1]) and not np.any(row_equal)
    assert np.all(column_equal == shape[0]) and not np.any(column_above)
