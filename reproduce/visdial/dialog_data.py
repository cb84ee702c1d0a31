"""The data of a visual dialog study."""

import dataclasses
import functools
from typing import Any

from tfcap.data.data_digest import data_digest
from tfcap.data.data_digest import feature_digest

_SPLITS = ("train", "validation", "test")


@dataclasses.dataclass(frozen=True)
class DialogData:
    """Encoded dialogs with the features of their images.

    Args:
        train, validation, test: `tfcap.data.EncodedDialogs`.
        train_features, validation_features, test_features: Arrays of shape
            `(M, P, D)`, or what `tfcap.data.DialogBatches` takes instead.
        name: String, what the data is called in tables.
        test_images: Function from the number of a test dialog to its picture,
            a uint8 array `(height, width, 3)`, or `None` where there is none.
            Defaults to no pictures at all.
        norm: Float, length that every position's features were scaled to, or
            `None` where they are as they were found. Kept with a study: other
            images must be scaled alike. Defaults to `None`.
        feature_digests: Strings, what identifies the features of each split.
            Defaults to `None`: `tfcap.data.data_digest.feature_digest()` of
            them.
    """

    train: Any
    validation: Any
    test: Any
    train_features: Any
    validation_features: Any
    test_features: Any
    name: str
    test_images: Any = lambda row: None
    norm: float | None = None
    feature_digests: tuple | None = None

    @functools.cached_property
    def digest(self):
        """SHA-256 of ids, dialogs and features: what the data are."""
        parts = {"norm": self.norm}
        for name, known in zip(_SPLITS, self.feature_digests or [None] * 3):
            dialogs = getattr(self, name)
            for field in dataclasses.fields(dialogs):
                parts[f"{name}_{field.name}"] = getattr(dialogs, field.name)
            parts[f"{name}_vocabulary"] = list(dialogs.vocabulary.words)
            parts[f"{name}_features"] = known or feature_digest(
                getattr(self, f"{name}_features"), len(dialogs)
            )
        return data_digest(**parts)
