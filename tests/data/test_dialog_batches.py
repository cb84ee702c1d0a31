import dataclasses

import numpy as np
import pytest

from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import check_same
from tests.data.tiny_captions import rows_of
from tfcap.data import DialogBatches

DRAWS = {"negatives": 3, "in_batch_negatives": 5}


@pytest.fixture
def make(encoded):
    def batches(batch_size=3, features=FEATURES, **options):
        return DialogBatches(encoded, features, batch_size, **options)

    return batches


def test_parts_of_a_batch_belong_to_the_same_dialog(make, encoded):
    batch = make().batch(1)
    rows = rows_of(batch)
    np.testing.assert_array_equal(batch["image"], FEATURES[rows])
    np.testing.assert_array_equal(batch["question"], encoded.question(rows))
    np.testing.assert_array_equal(batch["history"], encoded.history(rows))
    np.testing.assert_array_equal(batch["answer"], encoded.answer(rows))


def test_a_resumed_run_sees_what_the_uninterrupted_one_sees(make):
    batches = make(seed=3, **DRAWS)
    dataset = batches.dataset(epochs=3)
    whole = list(dataset)
    assert len(whole) == len(dataset) == 9
    check_same(whole, [batches.batch(step) for step in range(9)])
    inputs, labels = whole[0]
    assert inputs["image"].shape == (3, 4, 3)
    assert inputs["image"].dtype == "float32"
    assert inputs["options"].shape == (3, 4, 9, 9)
    assert labels.shape == (3, 4, 9)
    rest = list(make(seed=3, **DRAWS).dataset(epochs=3, start_step=4))
    check_same(whole[4:], rest)
    other = make(seed=4, **DRAWS).batch(0)
    assert not np.array_equal(whole[0][1], other[1])


def test_candidates_are_truth_then_own_then_foreign(make, encoded):
    batches = make(batch_size=10, shuffle=False, **DRAWS)
    inputs, labels = batches.batch(0)
    np.testing.assert_array_equal(inputs["options"][:, :, 0], inputs["answer"])
    assert (labels[:, :, 0] == 1).all()
    for d, r in np.ndindex(10, 4):
        options = inputs["options"][d, r]
        wrong = np.delete(encoded.options[d, r], encoded.gt_index[d, r])
        own = {tuple(row) for row in encoded.answers[wrong]}
        assert {tuple(row) for row in options[1:4]} <= own
        repeats = (options[1:] == inputs["answer"][d, r]).all(-1)
        np.testing.assert_array_equal(labels[d, r, 1:], -1.0 * repeats)
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


def test_evaluation_has_every_dialog_without_candidates(make, encoded):
    batches = make(features=lambda rows: FEATURES[rows], **DRAWS)
    rows = []
    for inputs, numbers in batches.evaluation(4):
        assert "options" not in inputs
        check_same(inputs["answer"], encoded.answer(numbers.numpy()))
        rows += numbers.numpy().tolist()
    assert rows == list(range(11))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 12}, "batch_size=12 with 11 dialogs"),
        ({"negatives": 7}, "negatives=7 of 7 options"),
        ({"in_batch_negatives": 2}, "negatives=0 of .* in_batch_negatives=2"),
        ({"features": FEATURES[:5]}, r"must have shape \(11, P, D\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
