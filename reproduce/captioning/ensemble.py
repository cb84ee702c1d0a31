"""Frozen retrievers of several makes, which rows of ensembles train for."""

import os
from dataclasses import replace

from reproduce.captioning.rewarded import cider
from reproduce.comparisons.strangers import StrangerPanel
from tfcap.rewards import LengthPenalty

#: Makes of the panel of held-out listeners; a single retriever is of the first.
#: The panel's transformer is of none.
MAKES = ("bag_of_words", "dual_encoder", "recurrent")
#: Of the ensemble's weights: one for all seeds of speakers, as the panel of
#: strangers is, and no retriever begins as one of that.
_SEED = 101
#: Words before the greatest length from which a caption is too long.
_BUFFER = 4


def retrievers(experiment, count: int | None = None) -> list:
    """Retrievers trained on the captions that the speaker learned from.

    They are trained now unless they were, as the listeners of a panel are, on
    the speaker's own images and words, from other initial weights.
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
    """CIDEr-D less a penalty of captions without an end."""
    return cider(about.experiment) + ending(about)


def ending(about):
    """The penalty alone."""
    length = about.settings.max_length
    return LengthPenalty(min(_BUFFER, length), length)
