"""Decoding of a whole data set."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfcap.decoding import Decoder
from tfcap.training.dataset_inputs import dataset_inputs


def generate(
    speaker: Any,
    decoder: Decoder,
    dataset: Any,
    batch_size: int | None = None,
    limit: int | None = None,
    verbose: int = 0,
) -> np.ndarray:
    """Decodes every row of a data set.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        decoder: `tfcap.decoding.Decoder`.
        dataset: As that of `tfcap.training.Evaluator`, such as
            `tfcap.data.DialogBatches` or a `tf.data.Dataset`.
        batch_size: Integer, for data that is not in batches yet. Defaults to
            that of `tfcap.data`'s batches.
        limit: Integer or `None`, number of dialogs or images. Defaults to
            all.
        verbose: 1 for progress, 0 for silence.

    Returns:
        Integer array of shape `(dialogs * R, S, T)`, or `(images, S, T)`.
    """

    @tf.function(reduce_retracing=True, autograph=False)
    def decode(inputs):
        return decoder.decode(speaker, speaker.begin(inputs)).tokens

    parts, rows = [], 0
    progress = keras.utils.Progbar(limit, verbose=verbose, unit_name="row")
    pad = getattr(speaker, "pad", 0)
    for inputs in dataset_inputs(dataset, batch_size, pad):
        inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
        tokens = decode(inputs).numpy()
        size = keras.tree.flatten(inputs)[0].shape[0]
        if limit is not None:
            # Of dialogs, a batch may have more rounds than others.
            tokens = tokens[: (limit - rows) * (len(tokens) // size)]
        parts.append(tokens)
        rows += size
        progress.add(size)
        if limit is not None and rows >= limit:
            break
    return np.concatenate(parts)
