"""An experiment with eight dialogs with networks of six units."""

import dataclasses

from reproduce.visdial import DialogData
from reproduce.visdial import DialogExperiment
from tests import dialogs

TINY = dataclasses.replace(dialogs.SETTINGS, generator_epochs=1)


def study(
    directory, seed=3, validation_dialogs=100, verbose=0, data=None, **changes
):
    if data is None:
        splits, images = [dialogs.encoded()] * 3, [dialogs.features()] * 3
        data = DialogData(*splits, *images, name="tiny")
    return DialogExperiment(
        data,
        dataclasses.replace(TINY, **changes),
        directory,
        seed=seed,
        verbose=verbose,
        validation_dialogs=validation_dialogs,
    )
