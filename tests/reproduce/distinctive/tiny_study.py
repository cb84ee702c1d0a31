"""A study of eleven images with networks of six units."""

import dataclasses

from reproduce.distinctive import SETTINGS
from reproduce.distinctive import DistinctiveStudy
from reproduce.distinctive import RetrieverSettings
from tests.reproduce.captioning.tiny_study import data

RETRIEVER = RetrieverSettings(
    units=4, embedding_units=4, batch_size=5, epochs=1
)
TINY = dataclasses.replace(
    SETTINGS["quick"],
    units=6,
    batch_size=5,
    reward_batch_size=5,
    max_length=6,
    speaker_epochs=1,
    retriever=RETRIEVER,
    unseen=dataclasses.replace(RETRIEVER, network="listener"),
    discriminator_units=(4,),
    grammar_units=4,
)


def study(directory, seed=3, **options):
    changes = {k: options.pop(k) for k in list(options) if k in vars(TINY)}
    # What a caller gives to the study itself, a retriever, is no setting.
    given = {
        k: changes.pop(k) for k in ("retriever", "unseen") & changes.keys()
    }
    settings = dataclasses.replace(TINY, **changes)
    return DistinctiveStudy(
        data(), settings, directory, seed, verbose=0, **options, **given
    )
