"""The data of a visual dialog study."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
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
