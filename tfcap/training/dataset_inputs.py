"""Batches of any data set that Keras takes."""

import sys
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfcap._ops.sequences import dense
from tfcap.decoding import Decoder
from tfcap.training.backends import backend

#: The cardinality of a `tf.data.Dataset` without an end.
_INFINITE = -1


def dataset_pairs(
    dataset: Any, batch_size: int | None = None, pad: int = 0
) -> Iterator[tuple[Any, Any]]:
    """Yields inputs and targets of every batch of a data set, once.

    Args:
        dataset: `tf.data.Dataset`, `keras.utils.PyDataset`, list of batches or
            another iterable of these that can be read again; dict of arrays
            with a leading axis `M`; or an object whose
            `evaluation(batch_size)` yields pairs of inputs and row numbers,
            such as `tfcap.data.CaptionBatches`. Batches are inputs alone, or
            tuples `(x, y)` and `(x, y, sample_weight)`, whose weights are
            ignored.
        batch_size: Integer, for data that is not in batches yet. Defaults to
            `None`: that of `dataset`, or 32 for a dict of arrays.
        pad: Integer, padding of ragged ids. Defaults to `0`. Ragged targets
            are padded with -1, which is ignored.

    Yields:
        Pairs of nests of tensors or arrays with leading axis `B`; targets are
        `None` if there are none.

    Raises:
        TypeError: If `dataset` cannot be read, or only once.
        ValueError: If it is endless, or has batches already and `batch_size`
            is given.
    """
    if hasattr(dataset, "evaluation"):
        return ((x, None) for x, _ in dataset.evaluation(batch_size))
    if isinstance(dataset, dict):
        return ((x, None) for x in _slices(dataset, batch_size or 32))
    if batch_size is not None:
        raise ValueError(
            "`batch_size` must be None for a data set of batches. "
            f"Received: batch_size={batch_size} for a "
            f"{type(dataset).__name__}. Leave it out."
        )

    def filled(batch):
        x, y, _ = keras.utils.unpack_x_y_sample_weight(batch)
        x = keras.tree.map_structure(lambda tensor: dense(tensor, pad), x)
        return x, keras.tree.map_structure(_targets, y)

    return map(filled, _batches(dataset))


def _targets(tensor):
    """Targets of any dtype, ragged ones with -1 in what takes no part."""
    if not hasattr(tensor, "ragged_rank"):
        return tensor
    import tensorflow as tf

    return tf.cast(tensor, tf.int64).to_tensor(default_value=-1)


def is_tf_dataset(x: Any) -> bool:
    """Check whether this is a `tf.data.Dataset`, without TensorFlow, too."""
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(x, tf.data.Dataset)


def _batches(dataset):
    """Iterates over the batches of a data set that has such."""
    endless, kind = False, type(dataset).__name__
    if isinstance(dataset, keras.utils.PyDataset):
        endless = dataset.num_batches is None
    elif is_tf_dataset(dataset):
        endless = int(dataset.cardinality()) == _INFINITE
    elif isinstance(dataset, Iterator) or not isinstance(dataset, Iterable):
        raise TypeError(
            "`dataset` must be a `tf.data.Dataset`, a `keras.utils.PyDataset`, "
            "a list of batches, a dict of arrays or batches of `tfcap.data`, "
            f"which can be read again. Received: dataset={dataset!r}. Put the "
            "batches of an iterator in a list."
        )
    if endless:
        raise ValueError(
            f"`dataset` must be finite. Received: an endless {kind}. Leave out "
            "`repeat()`, add `take(n)`, or set `num_batches` of a `PyDataset`."
        )
    if isinstance(dataset, keras.utils.PyDataset):
        return (dataset[i] for i in range(dataset.num_batches))
    return iter(dataset)


def _slices(arrays, batch_size):
    """Yields dicts of `batch_size` rows of a dict of arrays."""
    count = len(next(iter(arrays.values()), ()))
    for start in range(0, count, batch_size):
        rows = slice(start, start + batch_size)
        yield {name: np.asarray(x[rows]) for name, x in arrays.items()}


def concatenated(parts: Sequence[np.ndarray], fill: float) -> np.ndarray:
    """Concatenates arrays, filled where they differ in other axes."""
    sizes = np.max([part.shape[1:] for part in parts], axis=0, initial=0)
    return np.concatenate(
        [
            np.pad(
                part,
                [(0, 0), *((0, n) for n in sizes - part.shape[1:])],
                constant_values=fill,
            )
            for part in parts
        ]
    )


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
        dataset: As in `tfcap.training.Evaluator`, such as
            `tfcap.data.DialogBatches` or a `tf.data.Dataset`.
        batch_size: Integer, for data that is not in batches yet. Defaults to
            that of `tfcap.data`'s batches.
        limit: Integer, maximum number of dialogs or images. Defaults to
            `None`, all.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        Integer array of shape `(dialogs * R, S, T)`, or `(images, S, T)`.
    """

    def decode(inputs):
        return decoder.decode(speaker, speaker.begin(inputs)).tokens

    decode = backend.graph(decode)
    parts, rows = [], 0
    progress = keras.utils.Progbar(limit, verbose=verbose, unit_name="row")
    pad = getattr(speaker, "pad", 0)
    for inputs, _ in dataset_pairs(dataset, batch_size, pad):
        tokens = np.asarray(decode(inputs))
        size = keras.tree.flatten(inputs)[0].shape[0]
        if limit is not None:
            # Of dialogs, a batch may have more rounds than others.
            tokens = tokens[: (limit - rows) * (len(tokens) // size)]
        parts.append(tokens)
        rows += size
        progress.add(size)
        if limit is not None and rows >= limit:
            break
    return concatenated(parts, pad)
