import numpy as np
import tensorflow as tf

from tfcap.training import from_chief
from tfcap.training import is_chief
from tfcap.training import open_strategy
from tfcap.training.workers import several_workers

# What several workers do is in `two_workers.py`.


def test_a_process_by_itself_is_the_chief_and_decides(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = open_strategy()
    assert strategy is tf.distribute.get_strategy()
    with strategy.scope():
        assert is_chief() and not several_workers()
        said = {"names": ("a",), "rows": np.ones(2)}
        assert from_chief(said) is said


def test_a_model_knows_its_workers():
    class Elsewhere:
        distribute_strategy = tf.distribute.OneDeviceStrategy("/cpu:0")

    assert is_chief(Elsewhere()) and is_chief(None)
    assert from_chief([1], Elsewhere()) == [1]
