"""A study of eleven images with networks of six units."""

import dataclasses

import numpy as np

from reproduce.captioning import CaptionData
from reproduce.experiment import Experiment
from reproduce.psst.paper import PSST
from reproduce.psst.settings import SETTINGS
from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import tiny_captions

TINY = dataclasses.replace(
    SETTINGS["quick"],
    units=6,
    listener_units=5,
    listener_embedding_units=4,
    batch_size=5,
    max_length=3,
    listener_epochs=2,
    listener_warm_up=1,
    speaker_epochs=1,
    joint_epochs=1,
    naturalness_samples=2,
)


def data():
    captions = tiny_captions()
    features = FEATURES.astype("float32")
    return CaptionData(
        captions,
        captions,
        captions,
        features,
        features,
        features,
        features,
        name="tiny",
        test_images=lambda row: np.zeros((4, 4, 3), "uint8"),
    )


def study(directory, seed=3, **options):
    changes = {k: options.pop(k) for k in list(options) if hasattr(TINY, k)}
    settings = dataclasses.replace(TINY, **changes)
    return Experiment(
        PSST, data(), settings, directory, seed, verbose=0, **options
    )
