"""Whatever type a field of a file has, it loads, or its file is named."""

import copy
import functools
import math
import warnings

import numpy as np
import pytest

from tests.data.conftest import make_content
from tests.data.test_coco_captions import coco
from tests.data.test_coco_captions import karpathy
from tests.data.test_coco_captions import marked
from tests.data.test_coco_captions import textcaps
from tests.data.test_coco_instances import content as instances
from tfcap.data import CaptionSplit
from tfcap.data import load_captions
from tfcap.data import load_visdial
from tfcap.data import read_image_ids
from tfcap.data.coco_instances import load_instances
from tfcap.data.result_files import load_results
from tfcap.data.visdial import load_relevance

WRONG = (
    *(None, True, False, 0, 1, -7, 2**40, 10**400, 0.5, 1e308, math.nan),
    *(-math.inf, "", " ", "7", "x", [], [1], ["x"], [[]], [None], [{}], {}),
    *({"a": 1}, {"": [math.nan]}, [[[[{"x": []}]]]]),
)
CUTS = object()


def vizwiz():
    mark = {"is_rejected": False, "is_precanned": False}
    content = marked(mark, {**mark, "text_detected": True}, mark)
    for image in content["images"]:
        image |= {"domain": "in-domain", "file_name": "1.jpg"}
    return content


def visdial():
    content = make_content(dialogs=2, rounds=2, split="val")
    content["data"]["dialogs"][0]["suggested_split"] = "train"
    return content


def dense():
    return [{"image_id": 7, "round_id": 1, "gt_relevance": [0.5, 1.0, 0]}]


def read_dense(path):
    return load_relevance(path, np.array([7]), np.ones((1, 2, 3), bool))


FORMATS = {
    "coco": (coco, load_captions),
    "vizwiz": (vizwiz, load_captions),
    "karpathy": (karpathy, functools.partial(load_captions, split="test")),
    "textcaps": (textcaps, load_captions),
    "results": (lambda: [{"image_id": 4, "caption": "a"}], load_results),
    "instances": (instances, load_instances),
    "image_ids": (lambda: [7, "a.jpg"], read_image_ids),
    "visdial": (visdial, load_visdial),
    "dense": (dense, read_dense),
}


def places(content, path=()):
    """Paths of all values within a content, of lists the first and last."""
    yield path
    keys = content if isinstance(content, dict) else ()
    if isinstance(content, list):
        keys = sorted({0, len(content) - 1} & {*range(len(content))})
    for key in keys:
        yield from places(content[key], (*path, key))


def changed(content, path, value):
    if not path:
        return value
    content = copy.deepcopy(content)
    *above, key = path
    inner = functools.reduce(lambda found, key: found[key], above, content)
    if value is CUTS:
        del inner[key]
    else:
        inner[key] = value
    return content


@pytest.mark.parametrize("name", FORMATS)
def test_each_field_may_have_each_type(write, name):
    make, load = FORMATS[name]
    content = make()
    load(write(content))
    unnamed = []
    for place in places(content):
        for value in (*WRONG, CUTS)[: None if place else -1]:
            path = write(changed(content, place, value))
            try:
                with warnings.catch_warnings(action="ignore"):
                    found = load(path)
            except (ValueError, TypeError) as error:
                if str(path) not in str(error):
                    unnamed.append((place, f"{value!r:.40}", repr(error)))
            except Exception as error:
                unnamed.append((place, f"{value!r:.40}", repr(error)))
            else:
                if isinstance(found, CaptionSplit):
                    check_types(found)
    assert not unnamed


def check_types(split):
    assert all(type(x) in (int, str) for x in split.image_ids)
    texts = [text for texts in split.captions for text in texts]
    for text in (*texts, *split.filenames, *split.splits):
        assert isinstance(text, str)
    assert all(texts) and all(split.captions)
