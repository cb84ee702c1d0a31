"""Data sets of batches that are functions of the step."""

import functools

import numpy as np

from tfcap._printed import printed


def step_pipeline(make, steps, fixed=True):
    """Makes a data set of a function's results at each step.

    Elements come in the order of the steps. Two threads compute them a few
    steps ahead. Under a distribution strategy each replica gets a part of
    every batch.

    Args:
        make: Function from a step, an integer, to a structure of NumPy arrays
            whose first axis is the batch. Names and shapes are those of the
            first step, or of step 0 if there are none.
        steps: Range of integers.
        fixed: Boolean, whether all batches have the size of the first. If
            false, the static size is unknown.

    Returns:
        `tf.data.Dataset` with static shapes; on another backend than
        TensorFlow `OrderedBatches`, without `tf.data`.

    Example:

    >>> from tfcap.data.step_pipeline import step_pipeline
    >>> dataset = step_pipeline(lambda step: np.full(2, step), range(3, 5))
    >>> list(dataset.as_numpy_iterator())
    [array([3, 3]), array([4, 4])]
    """
    if not on_tensorflow():
        return stream_pipeline(lambda: map(make, steps), len(steps))
    import tensorflow as tf

    specs = batch_spec(make(steps.start if steps else 0), fixed)
    flat = tf.nest.flatten(specs)

    def fetch(step):
        values = tf.numpy_function(
            lambda s: tf.nest.flatten(make(s)),
            [step],
            [spec.dtype for spec in flat],
        )
        for value, spec in zip(values, flat):
            value.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(specs, values)

    dataset = tf.data.Dataset.range(steps.start, max(steps.stop, 0))
    dataset = dataset.map(fetch, num_parallel_calls=2, deterministic=True)
    return shared_by_rows(dataset.prefetch(4))


def stream_pipeline(read, count, first=None):
    """Makes a data set of what a function yields, batches of any size.

    Args:
        read: Function that returns an iterator of all batches.
        count: Integer, their number.
        first: A batch, whose names and types all have.

    Returns:
        As `step_pipeline()`.
    """
    if not on_tensorflow():
        from tfcap.data.ordered_batches import OrderedBatches

        return OrderedBatches(read, count)
    import tensorflow as tf

    dataset = tf.data.Dataset.from_generator(
        read, output_signature=batch_spec(first)
    )
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
    return shared_by_rows(dataset.prefetch(4))


def on_tensorflow():
    """Returns whether TensorFlow is the backend of Keras."""
    import keras

    return keras.backend.backend() == "tensorflow"


def resumable(dataset, steps_per_epoch, from_step):
    """Lets `tfcap.training.Resume` start a data set at another step.

    Args:
        dataset: Data set of the batches of all epochs.
        steps_per_epoch: Integer.
        from_step: Function from an integer n to the same data set without its
            first n batches, which are not computed.

    Returns:
        The data set, with these two attributes.
    """
    dataset.steps_per_epoch = steps_per_epoch
    dataset.from_step = from_step
    return dataset


def batch_spec(batch, fixed=False):
    """Returns the structure of `tf.TensorSpec` of a batch."""
    import tensorflow as tf

    def spec(values):
        size = len(values) if fixed else None
        return tf.TensorSpec((size, *values.shape[1:]), values.dtype)

    return tf.nest.map_structure(spec, batch)


def shared_by_rows(dataset):
    """Makes each worker read its rows of every batch of a data set."""
    import tensorflow as tf

    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(options)


def check_batch_size(size: int, total: int | None = None, of: str = ""):
    """Rejects a batch size below 1 or above the number of rows.

    Args:
        size: B.
        total: Number of rows; None if the last batch may be smaller.
        of: What the rows are, in the plural.
    """
    if size < 1 or total is not None and size > total:
        there = "" if total is None else f" with {total} {of}"
        raise ValueError(
            "`batch_size` must be at least 1, and make a whole batch. "
            f"Received: batch_size={size}{there}. Choose another one."
        )


def row_pipeline(make, total: int, batch_size):
    """Makes a data set of all rows once, in order.

    Args:
        make: Function from row numbers, an integer array of shape `(B,)`, to
            a structure of NumPy arrays.

    Returns:
        Data set of pairs: what `make` returns, and the row numbers, int32 of
        shape `(B,)`.

    Example:

    >>> from tfcap.data.step_pipeline import row_pipeline
    >>> dataset = row_pipeline(lambda rows: 10 * rows, total=3, batch_size=2)
    >>> list(dataset.as_numpy_iterator())[-1]
    (array([20]), array([2], dtype=int32))
    """
    check_batch_size(batch_size)

    def batch(step):
        start = step * batch_size
        rows = np.arange(start, min(start + batch_size, total))
        return make(rows), rows.astype(np.int32)

    return step_pipeline(batch, range(-(-total // batch_size)), fixed=False)


class StepBatches:
    """Batches that are a function of the global step.

    A subclass has `batch(step)`, a nest of NumPy arrays whose first axis is
    the batch, and `steps_per_epoch`.
    """

    __repr__ = printed

    #: Whether all batches have the same size.
    fixed = True

    def dataset(self, epochs: int = 1, start_step: int = 0):
        """Returns training batches from a global step to the end of the run.

        Args:
            epochs: Integer, epochs of the whole run, including those before
                `start_step`. Defaults to `1`.
            start_step: Integer, first global step. Defaults to `0`.

        Returns:
            `tf.data.Dataset` of batches; on JAX a `keras.utils.PyDataset` of
            them as NumPy arrays, with which `fit()` of another model than
            `JointTraining` needs `shuffle=False`.
        """
        steps = range(start_step, epochs * self.steps_per_epoch)
        return resumable(
            step_pipeline(self.batch, steps, self.fixed),
            self.steps_per_epoch,
            lambda count: self.dataset(epochs, start_step + count),
        )


class RowBatches(StepBatches):
    """Batches of rows, shuffled anew in each epoch.

    A subclass also has `inputs(rows)`, which returns the inputs of some rows.

    Args:
        total: Integer, rows of an epoch.
        batch_size: Integer, B.
        seed: Integer.
        shuffle: Boolean.
        of: String, what the rows are, in the plural.
    """

    def __init__(self, total, batch_size, seed, shuffle, of):
        check_batch_size(batch_size, total, of)
        self.total = total
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        # Kept for two epochs, since steps may be computed out of order.
        self._order = functools.lru_cache(maxsize=2)(self.draw_order)

    @property
    def steps_per_epoch(self):
        """Whole batches in an epoch; the remaining rows are left out."""
        return self.total // self.batch_size

    def evaluation(self, batch_size: int | None = None):
        """Returns all rows once, in order; the last batch may be smaller.

        Args:
            batch_size: Integer. Defaults to that of the training batches.

        Returns:
            Data set of pairs, as from `dataset()`: the dict of inputs, without
            anything random, and the row numbers `(B,)`.
        """
        size = batch_size or self.batch_size
        return row_pipeline(self.inputs, len(self), size)

    def draw_order(self, epoch):
        """Returns the order of the rows in an epoch."""
        if not self.shuffle:
            return np.arange(self.total)
        return self.rng(0, epoch).permutation(self.total)

    def rows(self, step):
        """Returns the rows of the batch of a global step."""
        epoch, index = divmod(int(step), self.steps_per_epoch)
        start = index * self.batch_size
        return self._order(epoch)[start : start + self.batch_size]

    def rng(self, purpose, step):
        """Returns the generator of a purpose, a number, at a step or epoch."""
        return np.random.default_rng([self.seed, purpose, int(step)])
