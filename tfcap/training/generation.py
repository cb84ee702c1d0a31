"""What a speaker says over a whole data set."""

import numpy as np
import tensorflow as tf


def generate(speaker, decoder, batches, batch_size=32, limit=None):
    """Decodes every row of a data set.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        decoder: `tfcap.decoding.Decoder`.
        batches: `tfcap.data.DialogBatches`.
        batch_size: Integer, dialogs at once. Defaults to `32`.
        limit: Integer or `None`, number of dialogs. Defaults to all.

    Returns:
        Integer array of shape `(dialogs * R, S, T)`.
    """

    @tf.function(reduce_retracing=True)
    def decode(inputs):
        return decoder.decode(speaker, speaker.begin(inputs)).tokens

    said, dialogs = [], 0
    for inputs, rows in batches.evaluation(batch_size):
        said.append(decode(inputs).numpy())
        dialogs += len(rows)
        if limit is not None and dialogs >= limit:
            break
    said = np.concatenate(said)
    if limit is None:
        return said
    return said[: limit * (len(said) // dialogs)]
