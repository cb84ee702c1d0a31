import json

import pytest

from tfcap.data import load_captions
from tfcap.data import load_results
from tfcap.data import match_results


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
        (5, r"there is no object in 1 place \(entry 1\)"),
        ({}, "`image_id` is missing"),
        ({"image_id": 3}, "`caption` is missing.*entry 1, image 3"),
        (result(None), "`image_id` is neither"),
        (result(2.0), "`image_id` is neither"),
        (result(True), "`image_id` is neither"),
        (result(""), "`image_id` is neither"),
        (result([1]), "`image_id` is neither"),
        (result(1), r"is there again in 1 place \(entry 1, image 1\)"),
        (result(2, None), "`caption` is no text"),
        (result(2, ["a", "cat"]), "`caption` is no text"),
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
        ([], "the list is empty"),
        ({"annotations": []}, "is no list, as in a file of references"),
        ("text", "is no list"),
        (None, "is no list"),
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
        ('{"image_id": 1, "caption": "a"}\n' * 2, r"lines of JSON \(JSONL\)"),
        ("image_id,caption\n1,a cat\n", r"lines with commas \(CSV\)"),
        ('"image_id","caption"\r\n1,"a"\r\n', r"lines with commas \(CSV\)"),
        ("image_id\tcaption\n1\ta, b\n", r"lines with tabs \(TSV\)"),
        ("1_a.jpg#0\tA .\n1_a.jpg#1\tB .\n", "Flickr's token lines"),
        ('{"image_id": 1, "caption": "a"}', "one entry and no list"),
    ],
)
def test_other_formats_are_named_with_the_one_that_is_wanted(
    tmp_path, text, told
):
    path = tmp_path / "results.json"
    path.write_text(text)
    wanted = f"path='{path}', where there .*{told}.* Give a list of"
    with pytest.raises(ValueError, match=wanted):
        load_results(path)
    if "no list" not in told:
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
    told = r"6 of 9 are of other images \(0, 2, 4, 6, 7 and 1 more\).*split"
    with pytest.raises(ValueError, match=told) as caught:
        match_results(results, REFERENCES, subset, path="r.json")
    assert "r.json" in str(caught.value)
    with pytest.raises(ValueError, match="integers in the one file and text"):
        match_results({"5": "a"}, REFERENCES, subset)
