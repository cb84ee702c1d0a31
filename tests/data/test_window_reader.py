import dataclasses
import threading

import numpy as np
import pytest

from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionBatches
from tfcap.data import DialogBatches
from tfcap.data import FeatureWriter
from tfcap.data import hdf5_file
from tfcap.data import load_features
from tfcap.data import mapped_features
from tfcap.data.window_reader import WindowReader
from tfcap.data.window_reader import draw_windows
from tfcap.data.window_reader import order_captions
from tfcap.data.window_reader import order_images
from tfcap.data.window_reader import spread_captions
from tfcap.data.window_reader import window_reader
from tfcap.data.window_reader import window_size

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
    rows, drawn = reader.draw(0, 9, 8, rng)
    np.testing.assert_array_equal(drawn, features[rows])
    wanted = features[np.sort(order(0)[0][32:40])]
    np.testing.assert_array_equal(np.sort(drawn, 0), np.sort(wanted, 0))
    reader._thread.shutdown()


def test_what_is_in_memory_needs_no_reader(features):
    assert window_reader(VALUES, 8, order, 4) is None
    assert window_reader(features, None, order, 4) is None
    assert window_reader(features, 8, order, 4) is not None


#: Regions and features of COCO's bottom-up features.
GRID = (36, 2048)


class Disk:
    """A feature file on a spinning disk: 8 ms a seek, 120 MB/s.

    Counts the seconds that reads take; the features themselves are the place
    of each row in the file.
    """

    dtype = np.dtype("float16")

    def __init__(self, stored_rows):
        self.stored_rows = np.asarray(stored_rows)
        self.shape = (len(stored_rows), *GRID)
        self.seconds = self.seeks = 0

    def __len__(self):
        return len(self.stored_rows)

    def __getitem__(self, rows):
        places, inverse = np.unique(self.stored_rows[rows], return_inverse=True)
        size = 2 * GRID[0] * GRID[1]
        for start, stop in hdf5_file._reads(places, size):
            span = int(places[stop - 1] - places[start]) + 1
            self.seeks += 1
            self.seconds += 8e-3 + span * size / 120e6
        return places[inverse][:, None, None]


