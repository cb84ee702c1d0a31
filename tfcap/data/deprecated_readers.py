"""Readers of single formats, all of which `load_captions()` reads."""

from tfcap._deprecation import warn_deprecated
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.coco_captions import load_captions


def load_flickr_captions(
    path, split=None, split_files=None, skip_empty: bool = False
) -> CaptionSplit:
    """Reads the captions of Flickr8k or Flickr30k: use `load_captions()`."""
    _warn("load_flickr_captions")
    return load_captions(path, split, skip_empty, split_files)


def load_tgif_captions(path, split=None, split_files=None) -> CaptionSplit:
    """Reads what people say of animated GIFs: use `load_captions()`."""
    _warn("load_tgif_captions")
    return load_captions(path, split, split_files=split_files)


def _warn(name):
    warn_deprecated(
        f"`{name}()`", "`load_captions()`", since="0.2.0", stacklevel=3
    )
