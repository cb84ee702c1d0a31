import json

import numpy as np
import pytest

from tests.visdial_files import hidden_content
from tfcap.data import load_captions
from tfcap.data import load_visdial
from tfcap.data import write_visdial_ranks
from tfcap.data.result_files import load_results
from tfcap.data.result_files import match_results


def result(image_id, caption="a cat"):
    return {"image_id": image_id, "caption": caption}


def test_results_are_read_in_the_order_of_the_file(write):
    path = write([result(9, "Ünï"), {**result(2), "score": 0.5}, result("x")])
    assert load_results(path) == {9: "Ünï", 2: "a cat", "x": "a cat"}


@pytest.mark.parametrize(
    "entry, told",
    [
        ({"image_id": 3}, "entry 1, image 3 `caption` is missing"),
        (result(2.5), "`image_id` is 2.5 and not an integer or some text"),
        (result(1), "entry 1, image 1 the image is repeated"),
        (result(2, None), "`caption` is None and not text"),
        (result(2, " \n\t"), "`caption` is empty.*--allow-empty"),
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
        ('[{"image_id": 1, "caption": "a"', "cut off or damaged"),
        (b"\xff\xfe[1", "cut off or damaged"),
        ('{"image_id": 1, "caption": "a"}\n' * 2, "Extra data: line 2"),
        ("image_id,caption\n1,a cat\n", "Expecting value: line 1"),
        ('"image_id","caption"\r\n1,"a"\r\n', "Extra data: line 1"),
    ],
)
def test_other_formats_are_named_with_the_one_that_is_wanted(
    write, content, told
):
    path = write(content)
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
    told = r"2 of 2 are of other images .*\(a1, a5\), while .* of 5, 1, 3\. Ch"
    with pytest.raises(ValueError, match=told):
        match_results({"a1": "b", "a5": "a"}, REFERENCES, subset)


@pytest.fixture
def hidden(write):
    """Dialogs of 1, 2, 3, 4 and 1 rounds, the last of each to rank."""
    return load_visdial(write(hidden_content()))


def permutations(split):
    keys = np.random.default_rng(0).random(split.options.shape)
    return np.argsort(keys, axis=-1) + 1


def test_every_round_with_options_is_written_and_no_other(
    hidden, visdial, tmp_path
):
    ends = [(d, length - 1) for d, length in enumerate([1, 2, 3, 4, 1])]
    path = tmp_path / "ranks.json"
    for split, places in ((hidden, ends), (visdial, [*np.ndindex(6, 4)])):
        ranks = permutations(split)
        assert write_visdial_ranks(path, split, ranks) == len(places)
        assert json.loads(path.read_text()) == [
            {
                "image_id": split.image_ids[d],
                "round_id": r + 1,
                "ranks": ranks[d, r].tolist(),
            }
            for d, r in places
        ]


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda r: r - 1, "permutation of 1..7"),
        (lambda r: np.minimum(r, 6), "permutation of 1..7"),
        (lambda r: r / 3, "permutation of 1..7"),
        (lambda r: r[:, :2], r"ranks of shape \(5, 2, 7\)"),
    ],
)
def test_ranks_that_the_server_would_refuse_are_not_written(
    hidden, tmp_path, spoil, message
):
    path = tmp_path / "ranks.json"
    with pytest.raises(ValueError, match=message):
        write_visdial_ranks(path, hidden, spoil(permutations(hidden)))
    assert not list(tmp_path.glob("*ranks*"))