def captions(number, counts=1):
    """Captions of one word each."""
    few = tiny_captions((1,))
    counts = np.broadcast_to(counts, number)
    there = np.arange(counts.max()) < counts[:, None]
    words = np.where(there, 4, 0)[..., None]
    return dataclasses.replace(
        few,
        image_ids=np.arange(number),
        references=np.concatenate([words, words // 2], -1).astype("int32"),
        texts=[["a"]] * number,
    )


@pytest.mark.parametrize("share", [1.0, 0.67])
def test_a_disk_that_seeks_feeds_a_step_of_three_tenths(share):
    """Of COCO, B = 128; other splits may lie between the images."""
    rng = np.random.default_rng(0)
    places = np.flatnonzero(rng.random(24_000) < share)
    spent = {}
    for window in ("auto", None):
        disk = Disk(places)
        batches = CaptionBatches(
            captions(len(places)), disk, 128, shuffle_window=window
        )
        steps = batches.steps_per_epoch if window else 3
        for step in range(steps):
            batches.batch(step)
        if batches._reader:
            batches._reader._thread.shutdown()
        spent[window] = disk.seconds / steps
    assert spent["auto"] < 0.3 < 1 < spent[None]


def test_windows_part_the_images_into_blocks_of_neighbors():
    rng = np.random.default_rng(0)
    places = rng.permutation(1000)
    windows = draw_windows(places, 128, rng)
    assert [len(w) for w in windows] == [128] * 7 + [104]
    np.testing.assert_array_equal(
        np.sort(np.concatenate(windows)), np.arange(1000)
    )
    for window in windows:
        gaps = np.diff(np.sort(places[window]))
        # A window begins and ends within blocks.
        assert (gaps > 1).sum() <= 128 // 32 + 2
        assert np.abs(np.diff(places[window])).mean() > 30
    again = draw_windows(places, 128, np.random.default_rng(1))
    assert {*map(int, again[0])} != {*map(int, windows[0])}


@pytest.mark.parametrize("counts", [(5,), (1, 5, 3), (2, 2, 1, 7)])
def test_captions_of_an_image_stay_in_its_window_and_apart(counts):
    rng = np.random.default_rng(0)
    counts = np.resize(counts, 500)
    windows = draw_windows(np.arange(500), 64, rng)
    order, ends = order_captions(windows, counts, 8, rng)
    assert len(order) == counts.sum() // 8 * 8 == ends[-1] * 8
    assert len({*order.tolist()}) == len(order)
    image_of = np.repeat(np.arange(500), counts)
    images = image_of[order].reshape(-1, 8)
    assert all(len({*batch}) == 8 for batch in images.tolist())
    # The last two windows are one, and a rest goes into the next.
    window_of = np.zeros(500, int)
    for number, window in enumerate(windows):
        window_of[window] = min(number, len(windows) - 2)
    found = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    late = found[:, None] - window_of[images]
    assert late.min() == 0 and late.max() <= 1
    assert (late == 1).sum() <= 7 * len(ends)


def test_batches_end_within_windows():
    windows = [np.arange(4), np.arange(4, 8), np.array([8])]
    order, ends = order_images(windows, 2)
    assert order.tolist() == list(range(9)) and ends.tolist() == [2, 4]


def test_what_lies_in_memory_or_is_small_is_shuffled_whole(monkeypatch):
    small = Disk(np.arange(50))
    assert window_size("auto", small, 8) is None
    assert window_size("auto", np.zeros((1, 1, 1)), 8) is None
    assert window_size("auto", lambda rows: rows, 8) is None
    assert window_size(None, Disk(np.arange(50_000)), 8) is None
    # 256 MiB, of whole batches.
    assert window_size("auto", Disk(np.arange(50_000)), 128) == 15 * 128
    assert window_size(20, small, 8) == 24
    for bad in (7, True, 8.0, "all"):
        with pytest.raises(ValueError, match="integer of at least 8"):
            window_size(bad, small, 8)
    with pytest.raises(ValueError, match="integer of at least 40"):
        window_size(39, small, 8, most=5)


@pytest.mark.parametrize("large", [False, True])
def test_recorded_orders_stay_as_they_are(large, encoded, monkeypatch):
    """Of features at hand, however many, and of small files."""
    monkeypatch.setattr(mapped_features, "LARGE", 1 if large else 2**31)
    places = np.arange(100)
    values = places[:, None, None] if large else Disk(places)
    batches = CaptionBatches(captions(100), values, 8, seed=3)
    images = np.concatenate([batches.batch(s)["image"] for s in range(12)])
    order = np.random.default_rng([3, 0, 0]).permutation(100)
    assert images.ravel().tolist() == order[:96].tolist()
    values = places[:11, None, None] if large else Disk(places[:11])
    batches = DialogBatches(encoded, values, 5, seed=3)
    order = np.random.default_rng([3, 0, 1]).permutation(11)
    images = batches.batch(2)["image"]
    assert images.ravel().tolist() == order[:5].tolist()


@pytest.mark.parametrize("epoch", ["images", "captions"])
def test_batches_of_windows_are_functions_of_their_step(epoch):
    places = np.random.default_rng(0).permutation(400)
    options = {"seed": 1, "epoch": epoch, "shuffle_window": 40}

    def made(values):
        said = captions(400, np.resize((5, 3), 400))
        return CaptionBatches(said, values, 8, **options)

    read, plain = made(Disk(places)), made(Disk(places))
    # In any order, across epochs; and from a step on.
    steps = np.random.default_rng(1).permutation(2 * read.steps_per_epoch)
    found = {s: read.batch(s) for s in steps.tolist()}
    for step in range(5, 2 * read.steps_per_epoch, 3):
        again = plain.batch(step)
        for name, values in again.items():
            np.testing.assert_array_equal(values, found[step][name])
    first = [found[s]["image"] for s in range(read.steps_per_epoch)]
    seen, times = np.unique(np.stack(first), return_counts=True)
    assert len(seen) >= 392 and times.max() <= (1 if epoch == "images" else 5)
    for batches in (read, plain):
        batches._reader._thread.shutdown()


def test_distractors_come_from_the_window():
    disk, options = Disk(np.arange(100)), {"distractors": 9}
    batches = CaptionBatches(
        captions(100),
        disk,
        8,
        distractor_features=disk,
        shuffle_window=16,
        **options,
    )
    for epoch in range(2):
        order, ends = batches._order(epoch)
        for place in range(12):
            window = np.searchsorted(ends, place, side="right")
            near = order[16 * window : 16 * window + 16]
            step = 12 * epoch + place
            drawn = batches.batch(step)["distractor_image"].ravel()
            assert len({*drawn}) == 9 and set(drawn) <= set(near)
            again = batches.batch(step)["distractor_image"].ravel()
            np.testing.assert_array_equal(drawn, again)
    batches._reader._thread.shutdown()


def test_dialogs_are_read_in_windows_too(encoded):
    disk = Disk(np.arange(11)[::-1])
    batches = DialogBatches(encoded, disk, 2, seed=1, shuffle_window=4)
    for step in range(10):
        found = batches.batch(step)
        rows = 10 - found["image"].ravel().astype(int)
        for name in ("question", "answer"):
            wanted = getattr(encoded, name)(rows)
            np.testing.assert_array_equal(found[name], wanted)
    batches._reader._thread.shutdown()


UNLIKE = np.random.default_rng(3).integers(1, 8, 40)


def owners(counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "counts, batch_size",
    [
        (np.full(8, 5), 8),  # every batch has every image
        (np.full(9, 5), 8),
        (np.full(50, 5), 8),
        (UNLIKE, 7),
        (UNLIKE, UNLIKE.sum() // 7),  # as many batches as captions of one
        (np.array([3, 1, 1]), 1),
        (np.ones(6, int), 6),
    ],
)
def test_no_batch_has_an_image_twice(counts, batch_size, seed):
    rng = np.random.default_rng(seed)
    order = spread_captions(counts, batch_size, rng)
    assert order.shape == (counts.sum() // batch_size, batch_size)
    assert len(set(order.ravel())) == order.size
    assert order.min() >= 0 and order.max() < counts.sum()
    for batch in owners(counts)[order]:
        assert len(set(batch)) == batch_size


def test_what_is_left_over_is_another_each_time():
    rng = np.random.default_rng(0)
    counts = np.full(11, 3)
    missing = np.zeros(33, int)
    for _ in range(200):
        order = spread_captions(counts, 8, rng)
        missing += ~np.isin(np.arange(33), order)
    # One of 33 is left over each time.
    assert missing.sum() == 200 and missing.max() < 20


def test_images_that_meet_once_need_not_meet_again():
    counts = np.full(40, 5)
    order = spread_captions(counts, 8, np.random.default_rng(0))
    images = owners(counts)[order]
    company = [
        len(set(images[(images == image).any(1)].ravel())) - 1
        for image in range(40)
    ]
    # Of 39 others: drawn at random 24, dealt in turn 7 to 14.
    assert 20 < np.mean(company) < 28


def test_any_batch_may_have_any_caption():
    counts, rng = np.array([2, 2, 2]), np.random.default_rng(0)
    seen = np.zeros((6, 2), int)
    for _ in range(600):
        order = spread_captions(counts, 3, rng)
        for batch in range(2):
            seen[order[batch], batch] += 1
    # Each caption is in one of two batches: binomial, deviation 12.
    assert abs(seen - 300).max() < 60
