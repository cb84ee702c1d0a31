"""A study of eleven images with networks of six units."""

import dataclasses

from reproduce.sequence_level import SETTINGS
from reproduce.sequence_level import SequenceLevelStudy
from tests.reproduce.captioning.tiny_study import data

TINY = dataclasses.replace(
    SETTINGS["quick"],
    units=6,
    batch_size=5,
    reward_batch_size=5,
    max_length=6,
    speaker_epochs=1,
    baseline_units=(4,),
)


def study(directory, seed=3, **options):
    changes = {k: options.pop(k) for k in list(options) if hasattr(TINY, k)}
    settings = dataclasses.replace(TINY, **changes)
    return SequenceLevelStudy(
        data(), settings, directory, seed, verbose=0, **options
    )
