"""One image under many names: in results, lists, features, dialogs."""

import numpy as np
import pytest

from tests.caption_files import coco
from tests.caption_files import results
from tests.data.conftest import make_content
from tfcap.data import CaptionSplit
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import load_visdial
from tfcap.data import save_features
from tfcap.data.image_names import ImageNames
from tfcap.data.image_names import image_key
from tfcap.data.result_files import load_results
from tfcap.data.result_files import match_results

#: How the ids of two images are written.
FORMS = [
    [42, 7],
    ["42", "7"],
    ["000000000042", "000000000007"],
    [42.0, 7.0],
    ["42.0", "7.0"],
    ["COCO_val2014_000000000042", "COCO_val2014_000000000007"],
    ["COCO_val2014_000000000042.jpg", "COCO_val2014_000000000007.jpg"],
    ["val2014/COCO_val2014_000000000042.jpg", "7.png"],
    ["C:\\images\\42.JPG", " 7 "],
    ["VisualDialog_val2018_000000000042.jpg", "0007.jpeg"],
]
IDS = [form for form in FORMS if not isinstance(form[0], float)]


@pytest.mark.parametrize("said", FORMS)
@pytest.mark.parametrize("known", IDS)
def test_results_find_their_images(write, said, known):
    path = write(results({i: str(i) for i in said}))
    references = {known[1]: ["b"], known[0]: ["a"]}
    ids, captions, texts = match_results(load_results(path), references)
    assert ids == [known[1], known[0]] and texts == [["b"], ["a"]]
    assert captions == [str(said[1]), str(said[0])]


@pytest.mark.parametrize("known", FORMS)
def test_references_have_whole_numbers(write, known):
    path = write(coco({known[0]: ["0"], known[1]: ["1"]}))
    references = load_captions(path).references()
    assert match_results({42: "a", 7: "b"}, references)[1] == ["a", "b"]
    sentences = [{"cocoid": i, "sentences": [{"raw": "a"}]} for i in known]
    path = write({"images": sentences})
    assert load_captions(path).image_ids == [*references]


@pytest.mark.parametrize("said", IDS)
@pytest.mark.parametrize("known", IDS)
def test_lists_and_features_find_their_images(tmp_path, said, known):
    split = CaptionSplit(known, [["a"], ["b"]], ["", ""], ["", ""])
    assert split.select(said[::-1]).captions == [["b"], ["a"]]
    path = tmp_path / "features.npy"
    save_features(path, known, np.eye(2)[:, None])
    assert load_features(path, said[::-1])[:, 0].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("form", FORMS)
def test_dialogs_and_their_annotations_have_numbers(write, form):
    content = make_content(2)
    for dialog, name in zip(content["data"]["dialogs"], form):
        dialog["image_id"] = name
    row = {"image_id": form[0], "round_id": 2, "gt_relevance": [1.0] * 7}
    split = load_visdial(write(content), write([row], "dense.json"))
    assert split.image_ids.tolist() == [42, 7]
    assert split.relevance[0, 1, 0] == 1.0


def test_results_may_be_of_file_names():
    files = ["val/VizWiz_val_00000000.jpg", "val/dog.1.png"]
    references = {3: ["a"], 4: ["b"]}
    for names in (files, ["VizWiz_val_00000000", "dog.1.png"]):
        found = match_results(
            dict(zip(names, "xy")), references, filenames=files
        )
        assert found[1] == ["x", "y"]


def test_a_name_that_may_mean_several_images_means_none():
    references = {"7": ["a"], "07": ["b"], "x/1.jpg": ["c"], "y/1.jpg": ["d"]}
    exact = {"07": "1", "7": "0", "y/1.jpg": "3"}
    assert match_results(exact, references, subset=True)[1] == ["0", "1", "3"]
    for name in 7, "007", "1.jpg", 1:
        with pytest.raises(ValueError, match=rf"other images .*\({name}"):
            match_results({name: "a"}, references, subset=True)


def test_a_whole_name_comes_before_its_parts():
    names = ImageNames(["x/1.jpg", "1.jpg", "1.png", 1, "1"])
    for row, name in enumerate(["x/1.jpg", "1.jpg", "1.png", 1, "1"]):
        assert names.find(name) == names.exact(name) == (row,)
    assert names.find("y/1.png") == (2,)
    assert names.find("01") == (0, 1, 2, 3, 4) and not names.exact("01")


def test_one_image_under_two_names_is_refused():
    told = r"1 of 2 are of other .* or repeated \(000000000001.jpg\)"
    with pytest.raises(ValueError, match=told):
        match_results({1: "a", "000000000001.jpg": "b"}, {1: ["a"], 2: ["b"]})


@pytest.mark.parametrize(
    "name", ["dog_42", "x42", "1.5", "a-42.jpg", "", "42a"]
)
def test_a_number_within_a_name_is_no_id(name):
    assert image_key(name) != 42 and not ImageNames([42]).find(name)


def test_letters_and_their_accents_may_be_apart_as_on_a_mac():
    results, references = {"cafe\u0301.jpg": "a"}, {"x/caf\u00e9.png": ["b"]}
    assert match_results(results, references)[1] == ["a"]
