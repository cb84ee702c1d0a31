import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.training.resumed import fit
from tfcap.data import DatasetBatches

X = np.arange(28.0).reshape(14, 2).astype("float32")
ROWS = tf.data.Dataset.from_tensor_slices((X, X[:, :1]))


def shuffled(epoch):
    return ROWS.shuffle(14, seed=epoch).batch(4, drop_remainder=True)


def read(batches, *arguments):
    dataset = batches.dataset(*arguments)
    found = [x.tolist() for x, _ in dataset.as_numpy_iterator()]
    assert len(found) == int(dataset.cardinality())
    return found


@pytest.mark.parametrize("seed", [0, 5])
def test_every_step_has_its_batch_wherever_one_begins(seed):
    keras.utils.set_random_seed(seed)
    batches = DatasetBatches(shuffled)
    whole = read(batches, 3)
    assert len(whole) == 9 and read(batches, 3) == whole
    again = batches.dataset(3)
    for _ in range(2):
        found = [x.tolist() for x, _ in again.as_numpy_iterator()]
        assert found == whole
    assert sorted(whole[:3]) != sorted(whole[3:6])
    for step in range(10):
        assert read(DatasetBatches(shuffled), 3, step) == whole[step:]
    part = read(DatasetBatches(shuffled, 2), 2)
    assert part == whole[:2] + whole[3:5]


def train(directory, epochs):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "mse")
    fit(model, DatasetBatches(shuffled), epochs, directory, verbose=0)
    return model.get_weights()


def test_a_run_that_was_stopped_ends_in_the_same_weights(tmp_path):
    whole = train(tmp_path / "whole", 3)
    for epochs in (1, 3):
        parts = train(tmp_path / "parts", epochs)
    for a, b in zip(whole, parts):
        np.testing.assert_array_equal(a, b)


COUNT = tf.Variable(0.0)


def counting(epoch):
    """Rows that depend on how often they were read."""
    return ROWS.map(lambda x, y: (x + COUNT.assign_add(1.0), y)).batch(4)


OUTSIDE = ROWS.shuffle(14, seed=1)


@pytest.mark.parametrize(
    "make, steps, words",
    [
        (lambda epoch: OUTSIDE.batch(4), None, "`make` must make the same"),
        (counting, None, "`make` must make the same batches"),
        (shuffled, 4, "Received: 3 batches, and steps_per_epoch=4"),
        (shuffled, 0, "steps_per_epoch=0"),
        (
            lambda epoch: ROWS.filter(lambda x, y: True).batch(4),
            None,
            "`steps_per_epoch` must be given",
        ),
    ],
)
def test_what_has_no_steps_to_go_on_at_is_refused(make, steps, words):
    with pytest.raises(ValueError, match=words):
        DatasetBatches(make, steps)
