import threading

import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import load_features
from tfcap.data.window_reader import WindowReader
from tfcap.data.window_reader import window_reader

VALUES = np.random.default_rng(0).normal(size=(60, 2, 3)).astype("float16")


@pytest.fixture
def features(tmp_path):
    path = tmp_path / "features.h5"
    with FeatureWriter(path, range(60), (1, 2), 3) as writer:
        writer.write(np.arange(60), VALUES)
    # Images of another split between them, and another order.
    ids = np.random.default_rng(1).permutation(60)[:40]
    return load_features(path, ids, lazy=True)


def order(epoch):
    rows = np.random.default_rng(epoch).permutation(40)
    return rows, np.array([4, 8, 10])


class Recorded:
    """Features that remember where in the file they were read."""

    def __init__(self, features):
        self.features = features
        self.read = []
        self.fail = ()

    def __getitem__(self, rows):
        if len(self.read) in self.fail:
            self.fail = ()
            raise OSError("the disk is away")
        self.read.append(self.features.stored_rows[rows])
        return self.features[rows]


def test_each_window_is_read_once_in_the_order_of_the_file(features):
    recorded = Recorded(features)
    reader = WindowReader(recorded, order, 4)
    for epoch in range(2):
        rows, _ = order(epoch)
        for place in range(10):
            wanted = features[rows[4 * place : 4 * place + 4]]
            np.testing.assert_array_equal(reader.batch(epoch, place), wanted)
    reader._thread.shutdown()
    # Those of two epochs, and the next one, read ahead.
    assert [len(part) for part in recorded.read] == [16, 16, 8] * 2 + [16]
    assert all((np.diff(part) > 0).all() for part in recorded.read)


def test_threads_may_ask_for_batches_in_any_order(features):
    reader, found = WindowReader(features, order, 4), {}

    def ask(steps):
        for step in steps:
            found[step] = reader.batch(*divmod(step, 10))

    steps = np.random.default_rng(2).permutation(40)
    threads = [
        threading.Thread(target=ask, args=(part.tolist(),))
        for part in np.split(steps, 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step, values in found.items():
        rows = order(step // 10)[0][4 * (step % 10) :][:4]
        np.testing.assert_array_equal(values, features[rows])
    assert len(found) == 40 and len(reader._read) <= 3
    reader._thread.shutdown()


def test_a_read_that_failed_is_told_and_tried_again(features):
    recorded = Recorded(features)
    recorded.fail = (0,)
    reader = WindowReader(recorded, order, 4)
    with pytest.raises(OSError, match="the disk is away"):
        reader.batch(0, 0)
    rows, _ = order(0)
    np.testing.assert_array_equal(reader.batch(0, 0), features[rows[:4]])
    reader._thread.shutdown()


def test_an_image_that_is_there_twice_is_read_once(features):
    def twice(epoch):
        return np.array([3, 5, 3, 3]), np.array([2])

    reader = WindowReader(features, twice, 2)
    np.testing.assert_array_equal(reader.batch(0, 1), features[[3, 3]])
    reader._thread.shutdown()


def test_no_more_is_drawn_than_a_window_has(features):
    reader, rng = WindowReader(features, order, 4), np.random.default_rng(0)
    assert reader.draw(0, 9, 9, rng) is None
    drawn = reader.draw(0, 9, 8, rng)
    wanted = features[np.sort(order(0)[0][32:40])]
    np.testing.assert_array_equal(np.sort(drawn, 0), np.sort(wanted, 0))
    reader._thread.shutdown()


def test_what_is_in_memory_needs_no_reader(features):
    assert window_reader(VALUES, 8, order, 4) is None
    assert window_reader(features, None, order, 4) is None
    assert window_reader(features, 8, order, 4) is not None
