"""A study of eleven images with networks of six units."""

import dataclasses

from reproduce.experiment import Experiment
from reproduce.sle.paper import SLE
from reproduce.sle.settings import SETTINGS
from tests.reproduce.psst.tiny_study import data

TINY = dataclasses.replace(
    SETTINGS["quick"],
    units=6,
    batch_size=5,
    reward_batch_size=5,
    max_length=3,
    speaker_epochs=1,
    baseline_units=(4,),
    mixer_delta=1,
)


def study(directory, seed=3, paper=SLE, **options):
    changes = {k: options.pop(k) for k in list(options) if hasattr(TINY, k)}
    settings = dataclasses.replace(TINY, **changes)
    return Experiment(
        paper, data(), settings, directory, seed, verbose=0, **options
    )
