"""The networks of a captioning study, built for its data."""

import numpy as np

from tfcap.models import Att2inSpeaker
from tfcap.models import RetrievalListener
from tfcap.models import ShowTellSpeaker
from tfcap.models import TransformerSpeaker
from tfcap.models import UpDownSpeaker

#: Speakers by the name that settings give them.
SPEAKERS = {
    "show_tell": ShowTellSpeaker,
    "att2in": Att2inSpeaker,
    "up_down": UpDownSpeaker,
    "transformer": TransformerSpeaker,
}


def make_speaker(
    settings, batches, image_preprocessing=None, condition_dropout=0.0
):
    """A built speaker.

    Args:
        batches: `tfcap.data.CaptionBatches`, for vocabulary and shapes.
    """
    options = {"condition_dropout": condition_dropout}
    if settings.speaker == "transformer":
        options["max_length"] = settings.max_length
    speaker = SPEAKERS[settings.speaker](
        batches.captions.vocabulary.size,
        units=settings.units,
        dropout=settings.dropout,
        word_dropout=settings.word_dropout,
        image_dropout=settings.image_dropout,
        image_preprocessing=image_preprocessing,
        **options,
    )
    speaker(batches.inputs(np.arange(1)))
    return speaker


def make_listener(
    settings, batches, image_preprocessing=None
) -> RetrievalListener:
    """A built listener.

    Args:
        batches: `tfcap.data.CaptionBatches`, for vocabulary and shapes.
    """
    listener = RetrievalListener(
        batches.captions.vocabulary.size,
        units=settings.listener_units,
        embedding_units=settings.listener_embedding_units,
        image_dropout=settings.listener_dropout,
        word_dropout=settings.listener_dropout,
        pooling=settings.listener_pooling,
        bag_of_words=settings.listener_bag_of_words,
        image_preprocessing=image_preprocessing,
    )
    listener(batches.inputs(np.arange(1)))
    return listener
