"""A handful of captions, of as many words and as few as may be."""

import keras
import numpy as np

from tfcap.data import CaptionSplit
from tfcap.data import EncodedCaptions
from tfcap.data import build_vocabulary

#: Captions of each image.
COUNTS = (3, 1, 2, 3, 3, 2, 3, 1, 3, 3, 2)
FEATURES = np.random.default_rng(0).normal(size=(11, 4, 3)).astype("float16")
_WORDS = "a dog cat two dogs play plays on green grass red bus street".split()


def tiny_split(counts=COUNTS):
    """Captions that are all different, of images 100, 101 and so on."""
    captions = [
        [
            f"{_WORDS[i % 13]} {_WORDS[k]} number {i}{'!' * k}"
            for k in range(count)
        ]
        for i, count in enumerate(counts)
    ]
    return CaptionSplit(
        image_ids=[100 + i for i in range(len(counts))],
        captions=captions,
        filenames=[f"train2014/{100 + i}.jpg" for i in range(len(counts))],
        splits=["train"] * len(counts),
    )


def tiny_captions(counts=COUNTS, max_length=6):
    split = tiny_split(counts)
    vocabulary = build_vocabulary(split, min_count=1)
    return EncodedCaptions.from_split(split, vocabulary, max_length)


def rows_of(batch):
    """Rows of the images of a batch, which has their features."""
    distance = np.abs(batch["image"][:, None] - FEATURES[None]).sum((2, 3))
    return np.argmin(distance, axis=1)


def check_same(one, other):
    """Checks that two nests have the same arrays."""
    keras.tree.map_structure(np.testing.assert_array_equal, one, other)
