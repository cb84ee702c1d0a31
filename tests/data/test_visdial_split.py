import numpy as np
import pytest

from tfcap.data import load_visdial


@pytest.fixture
def split(visdial_file):
    return load_visdial(visdial_file())


def test_selected_rows_keep_their_content_in_the_asked_order(split):
    some = split.select([4, 1])
    assert some.image_ids.tolist() == [104, 101]
    assert some.captions == [split.captions[4], split.captions[1]]
    np.testing.assert_array_equal(some.options, split.options[[4, 1]])
    np.testing.assert_array_equal(some.gt_index, split.gt_index[[4, 1]])
    assert some.answers is split.answers


def test_a_boolean_array_and_no_rows_select_too(split):
    assert split.select(split.image_ids > 103).image_ids.tolist() == [104, 105]
    assert len(split.select([])) == 0


def test_neighbors_are_not_copied_and_others_are_the_same(split):
    rows = np.arange(2, 5)
    views, copies = split.select(rows), split.select(rows[::-1])
    assert np.shares_memory(views.options, split.options)
    assert not np.shares_memory(copies.options, split.options)
    for name in ("image_ids", "options", "gt_index", "answer_index"):
        wanted = getattr(split, name)[rows]
        np.testing.assert_array_equal(getattr(views, name), wanted)
        np.testing.assert_array_equal(getattr(copies, name), wanted[::-1])
    assert split.select([0]).image_ids == split.image_ids[[0]]
    assert split.select([-1]).image_ids == split.image_ids[[-1]]
