import gzip
import json

import pytest

from tfcap.data.coco_instances import load_instances


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


def test_objects_of_images_are_read(write):
    path = write(gzip.compress(json.dumps(content()).encode()))
    assert load_instances(path) == {4: {"person", "dog"}, 9: set()}


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ([], "there is no object"),
        (content(categories=[{"id": 1}]), "number 0 `name` is missing"),
        (
            content(annotations=[{"image_id": 5, "category_id": 1}]),
            "annotation 0 there is no image 5 or category 1",
        ),
        (
            content(annotations=[{"image_id": 4, "category_id": 7}]),
            "annotation 0 there is no image 4 or category 7",
        ),
    ],
)
def test_other_files_are_refused(write, changed, match):
    with pytest.raises(ValueError, match=match):
        load_instances(write(changed))
