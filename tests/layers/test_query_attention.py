import keras
import numpy as np

from tfcap.layers.dialog_encoder import QueryAttention

RNG = np.random.default_rng(0)
QUERY = RNG.normal(size=(2, 3, 4)).astype("float32")
MEMORY = RNG.normal(size=(2, 5, 6)).astype("float32")


def by_hand(layer, query, memory, mask):
    """Equations 1 and 2 of the paper, one query at a time."""
    wq, b = (np.asarray(x) for x in layer.project_query.get_weights())
    (wm,), (wa,) = layer.project_memory.get_weights(), layer.score.get_weights()
    seen, weights = np.zeros((2, 3, 6)), np.zeros((2, 3, 5))
    for i in range(2):
        for j in range(3):
            z = np.tanh(memory[i] @ wm + query[i, j] @ wq + b) @ wa[:, 0]
            z = np.exp(z) * mask[i, j]
            if z.sum() > 0:
                weights[i, j] = z / z.sum()
            seen[i, j] = weights[i, j] @ memory[i]
    return seen, weights


def test_equations_one_and_two():
    layer = QueryAttention(7)
    layer.build((None, None, 4), (None, None, 6))
    layer.project_query.bias.assign(RNG.normal(size=7))
    mask = RNG.integers(0, 2, size=(2, 3, 5))
    mask[0, 0] = 0
    got = layer(QUERY, MEMORY, mask=mask)
    for a, b in zip(got, by_hand(layer, QUERY, MEMORY, mask)):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_both_masks_hold():
    layer = QueryAttention(7)
    mask = RNG.integers(0, 2, size=(1, 3, 5))
    entries = RNG.integers(0, 2, size=(2, 5))
    _, weights = layer(QUERY, MEMORY, mask=mask, memory_mask=entries)
    allowed = mask * entries[:, None]
    assert not np.asarray(weights)[allowed == 0].any()


def test_the_query_can_start_larger():
    layer = QueryAttention(
        64, keras.initializers.VarianceScaling(9.0, "fan_avg")
    )
    layer.build((None, None, 64), (None, None, 64))
    query = np.std(layer.project_query.kernel)
    assert 2.5 < query / np.std(layer.project_memory.kernel) < 3.5
    again = QueryAttention.from_config(layer.get_config())
    assert again.query_initializer.scale == 9.0


def test_a_memory_may_be_projected_beforehand():
    layer = QueryAttention(7)
    expected = layer(QUERY, MEMORY)
    projected = layer.project_memory(MEMORY)
    # The products of the memory are not taken again.
    layer.project_memory.kernel.assign(0 * layer.project_memory.kernel)
    for found, wanted in zip(
        layer(QUERY, MEMORY, projected=projected), expected
    ):
        np.testing.assert_array_equal(found, wanted)
