"""What a speaker says over a whole data set."""

import keras
import numpy as np
import tensorflow as tf


def generate(speaker, decoder, batches, batch_size=32, limit=None, verbose=0):
    """Decodes every row of a data set.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        decoder: `tfcap.decoding.Decoder`.
        batches: `tfcap.data.DialogBatches` or `tfcap.data.CaptionBatches`.
        batch_size: Integer, dialogs or images at once, or `None` for that of
            the batches. Defaults to `32`.
        limit: Integer or `None`, number of dialogs or images. Defaults to
            all.
        verbose: 1 for progress, 0 for silence.

    Returns:
        Integer array of shape `(dialogs * R, S, T)`, or `(images, S, T)`.
    """

    @tf.function(reduce_retracing=True)
    def decode(inputs):
        return decoder.decode(speaker, speaker.begin(inputs)).tokens

    said, dialogs = [], 0
    progress = keras.utils.Progbar(limit, verbose=verbose, unit_name="row")
    for inputs, rows in batches.evaluation(batch_size):
        said.append(decode(inputs).numpy())
        dialogs += len(rows)
        progress.add(len(rows))
        if limit is not None and dialogs >= limit:
            break
    said = np.concatenate(said)
    if limit is None:
        return said
    return said[: limit * (len(said) // dialogs)]
