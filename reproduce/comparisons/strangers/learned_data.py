"""Training images of the held-out listeners: not the speakers', if possible."""

from reproduce.captioning import CaptionData
from reproduce.captioning import caption_files
from reproduce.captioning import caption_videos
from reproduce.captioning import caption_world
from reproduce.captioning.load_data import lacks_validation

#: Images that are enough to train on.
ENOUGH = 5000


def learned_data(
    name: str, settings, root=None, split: str | None = None, **options
) -> CaptionData:
    """Data with the training split of the held-out listeners.

    On the embedded world, as many other scenes are drawn. On data in files it
    is the validation split, on which no speaker is trained; if that has fewer
    than 5,000 images, as in Flickr8k, the validation and the training split.
    On clips, and without a validation split, it is the training split.

    Args:
        split: String, the split of data in files to train on, such as
            `"restval"` if speakers are trained on `"train"` alone. Optional.
        **options: Those of `reproduce.captioning.caption_world()`.

    Raises:
        ValueError: If `split` is given for data that are not in files, or
            `root` is not given for those that are.
    """
    if name in _DRAWN:
        if split is not None:
            raise ValueError(
                "`--strangers-split` must come with data in files. Received: "
                f"--strangers-split {split} --data {name}."
            )
        return _DRAWN[name](settings, root, **options)
    if root is None:
        raise ValueError(f"--data {name} needs --root, a folder.")
    if split is not None:
        return caption_files(settings, root, split)
    if lacks_validation(root):
        return caption_files(settings, root, "train")
    data = caption_files(settings, root, "val")
    if len(data.train) < ENOUGH:
        data = caption_files(settings, root, "train+val")
    return data


def _other_scenes(settings, root, **options):
    return caption_world(settings, root, others=True, **options)


_DRAWN = {"world": _other_scenes, "clips": caption_videos}
