import numpy as np
import pytest
from keras import ops

from tfcap.metrics.retrieval_counts import RetrievalCounts
from tfcap.metrics.retrieval_counts import compare


@pytest.mark.parametrize("shape", [(1, 1), (3, 700), (700, 3), (129, 255)])
def test_entries_are_compared_with_the_truths_of_both_directions(shape):
    rng = np.random.default_rng(0)
    tile = rng.integers(3, size=shape).astype("float32")
    row_own = rng.integers(3, size=(shape[0], 1)).astype("float32")
    column_own = rng.integers(3, size=(1, shape[1])).astype("float32")
    expected = (
        (tile > row_own).sum(axis=1),
        (tile == row_own).sum(axis=1),
        (tile > column_own).sum(axis=0),
        (tile == column_own).sum(axis=0),
    )
    found = compare(ops.convert_to_tensor(tile), row_own, column_own)
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


def test_a_query_without_a_truth_has_no_rank():
    # Query 1 has no truth; candidates score higher than its -inf.
    scores = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 5.0, 5.0]])
    counts = RetrievalCounts(3)
    queries, truths = np.array([0, 2]), np.array([2, 1])
    counts.set_own(queries, scores[queries, truths])
    own = counts.own[:, None]
    counts.add(slice(None), (scores > own).sum(1), (scores == own).sum(1))
    np.testing.assert_array_equal(counts.ranks(), [2.0, np.nan, 1.5])
