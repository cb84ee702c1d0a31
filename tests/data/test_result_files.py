import json

import numpy as np
import pytest

from tests.data.conftest import OPTIONS
from tests.visdial_files import hidden_content
from tfcap.data import load_captions
from tfcap.data import load_visdial
from tfcap.data import write_visdial_ranks
from tfcap.data.result_files import load_results
from tfcap.data.result_files import match_results


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "results.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


def result(image_id, caption="a cat"):
    return {"image_id": image_id, "caption": caption}


def test_results_are_read_in_the_order_of_the_file(write):
    path = write([result(9, "Ünï"), {**result(2), "score": 0.5}, result("x")])
    assert load_results(path) == {9: "Ünï", 2: "a cat", "x": "a cat"}


@pytest.mark.parametrize(
    "entry, told",
    [
        (5, "entry 1 there is no object"),
        ({}, "`image_id` is missing"),
        ({"image_id": 3}, "entry 1, image 3 `caption` is missing"),
        (result(None), "`image_id` is None and not an integer or some text"),
        (result(2.5), "`image_id` is 2.5 and not an"),
        (result(""), "`image_id` is '' and not an"),
        (result(1), "entry 1, image 1 the image is there again"),
        (result(2, None), "`caption` is None and not text"),
        (result(2, ""), "`caption` is empty.*--allow-empty"),
        (result(2, " \n\t"), "`caption` is empty"),
    ],
)
def test_a_bad_entry_is_named(write, entry, told):
    path = write([result(1), entry, result(77)])
    with pytest.raises(ValueError, match=told) as caught:
        load_results(path)
    assert str(path) in str(caught.value)


def test_empty_captions_may_be_allowed(write):
    path = write([result(1), result(2, "")])
    assert load_results(path, allow_empty=True)[2] == ""


@pytest.mark.parametrize(
    "content, told",
    [
        ([], "no list of results"),
        ({"annotations": []}, "no list of results, as in a file of references"),
        ("text", "no list of results"),
        (None, "no list of results"),
    ],
)
def test_a_file_of_something_else_is_refused(write, content, told):
    with pytest.raises(ValueError, match=told):
        load_results(write(content))


def test_a_file_cut_off_or_of_other_bytes_is_refused(write):
    path = write([result(1), result(2)])
    path.write_text(path.read_text()[:-5])
    with pytest.raises(ValueError, match="cut off or damaged"):
        load_results(path)
    path.write_bytes(b"\xff\xfe[1")
    with pytest.raises(ValueError, match="cut off or damaged"):
        load_results(path)


@pytest.mark.parametrize(
    "text, told",
    [
        ('{"image_id": 1, "caption": "a"}\n' * 2, "Extra data: line 2"),
        ("image_id,caption\n1,a cat\n", "Expecting value: line 1"),
        ('"image_id","caption"\r\n1,"a"\r\n', "Extra data: line 1"),
        ("image_id\tcaption\n1\ta, b\n", "Expecting value: line 1"),
        ("1_a.jpg#0\tA .\n1_a.jpg#1\tB .\n", "Extra data: line 1"),
        ('{"image_id": 1, "caption": "a"}', "no list of results"),
    ],
)
def test_other_formats_are_named_with_the_one_that_is_wanted(
    tmp_path, text, told
):
    path = tmp_path / "results.json"
    path.write_text(text)
    wanted = f"path='{path}', where .*{told}.* Give a list of"
    with pytest.raises(ValueError, match=wanted):
        load_results(path)
    if "line 2" in told:
        with pytest.raises(ValueError, match=f"{told}.* Give a COCO"):
            load_captions(path)


REFERENCES = {5: ["five"], 1: ["one"], 3: ["three", "3"]}


def test_results_are_put_beside_their_references():
    ids, captions, texts = match_results({1: "a", 3: "b", 5: "c"}, REFERENCES)
    assert ids == [5, 1, 3] and captions == ["c", "a", "b"]
    assert texts == [["five"], ["one"], ["three", "3"]]


def test_results_of_images_that_were_left_out_are_left_out():
    results = {1: "a", 8: "b"}
    found = match_results(results, REFERENCES, subset=True, skipped=[8, 5])
    assert found == ([1], ["a"], [["one"]])
    with pytest.raises(ValueError, match="1 of 1 are of other images"):
        match_results({9: "b"}, REFERENCES, skipped=[8])


