"""The training step on TensorFlow: a tape, and replicas of a strategy."""

import functools
import hashlib
import os
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap.training import rollout_updates

#: Rewards may compute on the host, or shapes that depend on the data.
COMPILES = False
_FOUND = "tfcap: not finite: "
_END = " (end)"
_POLICY = tf.data.experimental.AutoShardPolicy


def scope(model: keras.Model):
    """Context in which variables of a model are made."""
    return model.distribute_strategy.scope()


def metric_parts(model: keras.Model) -> list:
    """Variables of the metrics, each as those of this worker's replicas."""
    local = model.distribute_strategy.experimental_local_results
    return [local(variable.value) for variable in model.metrics_variables]


def endless(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same data set, whose length Keras does not know."""
    return dataset.filter(lambda *_: True)


def after(value: Any):
    """Context of what must not be computed without a value.

    The count of a mean does not read the value: it would count the step by
    which a data set of unknown length ends, too.
    """
    return tf.control_dependencies([tf.convert_to_tensor(value)])


def filled(gradient: Any, variable: Any = None) -> Any:
    """A gradient as a tensor, of zeros where it is `None`."""
    if gradient is None:
        return tf.zeros(variable.shape, variable.dtype)
    return tf.convert_to_tensor(gradient)


def half_square(gradients: list) -> Any:
    """Half the squared norm of a list of tensors, a float32 scalar."""
    return tf.add_n([tf.nn.l2_loss(tf.cast(g, tf.float32)) for g in gradients])


def graph(function: Callable) -> Callable:
    """Compiles a function of a nest of arrays that reads networks.

    Batches may be of any number of rows.
    """
    compiled = tf.function(function, reduce_retracing=True, autograph=False)
    first = True

    def call(inputs):
        nonlocal first
        inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
        if first:
            # The last batch may be smaller.
            compiled.get_concrete_function(
                keras.tree.map_structure(_any_rows, inputs)
            )
            first = False
        return compiled(inputs)

    return call


def _any_rows(tensor):
    """Signature of a tensor whose rows may be of any number."""
    shape = [None, *tensor.shape[1:]] if tensor.shape.rank else []
    return tf.TensorSpec(shape, tensor.dtype)


def train_step(model: keras.Model, data: Any) -> dict:
    """Takes a step: words, the losses of them, gradients, updates."""
    inputs = model.inputs_of(data)
    with model.step_of_schedules() as annealed:
        logs = _take_step(model, model.forward, inputs)
    return {**logs, **annealed}


def _take_step(model, forward, inputs):
    # Of a tape that may be asked again, loops trace gradients of gradients.
    with tf.GradientTape(persistent=not model.asks_once()) as tape:
        computed, losses = forward(inputs)

    def slopes_of(index, scale, variables):
        return tape.gradient(losses[index], variables, output_gradients=scale)

    model.update(slopes_of, computed)
    return model.log(computed)


def test_step(model: keras.Model, data: Any) -> dict:
    return model.tested(data)


def apply_if_finite(model: keras.Model, updates: list, causes: tuple) -> None:
    """Takes the steps of all optimizers, or raises before any of them.

    Every replica decides the same, from the sum of what they found.

    Args:
        updates: List of `Update`.
        causes: Dicts of float scalar tensors, by what to call them. Of what
            is not finite, the first dict with any of it is named.
    """
    values = {name: v for cause in causes for name, v in cause.items()}
    ranks = [rank for rank, cause in enumerate(causes) for _ in cause]
    found = tf.stack([tf.cast(v, tf.float32) for v in values.values()])
    found = sum_over_replicas(found) / num_replicas()
    text = _FOUND + _names(found, list(values), ranks) + _END
    finite = tf.reduce_all(tf.math.is_finite(found))
    with tf.control_dependencies([tf.debugging.Assert(finite, [text])]):
        for update in updates:
            gradients = [tf.identity(each) for each in update.gradients]
            update.optimizer.apply(gradients, update.variables)


def _names(values, names, ranks):
    """String tensor that tells which values are not finite."""
    bad = tf.logical_not(tf.math.is_finite(values))
    first = tf.reduce_min(tf.boolean_mask(ranks, bad))
    texts = tf.strings.join([names, tf.strings.as_string(values)], " is ")
    shown = tf.logical_and(bad, tf.equal(ranks, first))
    return tf.strings.reduce_join(tf.boolean_mask(texts, shown), separator=", ")


def train_function(model: keras.Model) -> Callable:
    """The train function of Keras, which tells what is not finite."""
    if model.clipped_ratio:
        train = _several_updates(model)
    elif model.period > 1:
        train = _in_turns(model)
    else:
        train = _of_keras(model)

    @functools.wraps(train)
    def run(*args):
        try:
            return train(*args)
        except tf.errors.InvalidArgumentError as error:
            _, marker, rest = error.message.partition(_FOUND)
            if not marker:
                raise
        raise model.not_finite(rest.partition(_END)[0])

    return run


def _of_keras(model):
    keras.Model.make_train_function(model, force=True)
    return model.train_function


def test_function(model: keras.Model) -> Callable:
    """The test function of Keras."""
    keras.Model.make_test_function(model, force=True)
    return model.test_function


def _in_turns(model):
    """A train function that knows whose turn it is.

    It has one graph for each set of learners rather than one with branches:
    what a branch leaves out cannot be gathered across replicas.
    """
    turns = {model.playing(turn) for turn in range(model.period)}
    graphs = {names: _of_keras(model) for names in turns}

    def take_turn(iterator):
        turn = int(keras.ops.convert_to_numpy(model.turn))
        model.now = model.playing(turn)
        logs = graphs[model.now](iterator)
        model.turn.assign(turn + 1)
        return logs

    return take_turn


def by_scores(function: Callable) -> tuple[Any, list]:
    """Differentiates losses by the scores of words that they read.

    Args:
        function: Callable that returns two losses, and a nest of tensors. It
            is given a callable, by which it passes every scores it reads.

    Returns:
        The nest; and of all scores in their order the pair of gradients, of
        each loss, `None` where it does not depend on them.
    """
    seen = []
    # Weights are not watched: nothing of the pass is kept.
    with tf.GradientTape(
        persistent=True, watch_accessed_variables=False
    ) as tape:

        def watch(scores):
            seen.append(tf.identity(scores))
            tape.watch(seen[-1])
            return seen[-1]

        losses, found = function(watch)
    return found, [*zip(*(tape.gradient(loss, seen) for loss in losses))]


def _several_updates(model):
    """A train function that draws once and updates several times."""
    strategy = model.distribute_strategy

    def draw_step(data):
        inputs = model.inputs_of(data)
        with model.step_of_schedules() as annealed:
            return rollout_updates.draw(model, inputs, by_scores), annealed

    def update_step(drawn, annealed):
        forward = functools.partial(rollout_updates.forward, model)
        return {**_take_step(model, forward, drawn), **annealed}

    def draw_all(data):
        return strategy.run(draw_step, args=(data,))

    def update_all(*drawn):
        logs = strategy.run(update_step, args=drawn)
        return {k: strategy.reduce("MEAN", v, None) for k, v in logs.items()}

    if not model.run_eagerly:
        options = {"reduce_retracing": True, "autograph": False}
        draw_all = tf.function(draw_all, **options)
        update_all = tf.function(update_all, **options)

    def train(iterator):
        # Keras hands on what is None as an optional value.
        data = keras.tree.map_structure(
            lambda x: None if isinstance(x, tf.experimental.Optional) else x,
            next(iterator),
        )
        drawn = draw_all(data)
        for _ in range(model.updates_per_rollout):
            logs = update_all(*drawn)
        return logs

    return train


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy` for Keras 3.

    Keras asks a strategy of several workers for two means that TensorFlow's
    cannot give: of a whole batch, a nest of tensors, by which it builds a
    model, and of a scalar to log, along an axis that it has not got. `fit()`
    fails with either, of any model. `reduce()` answers both here, and nothing
    in Keras is changed.

    All workers are given the same data set, of global batches, and each reads
    its rows of every batch. A data set that differs between them, such as one
    that each shuffles its own way, would repeat some examples and leave out
    others, and is rejected. So the last batch must have a row for every
    replica, too. A data set whose `auto_shard_policy` is another than `AUTO`
    and `DATA` is taken as it is.
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
        """Rejects a data set that another worker has not got."""
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


def open_strategy(cluster_resolver: Any = None) -> tf.distribute.Strategy:
    if cluster_resolver or os.environ.get("TF_CONFIG"):
        return MultiWorkerStrategy(cluster_resolver)
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def strategy_of(model: Any = None) -> Any:
    """The strategy of a model, or of the scope."""
    own = getattr(model, "distribute_strategy", None)
    return own or tf.distribute.get_strategy()


def _mark(dataset):
    """Hash that tells a data set from another: its length and first batch."""
    mark = hashlib.sha256(dataset.cardinality().numpy().tobytes())
    for batch in dataset.take(1):
        for part in tf.nest.flatten(batch, expand_composites=True):
            mark.update(tf.io.serialize_tensor(part).numpy())
    return mark.digest()
