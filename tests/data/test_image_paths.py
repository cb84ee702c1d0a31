import pytest

from tfcap.data import coco_image_path


@pytest.mark.parametrize(
    "split, path",
    [
        ("train2014", "r/train2014/COCO_train2014_000000378466.jpg"),
        ("val2014", "r/val2014/COCO_val2014_000000378466.jpg"),
        (
            "val2018",
            "r/VisualDialog_val2018/VisualDialog_val2018_000000378466.jpg",
        ),
        (
            "test2018",
            "r/VisualDialog_test2018/VisualDialog_test2018_000000378466.jpg",
        ),
    ],
)
def test_images_lie_where_the_archives_put_them(split, path):
    assert coco_image_path("r", 378466, split) == path


def test_version_one_trains_on_both_folders(tmp_path):
    path = tmp_path / "val2014" / "COCO_val2014_000000000007.jpg"
    path.parent.mkdir()
    path.touch()
    assert coco_image_path(tmp_path, 7, "2014") == str(path)
    with pytest.raises(FileNotFoundError, match="image_id=8"):
        coco_image_path(tmp_path, 8, "2014")


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="split='val'"):
        coco_image_path("r", 1, "val")
