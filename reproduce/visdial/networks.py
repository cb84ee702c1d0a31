"""The networks of the visual dialog rows."""

import keras
import numpy as np

from tfcap.layers import AnswerEncoder
from tfcap.layers import HCIAEEncoder
from tfcap.layers import HREAEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.layers import MemoryNetworkEncoder
from tfcap.losses import EmbeddingNorm
from tfcap.models import DialogDiscriminator
from tfcap.models import DialogGenerator

#: The encoders of the paper's rows, by the names that the rows begin with.
ENCODERS = {
    "lf": LateFusionEncoder,
    "hrea": HREAEncoder,
    "mn": MemoryNetworkEncoder,
    "hciae": HCIAEEncoder,
}


def make_generator(encoder: str, settings, batches) -> DialogGenerator:
    """Builds a generator.

    Args:
        batches: `tfcap.data.DialogBatches`, for vocabulary and shapes.
    """
    generator = DialogGenerator(
        batches.dialogs.vocabulary.size,
        _encoder(encoder, settings, return_state=True),
        embedding_units=settings.embedding_units,
        dropout=settings.dropout,
        logit_scale=settings.logit_scale,
        embeddings_initializer=_embeddings(settings),
    )
    generator(batches.inputs(np.arange(1)))
    return generator


def make_discriminator(
    encoder, settings, batches, attention: bool = True, penalty: bool = True
) -> DialogDiscriminator:
    """Builds a discriminator."""
    norm = EmbeddingNorm(settings.norm_penalty, settings.norm_convention)
    discriminator = DialogDiscriminator(
        batches.dialogs.vocabulary.size,
        _encoder(encoder, settings, return_state=False),
        AnswerEncoder(
            settings.units,
            output_units=settings.embedding_units,
            attention=attention,
            dropout=settings.dropout,
        ),
        embedding_units=settings.embedding_units,
        norm_regularizer=norm if penalty else None,
        embeddings_initializer=_embeddings(settings),
    )
    inputs = batches.inputs(np.arange(1))
    discriminator({**inputs, "options": inputs["answer"][:, :, None]})
    return discriminator


def copy_encoder(source, target):
    """Starts one network's words and encoder from another's."""
    target.embedding.set_weights(source.embedding.get_weights())
    target.encoder.set_weights(source.encoder.get_weights())


def _encoder(name, settings, return_state):
    options = {}
    if name in ("hrea", "hciae"):
        options["query_initializer"] = keras.initializers.VarianceScaling(
            settings.query_gain**2, "fan_avg", "uniform"
        )
    return ENCODERS[name](
        settings.units,
        output_units=settings.embedding_units,
        dropout=settings.dropout,
        return_state=return_state,
        name=f"{name}_encoder",
        **options,
    )


def _embeddings(settings):
    return keras.initializers.RandomNormal(stddev=settings.embedding_stddev)
