import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tfcap.data import DialogBatches

FEATURES = np.random.default_rng(0).normal(size=(11, 4, 3)).astype("float16")
DRAWS = {"negatives": 3, "in_batch_negatives": 5}


@pytest.fixture
def make(encoded):
    def batches(batch_size=3, features=FEATURES, **options):
        return DialogBatches(encoded, features, batch_size, **options)

    return batches


def same(one, other):
    for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
        np.testing.assert_array_equal(a, b)


def rows_of(batch):
    distance = np.abs(batch["image"][:, None] - FEATURES[None]).sum((2, 3))
    return np.argmin(distance, axis=1)


def test_an_epoch_has_each_dialog_at_most_once_in_another_order(make):
    batches = make()
    assert batches.steps_per_epoch == 3
    epochs = []
    for epoch in range(2):
        steps = range(3 * epoch, 3 * epoch + 3)
        seen = np.concatenate([rows_of(batches.batch(s)) for s in steps])
        assert len(set(seen)) == 9
        epochs.append(seen.tolist())
    assert epochs[0] != epochs[1]


def test_parts_of_a_batch_belong_to_the_same_dialog(make, encoded):
    batch = make().batch(1)
    rows = rows_of(batch)
    np.testing.assert_array_equal(batch["image"], FEATURES[rows])
    np.testing.assert_array_equal(batch["question"], encoded.question(rows))
    np.testing.assert_array_equal(batch["history"], encoded.history(rows))
    np.testing.assert_array_equal(batch["answer"], encoded.answer(rows))


def test_a_resumed_run_sees_what_the_uninterrupted_one_sees(make):
    whole = list(make(seed=3, **DRAWS).dataset(epochs=3))
    assert len(whole) == 9
    rest = list(make(seed=3, **DRAWS).dataset(epochs=3, start_step=4))
    same(whole[4:], rest)
    other = list(make(seed=4, **DRAWS).dataset(epochs=3))
    assert not np.array_equal(whole[0][1], other[0][1])


def test_shapes_are_static_so_that_a_model_traces_once(make):
    dataset = make(**DRAWS).dataset(epochs=2)
    inputs, labels = dataset.element_spec
    assert inputs["image"].shape == (3, 4, 3)
    assert inputs["image"].dtype == tf.float32
    assert inputs["options"].shape == (3, 4, 9, 9)
    assert labels.shape == (3, 4, 9)
    assert len(dataset) == 6
    traces = []

    @tf.function
    def step(batch):
        traces.append(1)
        return tf.reduce_sum(batch[1])

    for batch in dataset:
        step(batch)
    assert len(traces) == 1


def test_candidates_are_truth_then_own_then_foreign(make, encoded):
    batches = make(batch_size=10, shuffle=False, **DRAWS)
    inputs, labels = batches.batch(0)
    np.testing.assert_array_equal(inputs["options"][:, :, 0], inputs["answer"])
    assert (labels[:, :, 0] == 1).all()
    for d in range(10):
        for r in range(4):
            gt = encoded.gt_index[d, r]
            ids = np.delete(encoded.options[d, r], gt)
            own = {tuple(row) for row in encoded.answers[ids]}
            for n in 1, 2, 3:
                assert tuple(inputs["options"][d, r, n]) in own
            for n in range(1, 9):
                equal = np.array_equal(
                    inputs["options"][d, r, n], inputs["answer"][d, r]
                )
                assert labels[d, r, n] == (-1 if equal else 0)
    assert (labels[..., 4:9] == -1).any()


def test_absent_rounds_and_hidden_truths_count_for_nothing(make):
    inputs, labels = make(batch_size=11, shuffle=False, **DRAWS).batch(0)
    assert (labels[10] == -1).all()
    assert not inputs["options"][10].any()


def test_a_lonely_question_has_no_foreign_candidates_to_be_wrong(encoded):
    one = encoded.select([0])
    alone = np.arange(4) == 2
    one = dataclasses.replace(
        one,
        gt_index=np.where(alone, one.gt_index, -1),
        answer_index=np.where(alone, one.answer_index, -1),
    )
    batches = DialogBatches(one, FEATURES[:1], 1, **DRAWS)
    inputs, labels = batches.batch(0)
    assert not inputs["options"][0, 2, 4:9].any()
    assert (labels[0, 2, 4:9] == -1).all() and labels[0, 2, 0] == 1
    assert (labels[0, ~alone] == -1).all()


def test_evaluation_has_every_dialog_once_in_order(make, encoded):
    rows, sizes = [], []
    for inputs, numbers in make().evaluation(4):
        assert "options" not in inputs
        same(inputs["answer"], encoded.answer(numbers.numpy()))
        rows += numbers.numpy().tolist()
        sizes.append(len(numbers))
    assert rows == list(range(11)) and sizes == [4, 4, 3]


def test_features_may_be_a_function_of_the_rows(make):
    lookup = make(features=lambda rows: FEATURES[rows], seed=1)
    same(lookup.batch(2), make(seed=1).batch(2))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 12}, "batch_size=12 with 11 dialogs"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"negatives": 7}, "negatives=7 of 7 options"),
        ({"in_batch_negatives": 2}, "negatives=0 of .* in_batch_negatives=2"),
        ({"features": FEATURES[:5]}, r"must have shape \(11, P, D\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
