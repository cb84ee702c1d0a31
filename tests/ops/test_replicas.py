import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import SeedGenerator
from tfcap._ops import gather_across_replicas
from tfcap._ops import mean_over_replicas
from tfcap._ops import num_replicas
from tfcap._ops import rows_across_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.replicas import drop_out

VALUES = tf.constant([[1.0, 2.0], [4.0, 9.0]])


def test_one_replica_is_left_alone():
    assert num_replicas() == 1
    assert gather_across_replicas(VALUES) is VALUES
    assert sum_over_replicas(VALUES) is VALUES
    np.testing.assert_array_equal(rows_across_replicas(VALUES), [0, 1])


def test_the_mean_is_over_what_is_not_masked():
    assert float(mean_over_replicas(VALUES)) == 4.0
    assert float(mean_over_replicas(VALUES, [[1, 0], [0, 1]])) == 5.0
    hidden = tf.constant([[1.0, np.inf], [np.nan, 9.0]])
    assert float(mean_over_replicas(hidden, [[1, 0], [0, 1]])) == 5.0
    assert float(mean_over_replicas(VALUES, tf.zeros((2, 2)))) == 0.0
    for dtype in ("float16", "bfloat16"):
        many = tf.cast(tf.fill((2000,), 100.0), dtype)
        for mask in (tf.ones(2000), None):
            assert float(mean_over_replicas(many, mask)) == 100.0


def test_seeds_are_those_of_keras():
    ours, theirs = SeedGenerator(3), keras.random.SeedGenerator(3)
    for _ in range(2):
        np.testing.assert_array_equal(ours.next(), theirs.next())


def test_a_layer_keeps_the_stream_among_its_variables():
    class Noisy(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.seeds = SeedGenerator(0)

    layer = Noisy()
    assert [id(v) for v in layer.variables] == [id(layer.seeds.state)]


def test_seeds_of_later_calls_are_drawn_before_and_again():
    seeds, plain = SeedGenerator(3), keras.random.SeedGenerator(3)
    expected = [plain.next().numpy().tolist() for _ in range(6)]
    state = keras.ops.copy(seeds.state)
    for _ in range(2):
        with seeds.replayed(state, 4) as calls:
            found = [seeds.next().numpy().tolist() for _ in range(2)]
        assert found == expected[4:] and calls() == 2
    seeds.skip(5)
    assert seeds.next().numpy().tolist() == expected[5]


@pytest.mark.parametrize("rate, training", [(0.5, False), (0.0, True)])
def test_nothing_drops_out_without_training_or_a_rate(rate, training):
    seed = SeedGenerator(0)
    tensor = np.ones(8, "float32")
    assert drop_out(tensor, rate, seed, training) is tensor
    assert np.array(seed.state).tolist() == [0, 0]
    assert 0.0 in np.array(drop_out(tensor, 0.5, seed, True))
