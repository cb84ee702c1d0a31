"""The data of a captioning study, and their digest."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcap.data import EncodedCaptions
from tfcap.data import data_digest
from tfcap.data import feature_digest
from tfcap.layers import ImageStandardization

_SPLITS = ("train", "validation", "test")


@dataclasses.dataclass(frozen=True, eq=False)
class CaptionData:
    """Encoded captions and image features of a study's three splits.

    Attributes:
        train, validation, test: `tfcap.data.EncodedCaptions`.
        train_features, validation_features, test_features: Of each split,
            what `tfcap.data.CaptionBatches` takes as features, `(n, P, D)`.
        name: String, what the data set is called in tables.
        unlabeled_features: Images of which no caption is read, as the other
            features, an array.
        test_images: Callable from a row of the test split to a uint8 image
            `(height, width, 3)`, or to `None` without pixels. If it has
            `filenames`, these are shown.
        judge: Callable from captions of the test split, a list of strings, to
            a dict of scores, if the truth is known; or `None`.
        truth: Callable from the name of a split to the
            `reproduce.world.truth.Truth` of its images, or `None`.
        standardization: Dict of arguments of
            `tfcap.layers.ImageStandardization`, with the mean and deviation of
            the training features, by which networks of the study preprocess
            images. `None` for no preprocessing.
        feature_digests: Strings that identify the features of each split.
            Defaults to `None`: `tfcap.data.data_digest.feature_digest()` of
            them.
    """

    train: EncodedCaptions
    validation: EncodedCaptions
    test: EncodedCaptions
    train_features: Any
    validation_features: Any
    test_features: Any
    unlabeled_features: Any
    name: str
    test_images: Callable
    judge: Callable | None = None
    truth: Callable | None = None
    standardization: Any = None
    feature_digests: tuple | None = None

    @property
    def vocabulary(self):
        """The `tfcap.text.Vocabulary` of all ids."""
        return self.train.vocabulary

    @functools.cached_property
    def digest(self):
        """SHA-256 of ids, captions and features."""
        splits = [getattr(self, name) for name in _SPLITS]
        return data_digest(
            ids=[np.asarray(split.image_ids).tolist() for split in splits],
            captions=[split.texts for split in splits],
            features=list(self._known_digests()),
        )

    def image_preprocessing(self):
        """Preparation of images for a new network of the study.

        Returns:
            A new `tfcap.layers.ImageStandardization`, or `None`.
        """
        how = self.standardization
        if how is None:
            return None
        return ImageStandardization(**how, name="image_standardization")

    def _known_digests(self):
        """Identity of the features of each split, as they were given."""
        return self.feature_digests or tuple(
            feature_digest(
                getattr(self, f"{name}_features"), len(getattr(self, name))
            )
            for name in _SPLITS
        )


def about_data(data: CaptionData) -> dict:
    """Identity of the data for a study's folder: name, sizes, digest."""
    layer = data.image_preprocessing()
    how = None if layer is None else type(layer).__name__
    return {
        "data": [data.name, len(data.train), len(data.test)],
        "digest": data.digest,
        "image_preprocessing": how,
    }
