import numpy as np
import pytest

from tests.data.tiny_captions import COUNTS
from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import check_same
from tests.data.tiny_captions import rows_of
from tests.data.tiny_captions import tiny_captions
from tests.testing import tf
from tfcap.data import CaptionBatches
from tfcap.data import nearest_neighbors
from tfcap.data.caption_batches import spread_captions

CAPTIONS = tiny_captions()
OTHERS = np.random.default_rng(1).normal(size=(9, 4, 3)).astype("float32")
EVERYTHING = {"distractors": 4, "distractor_features": OTHERS}


def make(batch_size=3, captions=CAPTIONS, features=FEATURES, **options):
    return CaptionBatches(captions, features, batch_size, **options)


def numbers_of(batch):
    """Which of its image's captions each caption is, `(B, S)`."""
    pairs = batch["references"][:, None] == batch["caption"][:, :, None]
    assert (pairs.all(-1).sum(-1) == 1).all()
    return pairs.all(-1).argmax(-1)


def test_an_epoch_has_each_image_at_most_once_in_another_order():
    batches = make()
    assert batches.steps_per_epoch == 3
    epochs = []
    for epoch in range(2):
        steps = range(3 * epoch, 3 * epoch + 3)
        seen = np.concatenate([rows_of(batches.batch(s)) for s in steps])
        assert len(set(seen)) == 9
        epochs.append(seen.tolist())
    assert epochs[0] != epochs[1]


def test_parts_of_a_batch_belong_to_the_same_image():
    batch = make().batch(1)
    rows = rows_of(batch)
    assert {*batch} == {"row", "image", "caption", "references"}
    np.testing.assert_array_equal(batch["row"], rows)
    check_same(batch["image"], FEATURES[rows].astype("float32"))
    check_same(batch["references"], CAPTIONS.references[rows])
    assert (numbers_of(batch) < CAPTIONS.counts[rows][:, None]).all()
    lookup = make(features=lambda rows: FEATURES[rows])
    check_same(lookup.batch(1), batch)


def test_each_caption_of_an_image_is_drawn_as_often():
    batches, seen = make(11), np.zeros((11, 3))
    for step in range(600):
        batch = batches.batch(step)
        seen[rows_of(batch), numbers_of(batch)[:, 0]] += 1
    for count, found in zip(COUNTS, seen):
        # Binomial: a deviation of 12 about 200 or 300.
        np.testing.assert_allclose(found[:count], 600 / count, atol=60)
        assert not found[count:].any()


def test_an_epoch_of_captions_has_each_once_and_no_image_twice_in_a_batch():
    batches = make(4, epoch="captions", seed=2)
    assert batches.steps_per_epoch == sum(COUNTS) // 4
    epochs = []
    for epoch in range(2):
        first = epoch * batches.steps_per_epoch
        seen = []
        for step in range(first, first + batches.steps_per_epoch):
            batch = batches.batch(step)
            rows = rows_of(batch)
            assert len(set(rows)) == 4 and batch["caption"].shape == (4, 1, 6)
            seen += zip(rows.tolist(), numbers_of(batch)[:, 0].tolist())
        assert len(set(seen)) == len(seen) == sum(COUNTS) // 4 * 4
        assert all(number < COUNTS[row] for row, number in seen)
        epochs.append(seen)
    assert epochs[0] != epochs[1]


def test_without_shuffling_the_order_is_that_of_the_captions():
    batches = make(4, shuffle=False)
    assert rows_of(batches.batch(1)).tolist() == [4, 5, 6, 7]
    assert rows_of(batches.batch(2)).tolist() == [0, 1, 2, 3]
    batches = make(5, shuffle=False, epoch="captions")
    batch = batches.batch(0)
    assert rows_of(batch).tolist() == [0, 0, 0, 1, 2]
    assert numbers_of(batch).ravel().tolist() == [0, 1, 2, 0, 0]


@pytest.mark.parametrize(
    "options", [EVERYTHING, {"epoch": "captions"}, {"shuffle": False}]
)
def test_a_resumed_run_sees_what_the_uninterrupted_one_sees(options):
    batches = make(seed=3, **options)
    whole = list(batches.dataset(epochs=3))
    steps = range(3 * batches.steps_per_epoch)
    check_same(whole, [batches.batch(step) for step in steps])
    rest = make(seed=3, **options).dataset(epochs=3, start_step=4)
    check_same(whole[4:], list(rest))
    assert not list(batches.dataset(epochs=1, start_step=99))
    other = make(seed=4, **options).batch(0)
    assert not np.array_equal(whole[0]["caption"], other["caption"])


def test_shapes_are_static_so_that_a_model_traces_once():
    dataset = make(**EVERYTHING).dataset(epochs=2)
    assert dataset.element_spec == {
        "row": tf.TensorSpec((3,), tf.int32),
        "image": tf.TensorSpec((3, 4, 3), tf.float32),
        "caption": tf.TensorSpec((3, 1, 6), tf.int32),
        "references": tf.TensorSpec((3, 3, 6), tf.int32),
        "distractor_image": tf.TensorSpec((4, 4, 3), tf.float32),
    }
    assert len(dataset) == 6


