import keras
import numpy as np
import pytest

from tests.testing import tf
from tfcap.data import DatasetBatches
from tfcap.data import Epochs
from tfcap.data.ordered_batches import OrderedBatches

X = np.arange(28.0).reshape(14, 2).astype("float32")
ROWS = tf and tf.data.Dataset.from_tensor_slices((X, X[:, :1]))


class Pairs(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(4 * index, 4 * index + 4)
        return X[rows], X[rows, :1]


def shuffled(epoch):
    return ROWS.shuffle(14, seed=epoch).batch(4, drop_remainder=True)


def generated(epoch):
    for index in np.random.default_rng(epoch).permutation(4):
        # As loaders of PyTorch have it.
        yield [X[3 * index : 3 * index + 3], X[3 * index : 3 * index + 3, :1]]


def read(batches, *arguments):
    return values(batches.dataset(*arguments))


def values(dataset):
    return [np.asarray(x).tolist() for x, _ in dataset]


MADE = {
    "arrays": lambda: DatasetBatches.from_arrays((X, X[:, :1]), 5, seed=2),
    "tf.data": lambda: Epochs(shuffled),
    "PyDataset": lambda: Epochs(lambda epoch: Pairs()),
    "generator": lambda: Epochs(generated, 3),
    "list": lambda: Epochs(lambda epoch: list(generated(epoch))[:3]),
}


@pytest.mark.parametrize("name", MADE)
def test_every_step_has_its_batch_wherever_one_begins(name):
    batches = MADE[name]()
    whole = read(batches, 3)
    assert batches.steps_per_epoch == 3 and len(whole) == 9
    if name != "PyDataset":
        assert whole[:3] != whole[3:6]
    again = batches.dataset(3)
    assert values(again) == values(again) == whole
    for step in (4, 9):
        assert read(MADE[name](), 3, step) == whole[step:]
        rest = again.from_step(step)
        assert rest.steps_per_epoch == 3
        assert values(rest.from_step(0)) == whole[step:]


def test_batches_in_order_begin_anew_and_are_read_in_no_other():
    batches = OrderedBatches(lambda: iter("abc"), 3)
    with pytest.raises(ValueError, match="2 is asked for, 0 is next"):
        batches[2]
    assert [batches[index] for index in (0, 1, 2, 3, 4, 0)] == [*"abcaba"]


def test_an_epoch_has_every_row_of_the_arrays_once():
    arrays = {"a": np.arange(7), "b": (np.arange(7) * 2.0, [np.ones((7, 2))])}
    batches = DatasetBatches.from_arrays(arrays, 3)
    found = list(batches.dataset(2))
    assert [len(batch["a"]) for batch in found] == [3, 3, 1] * 2
    for epoch in (found[:3], found[3:]):
        rows = np.concatenate([batch["a"] for batch in epoch])
        assert sorted(rows) == list(range(7))
    for batch in found:
        np.testing.assert_array_equal(batch["b"][0], 2.0 * batch["a"].numpy())
    plain = DatasetBatches.from_arrays(arrays, 3, shuffle=False)
    rows = np.concatenate([batch["a"] for batch in plain.dataset()])
    assert rows.tolist() == list(range(7))
    assert plain.dataset().element_spec["a"].shape == (None,)
    whole = DatasetBatches.from_arrays(arrays, 7).dataset()
    assert whole.element_spec["a"].shape == (7,)


def test_of_an_epoch_as_many_batches_are_read_as_are_asked_for():
    whole = read(Epochs(shuffled), 2)
    assert read(Epochs(shuffled, 2), 2) == whole[:2] + whole[3:5]
    assert len(Epochs(shuffled, 2).dataset(3, 1)) == 5


OUTSIDE = ROWS and ROWS.shuffle(14)


@pytest.mark.parametrize(
    "make, steps, words",
    [
        # An order that goes on from epoch to epoch is none of the epoch.
        (lambda epoch: OUTSIDE.batch(4), None, "`make` must return the same"),
        (shuffled, 4, "Received: 3 batches of epoch 0, and steps_per_epoch=4"),
        (
            lambda epoch: ROWS.filter(lambda x, y: True).batch(4),
            None,
            "`steps_per_epoch` must be given",
        ),
    ],
)
def test_what_has_no_steps_to_go_on_at_is_refused(make, steps, words):
    with pytest.raises(ValueError, match=words):
        Epochs(make, steps)


def test_arrays_of_other_numbers_of_rows_are_refused():
    with pytest.raises(ValueError, match=r"arrays of \[14, 3\] rows"):
        DatasetBatches.from_arrays((X, X[:3]))
    with pytest.raises(ValueError, match="batch_size=0"):
        DatasetBatches.from_arrays(X, 0)
