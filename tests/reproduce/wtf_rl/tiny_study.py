"""A study of eleven images with networks of six units."""

import dataclasses

from reproduce.experiment import Experiment
from reproduce.wtf_rl.paper import WTF_RL
from reproduce.wtf_rl.retrievers import RetrieverSettings
from reproduce.wtf_rl.settings import SETTINGS
from tests.reproduce.psst.tiny_study import data

RETRIEVER = RetrieverSettings(
    units=4, embedding_units=4, batch_size=5, epochs=1
)
TINY = dataclasses.replace(
    SETTINGS["quick"],
    units=6,
    batch_size=5,
    reward_batch_size=5,
    max_length=3,
    speaker_epochs=1,
    retriever=RETRIEVER,
    unseen=dataclasses.replace(RETRIEVER, network="listener"),
    discriminator_units=(4,),
    grammar_units=4,
)


def study(directory, seed=3, **options):
    changes = {k: options.pop(k) for k in list(options) if k in vars(TINY)}
    settings = dataclasses.replace(TINY, **changes)
    return Experiment(
        WTF_RL, data(), settings, directory, seed, verbose=0, **options
    )
