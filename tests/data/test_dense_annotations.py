import json

import numpy as np
import pytest

from tfcap.data import load_visdial


@pytest.fixture
def annotate(visdial_file, tmp_path):
    def load(entries):
        path = tmp_path / "dense.json"
        path.write_text(json.dumps(entries))
        return load_visdial(visdial_file(), dense_annotations=path)

    return load


def entry(**changes):
    values = [0.0, 0.2, 0.4, 0.0, 1.0, 0.0, 0.0]
    made = {"image_id": 103, "round_id": 2, "gt_relevance": values}
    return {**made, **changes}


def test_relevance_lands_in_its_round_and_is_nan_elsewhere(annotate):
    other = entry(image_id=9)
    relevance = annotate([other, entry()]).relevance
    np.testing.assert_allclose(relevance[3, 1], entry()["gt_relevance"])
    assert np.isnan(relevance).sum() == relevance.size - 7


def test_the_training_sample_names_it_otherwise(annotate):
    sample = entry()
    sample["relevance"] = sample.pop("gt_relevance")
    assert annotate([sample]).relevance[3, 1, 4] == 1.0


def test_selection_keeps_relevance_with_its_dialog(annotate):
    assert annotate([entry()]).select([3]).relevance[0, 1, 4] == 1.0


@pytest.mark.parametrize(
    "entries, message",
    [
        ({}, "no list"),
        ([3], "annotation 0 is no object"),
        ([entry(image_id=None)], "`image_id` is missing"),
        ([entry(round_id=0)], r"image 103\), round 0 `round_id`"),
        ([entry(round_id=5)], r"`round_id` is not in 1\.\.4"),
        ([entry(gt_relevance=[1.0])], "there are 1 relevances, not 7"),
        ([entry(gt_relevance=["x"] * 7)], "no number from 0 to 1"),
        ([entry(image_id=9)], "no annotation is about an image"),
    ],
)
def test_malformed_annotations_are_refused_by_place(annotate, entries, message):
    with pytest.raises(ValueError, match=message) as caught:
        annotate(entries)
    assert "dense.json" in str(caught.value)
