import gzip
import json

import pytest

from tfcap.data import load_instances


def content(**changes):
    return {
        "images": [{"id": 4}, {"id": 9}],
        "annotations": [
            {"image_id": 4, "category_id": 1, "segmentation": [[0.5, 1.5]]},
            {"image_id": 4, "category_id": 44, "bbox": [1, 2, 3, 4]},
            {"image_id": 4, "category_id": 1},
        ],
        "categories": [{"id": 1, "name": "person"}, {"id": 44, "name": "dog"}],
        **changes,
    }


def test_objects_of_images_are_read(tmp_path):
    path = tmp_path / "instances.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content()).encode()))
    assert load_instances(path) == {4: {"person", "dog"}, 9: set()}


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ([], "`images` is no list of objects"),
        (content(annotations=None), "`annotations` is no list of objects"),
        (content(categories=[5]), "`categories` is no list of objects"),
        (content(categories=[{"id": 1}]), "`id` or `name` is missing"),
        (content(images=[{"id": 4}, {}]), "`id` is no id"),
        (content(images=[{"id": 4}] * 2), "an image is there again"),
        (
            content(categories=[{"id": 1, "name": x} for x in "ab"]),
            "a category is there again",
        ),
        (
            content(annotations=[{"image_id": 5, "category_id": 1}]),
            "that of no image in `images`.*annotation 0: 5",
        ),
        (
            content(annotations=[{"image_id": 4, "category_id": 7}]),
            "`category_id` is that of no category.*annotation 0: 7",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, changed, match):
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(ValueError, match=match):
        load_instances(path)
