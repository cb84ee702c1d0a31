"""Reading the objects that COCO annotates in its images."""

import os

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import is_image_id

_LAYOUT = (
    "Give COCO's annotations of instances, such as instances_val2014.json: "
    "`images`, `annotations` with `image_id` and `category_id`, `categories`."
)
_ONCE = "Keep one entry of each."
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
        ValueError: If the file is cut off or malformed. Names the file, the
            first few entries and their number, and what to do.

    Example:

    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "instances.json"
    >>> content = {
    ...     "images": [{"id": 4}, {"id": 5}],
    ...     "annotations": [{"image_id": 4, "category_id": 17}],
    ...     "categories": [{"id": 17, "name": "cat"}],
    ... }
    >>> _ = path.write_text(json.dumps(content))
    >>> tfcap.data.load_instances(path)
    {4: {'cat'}, 5: set()}

    Reference:

    - Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014
    """

    def light(entry):
        for name in _UNREAD:
            entry.pop(name, None)
        return entry

    content = read_json(path, object_hook=light, layout=_LAYOUT)
    content = content if isinstance(content, dict) else {}
    parts = {}
    for name in ("images", "annotations", "categories"):
        parts[name] = content.get(name)
        if not isinstance(parts[name], list) or not all(
            isinstance(entry, dict) for entry in parts[name]
        ):
            problem = f"`{name}` is no list of objects"
            raise malformed(path, "", problem, _LAYOUT)
    problems, names, objects = EntryProblems(path), {}, {}
    for i, category in enumerate(parts["categories"]):
        name, number = category.get("name"), category.get("id")
        where = f"category number {i}"
        if not isinstance(name, str) or not is_image_id(number):
            problems.add("`id` or `name` is missing", where, _LAYOUT)
        elif number in names:
            problems.add("a category is there again", where, _ONCE)
        else:
            names[number] = name
    for i, image in enumerate(parts["images"]):
        number, where = image.get("id"), f"image number {i}"
        if not is_image_id(number):
            problems.add("`id` is no id", where, _LAYOUT)
        elif number in objects:
            problems.add("an image is there again", where, _ONCE)
        else:
            objects[number] = set()
    for i, annotation in enumerate(parts["annotations"]):
        image, number = (
            annotation.get("image_id"),
            annotation.get("category_id"),
        )
        where = f"annotation {i}"
        if not is_image_id(image) or image not in objects:
            problem = "`image_id` is that of no image in `images`"
            problems.add(problem, f"{where}: {image!r:.40}", _LAYOUT)
        elif not is_image_id(number) or number not in names:
            problem = "`category_id` is that of no category"
            problems.add(problem, f"{where}: {number!r:.40}", _LAYOUT)
        else:
            objects[image].add(names[number])
    problems.check()
    return objects
