import pytest

from tfcap.data import CaptionSplit


@pytest.fixture
def split():
    return CaptionSplit(
        image_ids=[42, 7, 9],
        captions=[["a cat"], ["a dog", "dogs"], ["a cow"]],
        filenames=["val2014/COCO_42.jpg", "train2014/7.jpg", "val2014/7.jpg"],
        splits=["val", "train", "val"],
        tokens=[[["a", "cat"]], [["a", "dog"], ["dogs"]], [["a", "cow"]]],
        source="dataset_coco.json",
    )


def test_images_are_selected_by_their_ids_in_the_order_of_the_list(split):
    some = split.select([7, 42])
    assert some.image_ids == [7, 42]
    assert some.captions == [["a dog", "dogs"], ["a cat"]]
    assert some.filenames == ["train2014/7.jpg", "val2014/COCO_42.jpg"]
    assert some.splits == ["train", "val"]
    assert some.tokens == [[["a", "dog"], ["dogs"]], [["a", "cat"]]]
    assert some.source == "dataset_coco.json"
    assert split.image_ids == [42, 7, 9]
    for name in ("val2014/COCO_42.jpg", "COCO_42.jpg", "COCO_42"):
        assert split.select([name]).image_ids == [42]


def test_words_and_names_that_a_file_lacks_are_not_made_up(split):
    bare = CaptionSplit([1, 2], [["a"], ["b"]], ["", ""], ["", ""])
    some = bare.select([2])
    assert some.tokens is None and some.filenames == [""]
    with pytest.raises(ValueError, match="of no image"):
        bare.select([""])


def test_an_id_is_an_id_whatever_the_files_are_called():
    split = CaptionSplit(
        ["b", "a"], [["x"], ["y"]], ["a.jpg", "b.jpg"], [""] * 2
    )
    assert split.select(["a"]).captions == [["y"]]
    assert split.select(["a.jpg"]).captions == [["x"]]


@pytest.mark.parametrize(
    "image_ids, told",
    [
        ([7, 8, 42, "x.jpg"], r"4 names, 2 of them .* several \(8, x.jpg\)"),
        (["7.jpg"], r"1 of them of no image or of several \(7.jpg\)"),
        ([42, "COCO_42"], r"1 images more than once \(42\)"),
        (["43", "4_2"], r"2 of them .* several \(43, 4_2\)"),
        (range(50), r"47 of them .*\(0, 1, 2, 3, 4 and 42 more\)"),
    ],
)
def test_a_list_that_does_not_belong_to_the_images_is_refused(
    split, image_ids, told
):
    with pytest.raises(ValueError, match=told) as caught:
        split.select(image_ids)
    assert "source='dataset_coco.json' of 3 images" in str(caught.value)