def test_every_image_needs_a_result_unless_a_subset_is_wanted():
    with pytest.raises(ValueError, match=r"2 of 3 images have none \(5, 3\)"):
        match_results({1: "a"}, REFERENCES)
    assert match_results({1: "a"}, REFERENCES, subset=True)[0] == [1]


@pytest.mark.parametrize("subset", [False, True])
def test_results_of_other_images_are_refused(subset):
    results = {i: "a" for i in range(9)}
    told = r"6 of 9 are of other images .*\(0, 2, 4, 6, 7 and 1 more\).*split"
    with pytest.raises(ValueError, match=told) as caught:
        match_results(results, REFERENCES, subset, path="r.json")
    assert "r.json" in str(caught.value)
    told = r"2 of 2 are of other images .*\(a1, a5\), while .* of 5, 1, 3\. See"
    with pytest.raises(ValueError, match=told):
        match_results({"a1": "b", "a5": "a"}, REFERENCES, subset)


@pytest.fixture
def hidden(visdial_file):
    """Dialogs of 1, 2, 3, 4 and 1 rounds, the last of each to rank."""
    return load_visdial(visdial_file(hidden_content()))


def permutations(split):
    keys = np.random.default_rng(0).random(split.options.shape)
    return np.argsort(keys, axis=-1) + 1


def test_the_hidden_split_has_one_round_to_rank_for_each_dialog(hidden):
    lengths = (hidden.question_index >= 0).sum(-1)
    assert lengths.tolist() == [1, 2, 3, 4, 1]
    assert (hidden.gt_index == -1).all()
    for d, length in enumerate(lengths):
        assert hidden.answer_index[d, length - 1] == -1
        listed = (hidden.options[d] >= 0).all(-1)
        assert np.flatnonzero(listed).tolist() == [length - 1]


def test_a_round_without_options_has_no_truth_among_them(visdial_file):
    content = hidden_content()
    content["data"]["dialogs"][3]["dialog"][1]["gt_index"] = 2
    split = load_visdial(visdial_file(content))
    assert split.gt_index[3, 1] == -1


def test_every_round_with_options_is_written_and_no_other(hidden, tmp_path):
    path, ranks = tmp_path / "ranks.json", permutations(hidden)
    assert write_visdial_ranks(path, hidden, ranks) == 5
    found = json.loads(path.read_text())
    assert [list(entry) for entry in found] == [
        ["image_id", "round_id", "ranks"]
    ] * 5
    lengths = [1, 2, 3, 4, 1]
    for d, (entry, length) in enumerate(zip(found, lengths)):
        assert entry["image_id"] == 500 + d
        assert entry["round_id"] == length
        assert entry["ranks"] == ranks[d, length - 1].tolist()
        assert sorted(entry["ranks"]) == list(range(1, OPTIONS + 1))
        assert all(type(rank) is int for rank in entry["ranks"])


def test_a_split_with_answers_has_all_its_rounds_written(
    visdial_file, tmp_path
):
    split = load_visdial(visdial_file())
    path = tmp_path / "ranks.json"
    assert write_visdial_ranks(path, split, permutations(split)) == 24
    places = [
        (e["image_id"], e["round_id"]) for e in json.loads(path.read_text())
    ]
    assert places == [(100 + d, r) for d in range(6) for r in range(1, 5)]


def change(place, value):
    def changed(split, ranks):
        ranks[place] = value
        return split, ranks

    return changed


@pytest.mark.parametrize(
    "spoil, message",
    [
        (change((2, 2, 0), 0), "permutation of 1..7"),
        (change((2, 2), [1, 1, 3, 4, 5, 6, 7]), "permutation of 1..7"),
        (change((0, 0), np.arange(7)), "permutation of 1..7"),
        (lambda s, r: (s, r[:, :2]), r"ranks of shape \(5, 2, 7\)"),
        (lambda s, r: (s, r / 3), "permutation of 1..7"),
    ],
)
def test_ranks_that_the_server_would_refuse_are_not_written(
    hidden, tmp_path, spoil, message
):
    dialogs, ranks = spoil(hidden, permutations(hidden))
    with pytest.raises(ValueError, match=message):
        write_visdial_ranks(tmp_path / "ranks.json", dialogs, ranks)
    assert not list(tmp_path.glob("*ranks*"))
