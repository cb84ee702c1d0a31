"""Batches of a data set of one's own, functions of the epoch."""

import numpy as np

#: Batches of an epoch that are looked at for being the same again.
_COMPARED = 4
_SEED = 1


class DatasetBatches:
    """Feeds a data set of one's own to a model, resumable at any step.

    What `tf.data` shuffles depends on how often it was read before, which no
    program that is started again can know. Here a function makes each epoch
    of its number, so that a run with `tfcap.training.Resume` goes on with the
    batches that an uninterrupted one would have seen, and reads none of the
    epochs before:

    ```
    model.fit(
        batches.dataset(10),
        epochs=10,
        steps_per_epoch=batches.steps_per_epoch,
        callbacks=[tfcap.training.Resume("runs/mine")],
    )
    ```

    Args:
        make: Function from the number of an epoch, an int64 scalar tensor, to
            a `tf.data.Dataset` of its batches. It must make the same batches
            of a number whenever it is called: `shuffle(..., seed=epoch)`, or
            the functions of `tf.random.stateless_*`.
        steps_per_epoch: Integer, batches of an epoch, of which there may be
            more. Defaults to `None`, as many as the data set says there are.

    Raises:
        ValueError: If the length is not known, if an epoch has fewer batches,
            or if the same epoch, made again, has others.

    Example:

    >>> import tensorflow as tf
    >>> rows = tf.data.Dataset.range(6)
    >>> batches = tfcap.data.DatasetBatches(
    ...     lambda epoch: rows.shuffle(6, seed=epoch).batch(2)
    ... )
    >>> whole = [x.tolist() for x in batches.dataset(2).as_numpy_iterator()]
    >>> rest = batches.dataset(2, start_step=4).as_numpy_iterator()
    >>> [x.tolist() for x in rest] == whole[4:]
    True
    """

    def __init__(self, make, steps_per_epoch=None):
        import tensorflow as tf

        self.make = make
        first = make(tf.constant(0, tf.int64))
        known = int(first.cardinality())
        if steps_per_epoch is None and known < 0:
            raise ValueError(
                "`steps_per_epoch` must be given for a data set that does not "
                f"know its length. Received: make(0)={first}. Count its "
                "batches."
            )
        self.steps_per_epoch = known
        if steps_per_epoch is not None:
            self.steps_per_epoch = int(steps_per_epoch)
        if self.steps_per_epoch < 1 or 0 <= known < self.steps_per_epoch:
            raise ValueError(
                "`make` must make at least `steps_per_epoch` batches of an "
                f"epoch, one or more. Received: {known} batches, and "
                f"steps_per_epoch={steps_per_epoch}."
            )
        self._check_same()

    def dataset(self, epochs=1, start_step=0):
        """Training batches from a global step to the end of the last epoch.

        Args:
            epochs: Integer, epochs of the whole run, those before
                `start_step` included. Defaults to `1`.
            start_step: Integer, first global step. Defaults to `0`.

        Returns:
            `tf.data.Dataset`.
        """
        import tensorflow as tf

        steps = self.steps_per_epoch
        first, done = divmod(start_step, steps)

        def rest(epoch):
            # Of the graph of this function alone: the batches are to depend
            # on the epoch, and not on the seed of the program.
            tf.compat.v1.get_default_graph().seed = _SEED
            skipped = tf.where(epoch == first, done, 0)
            batches = self.make(epoch).take(steps)
            return batches.skip(tf.cast(skipped, tf.int64))

        # A set that is made in a function is made anew whenever it is read.
        dataset = tf.data.Dataset.range(first, max(first, epochs))
        dataset = dataset.flat_map(rest)
        count = max(epochs * steps - start_step, 0)
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
        dataset.from_step = lambda step: self.dataset(epochs, start_step + step)
        return dataset

    def _check_same(self):
        """Refuses a function that makes other batches when called again."""
        import tensorflow as tf

        count = min(self.steps_per_epoch, _COMPARED)
        one, other = (
            [
                [np.asarray(part) for part in tf.nest.flatten(batch)]
                for batch in self.dataset().take(count).as_numpy_iterator()
            ]
            for _ in range(2)
        )
        same = all(
            a.shape == b.shape and a.tobytes() == b.tobytes()
            for first, second in zip(one, other)
            for a, b in zip(first, second)
        )
        if not same:
            raise ValueError(
                "`make` must make the same batches of an epoch whenever it is "
                "called. Received: a function whose epoch 0 has others when "
                "it is made again. Shuffle in it with `seed=epoch`, and draw "
                "with `tf.random.stateless_uniform()` and the like."
            )
