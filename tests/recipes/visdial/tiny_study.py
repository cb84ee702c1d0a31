"""A study of eight dialogs with networks of six units."""

import dataclasses

from tests import dialogs
from tfcap.recipes.visdial import DialogData
from tfcap.recipes.visdial import DialogStudy

TINY = dataclasses.replace(dialogs.SETTINGS, generator_epochs=1)


def study(directory, seed=3, validation_dialogs=100, verbose=0, **changes):
    data, images = dialogs.encoded(), dialogs.features()
    return DialogStudy(
        DialogData(data, data, data, images, images, images, name="tiny"),
        dataclasses.replace(TINY, **changes),
        directory,
        seed=seed,
        verbose=verbose,
        validation_dialogs=validation_dialogs,
    )
