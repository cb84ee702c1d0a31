"""The strategy of several workers under which Keras trains."""

import hashlib

import numpy as np
import tensorflow as tf

_POLICY = tf.data.experimental.AutoShardPolicy


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy`, with Keras 3 on top.

    Keras asks a strategy of several workers for two means that TensorFlow's
    cannot give: of a whole batch, a nest of tensors, by which it builds a
    model, and of a scalar to log, along an axis that it has not got. `fit()`
    fails with either, of any model. `reduce()` answers both here, and nothing
    in Keras is changed.

    All workers are given the same data set, of global batches, and each reads
    its rows of every batch. A data set that differs between them, such as one
    that each shuffles its own way, would repeat some examples and leave out
    others, and is refused. So the last batch must have a row for every
    replica, too. A data set whose `auto_shard_policy` is another than `AUTO`
    and `DATA` is taken as it is.

    Make it before anything else of TensorFlow, with `TF_CONFIG` in the
    environment; `tfcap.training.open_strategy()` does.

    Args:
        cluster_resolver: As TensorFlow's. Defaults to `None`, one that reads
            `TF_CONFIG`.
        communication_options: As TensorFlow's.

    Example:

    >>> strategy = tfcap.training.MultiWorkerStrategy()
    >>> strategy.num_replicas_in_sync
    1
    """

    def reduce(self, reduce_op, value, axis):
        if tf.nest.is_nested(value):
            # A batch, of which the shapes are wanted. Its parts may differ in
            # number of rows, and then have no mean.
            return tf.nest.map_structure(self._local, value)
        if axis is not None and self._local(value).shape.rank == 0:
            axis = None
        return super().reduce(reduce_op, value, axis)

    def experimental_distribute_dataset(self, dataset, options=None):
        policy = dataset.options().experimental_distribute.auto_shard_policy
        if policy == _POLICY.AUTO:
            # It would try to share out files, of which some may be longer.
            policy, changed = _POLICY.DATA, tf.data.Options()
            changed.experimental_distribute.auto_shard_policy = policy
            dataset = dataset.with_options(changed)
        if policy == _POLICY.DATA:
            self._check_same(dataset)
        return super().experimental_distribute_dataset(dataset, options)

    def share(self, array):
        """Arrays of all workers, one after the other.

        Args:
            array: 1-D NumPy array of 8-bit integers, of any length.

        Returns:
            1-D NumPy array.
        """

        def part(context):
            first = context.replica_id_in_sync_group % len(local) == 0
            return tf.constant(array if first else array[:0], tf.int32)

        local = self.extended.worker_devices
        parts = self.experimental_distribute_values_from_function(part)
        return self.gather(parts, axis=0).numpy().astype(np.uint8)

    def _local(self, value):
        """Part of a value that the first replica of this worker has."""
        return self.experimental_local_results(value)[0]

    def _check_same(self, dataset):
        """Refuses a data set that another worker has not got."""
        marks = self.share(np.frombuffer(_mark(dataset), np.uint8))
        marks = marks.reshape(-1, hashlib.sha256().digest_size)
        if (marks != marks[0]).any():
            raise ValueError(
                "`dataset` must be the same on all workers: each reads its "
                "rows of every batch. Received: one whose number of batches "
                "or first batch differs from that of another worker. Read "
                "the same files everywhere, in the same order, and shuffle "
                "with the same `seed`; for arrays that `fit()` shuffles, call "
                "`keras.utils.set_random_seed()` first."
            )


def _mark(dataset):
    """Hash that tells a data set from another: its length and first batch."""
    mark = hashlib.sha256(dataset.cardinality().numpy().tobytes())
    for batch in dataset.take(1):
        for part in tf.nest.flatten(batch, expand_composites=True):
            mark.update(tf.io.serialize_tensor(part).numpy())
    return mark.digest()
