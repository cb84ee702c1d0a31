import dataclasses

import numpy as np
import pytest

from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionBatches
from tfcap.data import DialogBatches
from tfcap.data import features
from tfcap.data import mapped_features
from tfcap.data.window_reader import draw_windows
from tfcap.data.window_reader import order_captions
from tfcap.data.window_reader import order_images
from tfcap.data.window_reader import window_size

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
        for start, stop in features._reads(places, size):
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