def test_an_error_of_a_step_reaches_whoever_reads_the_batches():
    def features(rows):
        if 10 in rows:
            raise KeyError("no such image")
        return FEATURES[rows]

    batches = make(features=features, shuffle=False)
    assert len(list(batches.dataset())) == 3
    with pytest.raises(tf.errors.UnknownError, match="no such image"):
        list(batches.evaluation())


def test_distractors_are_different_images_drawn_anew_at_each_step():
    batches, drawn = make(**EVERYTHING), []
    for step in range(60):
        images = batches.batch(step)["distractor_image"]
        distance = np.abs(images[:, None] - OTHERS[None]).sum((2, 3))
        assert (distance.min(1) == 0).all()
        rows = distance.argmin(1).tolist()
        assert len(set(rows)) == 4
        drawn.append(rows)
    assert len({tuple(sorted(rows)) for rows in drawn}) > 30
    plain = make().batch(7)
    check_same(plain, {key: batches.batch(7)[key] for key in plain})
    counts = np.bincount(np.ravel(drawn), minlength=9)
    # Each of 9 with probability 4/9: a deviation of 4 about 27.
    assert abs(counts - 60 * 4 / 9).max() < 16


def test_evaluation_has_every_image_once_in_order():
    rows, sizes = [], []
    batches = make(**EVERYTHING)
    for inputs, numbers in batches.evaluation(4):
        assert set(inputs) == {"row", "image", "caption", "references"}
        numbers = np.asarray(numbers)
        check_same(inputs["references"], CAPTIONS.references[numbers])
        check_same(inputs["caption"], CAPTIONS.references[numbers, :1])
        rows += numbers.tolist()
        sizes.append(len(numbers))
    assert rows == list(range(11)) and sizes == [4, 4, 3]
    assert [len(n) for _, n in batches.evaluation()] == [3, 3, 3, 2]


def test_mined_images_come_with_those_that_they_look_like():
    near = nearest_neighbors(FEATURES.reshape(11, -1), 5)
    for options in ({}, {"epoch": "captions"}):
        plain = make(seed=3, **options)
        batches = make(seed=3, neighbors=near, **options)
        batch = batches.batch(5)
        check_same(plain.batch(5), {k: batch[k] for k in plain.batch(5)})
        rows = rows_of(batch)
        np.testing.assert_array_equal(batch["neighbor_row"], near[rows])
        check_same(batch["neighbor_image"], FEATURES[near[rows]])
    kept = make(seed=3, neighbors=near[:, 3:], **options)
    check_same(kept.batch(5)["neighbor_image"], FEATURES[near[rows][:, 3:]])
    spec = kept.dataset().element_spec
    assert spec["neighbor_image"].shape == (3, 2, 4, 3)
    assert spec["neighbor_row"].dtype == tf.int32
    for inputs, _ in kept.evaluation():
        assert set(inputs) == {"row", "image", "caption", "references"}


def test_a_retriever_may_read_other_features_of_the_same_images():
    own = OTHERS.reshape(-1)[: 11 * 2].reshape(11, 1, 2)
    near = nearest_neighbors(own[:, 0], 2)
    batches = make(neighbors=near, retriever_features=own)
    batch = batches.batch(1)
    rows = rows_of(batch)
    check_same(batch["retriever_image"], own[rows])
    check_same(batch["neighbor_image"], own[near[rows]])
    for inputs, numbers in batches.evaluation():
        check_same(inputs["retriever_image"], own[numbers.numpy()])


@pytest.mark.parametrize(
    "counts, size, steps",
    [
        ((2, 1), 2, 1),
        ((1, 1, 5), 3, 1),
        ((3, 1, 2), 2, 3),
        ((12, 1, 1, 2), 2, 4),
        (COUNTS, 9, 2),
        (COUNTS, 11, 1),
    ],
)
def test_small_sets_have_as_many_captions_of_an_image_as_batches(
    counts, size, steps
):
    captions = tiny_captions(counts)
    features = np.zeros((len(counts), 1, 2), "float32")
    batches = CaptionBatches(captions, features, size, epoch="captions")
    assert batches.steps_per_epoch == steps
    seen = set()
    for step in range(300):
        batch = batches.batch(step)
        check_same(batch, batches.batch(step))
        images = {texts.tobytes() for texts in batch["references"]}
        assert len(images) == size
        seen.update(text.tobytes() for text in batch["caption"])
    # Over the epochs, every caption has its turn.
    assert len(seen) == sum(counts)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"epoch": "image"}, "epoch='image'"),
        ({"batch_size": 12}, "batch_size=12 with 11 images.*another"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 12, "epoch": "captions"}, "with 11 images"),
        (
            {"batch_size": 27, "epoch": "captions", "shuffle": False},
            "with 26 captions",
        ),
        ({"features": FEATURES[:5]}, r"must have shape \(11, P, D\)"),
        ({"features": FEATURES[:, 0]}, r"features.shape=\(11, 3\)"),
        ({**EVERYTHING, "distractors": 10}, "distractors=10"),
        ({**EVERYTHING, "distractors": 0}, "Give both or neither"),
        ({"distractors": 2}, r"distractor_features.shape=\(\)"),
        (
            {"retriever_features": FEATURES[:5]},
            "`retriever_features` must have",
        ),
        ({"neighbors": np.zeros((9, 2), int)}, r"integers of shape \(11, K\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


UNLIKE = np.random.default_rng(3).integers(1, 8, 40)


def owners(counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize("seed", range(5))
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
