"""What a file says against itself is told, and read all the same."""

import copy
import json
import warnings

import numpy as np
import pytest

from tests.data.conftest import make_content
from tfcap.data import load_captions
from tfcap.data import load_visdial
from tfcap.data import read_image_ids
from tfcap.data import save_features
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import listed


def test_the_first_few_are_named_with_the_number_of_the_rest():
    assert listed([1]) == "1"
    assert listed(list(range(5))) == "0, 1, 2, 3, 4"
    assert listed(list(range(1005))) == "0, 1, 2, 3, 4 and 1,000 more"


def test_all_kinds_of_problems_are_told_at_once():
    problems = EntryProblems("f.json")
    problems.check()
    for i in range(8):
        problems.add("`a` is missing", f"entry {i}", "Add it.")
    problems.add("`b` is no text", "entry 9", "Mend it.")
    with pytest.raises(ValueError) as caught:
        problems.check()
    assert str(caught.value).endswith(
        "Received: path='f.json', where `a` is missing in 8 places (entry 0, "
        "entry 1, entry 2, entry 3, entry 4 and 3 more); `b` is no text in 1 "
        "place (entry 9). Add it. Mend it."
    )


def karpathy(count=25):
    """Five sentences of each image, two splits."""
    images = []
    words = "a dogs ball -lrb- number {} {}"
    cafes = ["caf\u00e9", "cafe"] * 3
    for number in range(count):
        sentids = [5 * number + k for k in range(5)]
        images.append(
            {
                "imgid": number,
                "cocoid": 100 + number,
                "split": "train" if number < count - 5 else "test",
                "filename": f"{number}.jpg",
                "sentids": sentids,
                "sentences": [
                    {
                        "raw": f"A dog's ball (number {i}): caf\u00e9!",
                        "tokens": words.format(i, cafe).split(),
                        "imgid": number,
                        "sentid": i,
                    }
                    for i, cafe in zip(sentids, cafes)
                ],
            }
        )
    return {"images": images}


def spoiled(change):
    content = copy.deepcopy(karpathy())
    change(content["images"])
    return content


def lose(images):
    del images[3]["sentences"][3:], images[3]["sentids"][3:]


def swap(images):
    first, second = images[2]["sentences"][:2]
    first["tokens"], second["tokens"] = second["tokens"], first["tokens"]


def misspell(images):
    images[4]["split"] = "trian"


def drop(images):
    images[5]["sentids"].append(999)


def move(images):
    images[6]["sentences"][1]["imgid"] = 7


def write(tmp_path, content, name="dataset.json"):
    path = tmp_path / name
    path.write_text(json.dumps(content))
    return path


def test_a_file_that_agrees_with_itself_is_read_in_silence(tmp_path):
    path = write(tmp_path, karpathy())
    with warnings.catch_warnings(action="error"):
        assert len(load_captions(path, "train")) == 20


@pytest.mark.parametrize(
    "change, told",
    [
        (lose, r"1 of 20 images have fewer captions than the 5 .*\(103: 3\)"),
        (swap, "2 sentences have other words in `tokens`.*image 102, senten"),
        (misspell, r"splits with unusual names \('trian': 1\)"),
        (drop, "1 images have other sentences than their `sentids`.*105"),
        (move, "1 images have other sentences than their .*imgid`.*106"),
    ],
)
def test_what_was_lost_or_mixed_up_in_a_file_of_karpathys_is_told(
    tmp_path, change, told
):
    path = write(tmp_path, spoiled(change))
    with pytest.warns(UserWarning, match=f"dataset.json: .*{told}"):
        load_captions(path, "train")


def test_a_split_that_is_asked_for_may_have_any_name(tmp_path):
    path = write(tmp_path, spoiled(misspell))
    with warnings.catch_warnings(action="error"):
        assert load_captions(path, "train+trian").image_ids[4] == 104


def test_an_image_of_two_splits_is_refused(tmp_path):
    content = karpathy()
    content["images"][-1]["cocoid"] = 100
    path = write(tmp_path, content)
    for split, other in (("train", "test"), ("test", "train")):
        told = f"in another split, too in 1 place .100, split '{other}'"
        with pytest.raises(ValueError, match=told):
            load_captions(path, split)


def test_annotations_with_one_id_are_told(tmp_path):
    content = {
        "images": [{"id": 1}, {"id": 2}],
        "annotations": [
            {"id": 7, "image_id": i, "caption": "A dog."} for i in (1, 2)
        ],
    }
    with pytest.warns(UserWarning, match="1 ids of annotations are there .*7"):
        load_captions(write(tmp_path, content))


def test_a_text_that_was_cut_between_two_captions_is_told(tmp_path):
    path = tmp_path / "results.token"
    lines = [f"{i}_ab.jpg#{k}\tA dog .\n" for i in (1, 2, 3) for k in range(5)]
    path.write_text("".join(lines[:-2]))
    with pytest.warns(UserWarning, match="1 of 3 images have fewer.*3: 3"):
        load_captions(path)


def test_rounds_that_were_lost_are_told(tmp_path):
    content = make_content(dialogs=3, rounds=4, split="val")
    del content["data"]["dialogs"][-1]["dialog"][2:]
    path = write(tmp_path, content)
    told = r"1 of 3 dialogs have fewer rounds than the 4 .*\(dialog 2 .*: 2\)"
    with pytest.warns(UserWarning, match=told):
        load_visdial(path)


def test_numbers_of_thousands_of_digits_are_refused_by_name(tmp_path):
    digits = "9" * 5000
    path = tmp_path / "list.txt"
    path.write_text(f"7\n{digits}\n")
    with pytest.raises(ValueError, match="list.txt'.*more than 40 dig.*line 2"):
        read_image_ids(path)
    path.write_text(f"1_ab.jpg#{digits}\tA dog .\n")
    with pytest.raises(ValueError, match="list.txt'.*not numbered from 0"):
        load_captions(path)
    path.write_text(f"{digits}_ab.jpg#0\tA dog .\n")
    assert load_captions(path).image_ids == [f"{digits}_ab.jpg"]
    with pytest.raises(ValueError, match="`image_ids` must be integers of 64"):
        save_features(tmp_path / "a.npy", [1, 10**400], np.eye(2))
    assert not np.any([p.suffix == ".npy" for p in tmp_path.iterdir()])
