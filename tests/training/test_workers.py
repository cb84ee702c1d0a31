import numpy as np
import pytest
import tensorflow as tf

from tfcap.training import from_chief
from tfcap.training import is_chief
from tfcap.training import open_strategy
from tfcap.training._tensorflow import MultiWorkerStrategy
from tfcap.training.workers import of_workers

# What several workers do is in `two_workers.py`.


def test_a_process_by_itself_is_the_chief_and_decides(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = open_strategy()
    assert strategy is tf.distribute.get_strategy()
    with strategy.scope():
        assert is_chief() and of_workers() is None
        said = {"names": ("a",), "rows": np.ones(2)}
        assert from_chief(said) is said


def test_a_model_knows_its_workers():
    class Elsewhere:
        distribute_strategy = tf.distribute.OneDeviceStrategy("/cpu:0")

    assert is_chief(Elsewhere()) and is_chief(None)
    assert from_chief([1], Elsewhere()) == [1]


@pytest.fixture(scope="module")
def strategy():
    return MultiWorkerStrategy()


def test_a_worker_by_itself_shares_with_itself(strategy):
    assert strategy.num_replicas_in_sync == 1
    array = np.array([0, 255, 7], np.uint8)
    found = strategy.share(array)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == np.uint8 and not strategy.share(array[:0]).size


def test_what_keras_asks_for_is_answered(strategy):
    batch = {"image": tf.ones((3, 2)), "caption": (tf.ones(3, tf.int32),)}
    found = strategy.reduce("MEAN", batch, axis=None)
    assert found["image"].shape == (3, 2) and found["caption"][0].shape == 3
    assert float(strategy.reduce("MEAN", tf.constant(2.0), axis=0)) == 2.0
    rows = tf.constant([1.0, 2.0])
    assert float(strategy.reduce("SUM", rows, axis=0)) == 3.0


@pytest.mark.parametrize("name", ["AUTO", "DATA", "OFF"])
def test_a_data_set_goes_to_one_worker_as_it_is(strategy, name):
    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy[name]
    options.experimental_distribute.auto_shard_policy = policy
    dataset = tf.data.Dataset.range(5).batch(2).with_options(options)
    spread = strategy.experimental_distribute_dataset(dataset)
    assert [x.numpy().tolist() for x in spread] == [[0, 1], [2, 3], [4]]
