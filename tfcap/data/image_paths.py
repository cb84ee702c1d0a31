"""Where the published image collections keep an image."""

import os

from tfcap.io import is_there

_FOLDERS = {
    "train2014": ("train2014", "COCO_train2014_{:012d}.jpg"),
    "val2014": ("val2014", "COCO_val2014_{:012d}.jpg"),
    "val2018": (
        "VisualDialog_val2018",
        "VisualDialog_val2018_{:012d}.jpg",
    ),
    "test2018": (
        "VisualDialog_test2018",
        "VisualDialog_test2018_{:012d}.jpg",
    ),
}


def coco_image_path(root, image_id, split):
    """Path of an image of VisDial, as COCO and VisDial publish them.

    Version 0.9 trains on `train2014` and validates on `val2014`; version 1.0
    trains on both, and has images of its own, `val2018` and `test2018`.

    Args:
        root: String or path of the folder that the archives were unpacked in.
        image_id: Integer.
        split: String, one of `"train2014"`, `"val2014"`, `"val2018"`,
            `"test2018"`, or `"2014"` for whichever of the first two has it.

    Returns:
        String. That the file exists is not checked, but for `"2014"`.

    Raises:
        FileNotFoundError: If `split` is `"2014"` and neither folder has it.

    Example:

    >>> tfcap.data.coco_image_path("coco", 9, "val2014")
    'coco/val2014/COCO_val2014_000000000009.jpg'
    """
    if split == "2014":
        for name in ("train2014", "val2014"):
            path = coco_image_path(root, image_id, name)
            if is_there(path):
                return path
        raise FileNotFoundError(
            f"`image_id` must be in train2014 or val2014 of {str(root)!r}. "
            f"Received: image_id={image_id}. Unpack both COCO archives there."
        )
    if split not in _FOLDERS:
        raise ValueError(
            f"`split` must be one of {', '.join(_FOLDERS)}, 2014. Received: "
            f"split={split!r}."
        )
    folder, name = _FOLDERS[split]
    return os.path.join(root, folder, name.format(int(image_id)))
