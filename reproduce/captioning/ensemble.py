"""Frozen retrievers of several architectures, as rewards of ensembles."""

import os
from dataclasses import replace

from reproduce.captioning.rewarded import cider
from reproduce.comparisons.strangers import StrangerPanel
from tfcap.rewards import LengthPenalty

#: Architectures from the panel of held-out listeners; a single retriever has
#: the first. The panel's transformer is not among them.
MAKES = ("bag_of_words", "dual_encoder", "recurrent")
#: Of the ensemble, for all seeds of speakers. No retriever starts from the
#: initial weights of a held-out listener.
_SEED = 101
#: Words before the greatest length at which the length penalty begins.
_BUFFER = 4


def retrievers(experiment, count: int | None = None) -> list:
    """Retrievers trained on the training captions of the speaker.

    They are trained if necessary, as the held-out listeners are, on the
    speaker's own images and words, from other initial weights.
    """
    settings = experiment.settings
    longest = experiment.data.train.references.shape[-1]
    numbers = replace(
        settings.ensemble,
        speaker=settings.speaker,
        min_count=settings.min_count,
        max_length=max(settings.max_length, longest),
    )
    panel = StrangerPanel(
        os.path.join(experiment.directory, "ensemble"),
        experiment.data,
        numbers,
        _SEED,
        experiment.verbose,
    )
    return [panel.listener(make) for make in MAKES[:count]]


def natural(about):
    """CIDEr-D minus a penalty of captions without an end."""
    return cider(about.experiment) + ending(about)


def ending(about):
    """The penalty alone."""
    length = about.settings.max_length
    return LengthPenalty(min(_BUFFER, length), length)
