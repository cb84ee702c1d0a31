"""Reading the objects that COCO annotates in its images."""

import os

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap.data.entry_problems import ID
from tfcap.data.entry_problems import field

_LAYOUT = (
    "Give COCO's annotations of instances, such as instances_val2014.json: "
    "`images`, `annotations` with `image_id` and `category_id`, `categories`."
)
#: Outlines of objects, most of the file.
_UNREAD = ("segmentation", "bbox")


def load_instances(path: str | os.PathLike) -> dict:
    """Reads a file of COCO's annotated objects.

    Args:
        path: String or path, `instances_val2014.json` or files like it, gzipped
            or not.

    Returns:
        Dict of image id to the set of the names of its objects; empty for an
        image in which nothing is annotated.

    Raises:
        ValueError: If the file is truncated or malformed.

    Example:

    >>> import json, pathlib, tempfile
    >>> from tfcap.data.coco_instances import load_instances
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "instances.json"
    >>> content = {
    ...     "images": [{"id": 4}, {"id": 5}],
    ...     "annotations": [{"image_id": 4, "category_id": 17}],
    ...     "categories": [{"id": 17, "name": "cat"}],
    ... }
    >>> _ = path.write_text(json.dumps(content))
    >>> load_instances(path)
    {4: {'cat'}, 5: set()}

    Reference:

    - Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014
    """

    def light(entry):
        for name in _UNREAD:
            entry.pop(name, None)
        return entry

    content = read_json(path, object_hook=light, layout=_LAYOUT)
    images, annotations, categories = (
        field(path, "", content, name, "a list", _LAYOUT)
        for name in ("images", "annotations", "categories")
    )
    names, objects = {}, {}
    for i, category in enumerate(categories):
        where = f"category number {i}"
        number = field(path, where, category, "id", ID, _LAYOUT)
        names[number] = field(path, where, category, "name", "text", _LAYOUT)
    for i, image in enumerate(images):
        where = f"image number {i}"
        objects[field(path, where, image, "id", ID, _LAYOUT)] = set()
    for i, annotation in enumerate(annotations):
        where = f"annotation {i}"
        image = field(path, where, annotation, "image_id", ID, _LAYOUT)
        number = field(path, where, annotation, "category_id", ID, _LAYOUT)
        if image not in objects or number not in names:
            problem = (
                f"there is no image {image!r:.40} or category {number!r:.40}"
            )
            raise malformed(path, where, problem, _LAYOUT)
        objects[image].add(names[number])
    return objects
