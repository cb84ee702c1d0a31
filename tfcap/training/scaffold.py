"""Base class of the training models."""

import keras
import numpy as np
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.loops import dense
from tfcap._ops.schedules import schedules_held
from tfcap.layers import WordChannel
from tfcap.training.nonfinite import apply_if_finite
from tfcap.training.nonfinite import check_nonfinite
from tfcap.training.nonfinite import explained
from tfcap.training.refusals import check_callbacks
from tfcap.training.refusals import refusal_to_save
from tfcap.training.resume import run_fit


class Scaffold(keras.Model):
    """A model that trains a speaker and logs means of scalars.

    Args:
        nonfinite: What becomes of a step whose loss, rewards or gradients are
            not finite: `"raise"`, `"skip"` or `"ignore"`.
    """

    def __init__(self, speaker, nonfinite, **kwargs):
        super().__init__(**kwargs)
        # Rewards may compute on the host, or shapes that depend on the data.
        self.supports_jit = False
        self.speaker = speaker
        self.nonfinite = check_nonfinite(nonfinite)

    def track(self, names):
        """Makes the means to log, by name."""
        trackers = {name: keras.metrics.Mean(name=name) for name in names}
        if self.nonfinite == "skip":
            skipped = keras.metrics.Sum(name="skipped_updates")
            trackers[skipped.name] = skipped
        self.trackers = trackers

    @property
    def metrics(self):
        return list(self.trackers.values())

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        *args,
        sample_weight=None,
        class_weight=None,
        **kwargs,
    ):
        """Trains as `keras.Model.fit()`; refuses what no objective reads.

        Targets `y` beside the inputs are left unread: an objective's terms
        find the human words in the batch.

        Raises:
            ValueError: If rows or classes are weighted, or a callback of
                Keras is set as it cannot work.
            NotImplementedError: If a callback would save the whole model.
        """
        _refuse_weights(sample_weight, class_weight)
        if self.compiled:
            ready = isinstance(callbacks, keras.callbacks.CallbackList)
            given = callbacks.callbacks if ready else callbacks
            check_callbacks(self, keras.tree.flatten(given or []))
        return run_fit(
            *(super().fit, x, y, batch_size, epochs, verbose, callbacks),
            *args,
            **kwargs,
        )

    def finalize_weights(self):
        """Gives the optimizer its last word, as at the end of `fit()`."""
        self.optimizer.finalize_variable_values(self.trainable_variables)

    def evaluate(self, *args, sample_weight=None, **kwargs):
        """Evaluates as `keras.Model.evaluate()`; refuses weights as `fit()`."""
        _refuse_weights(sample_weight)
        return super().evaluate(*args, **kwargs)

    def train_on_batch(
        self, x, y=None, sample_weight=None, class_weight=None, **kwargs
    ):
        """Trains as `keras.Model.train_on_batch()`; refuses weights, too."""
        _refuse_weights(sample_weight, class_weight)
        return super().train_on_batch(x, y, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Evaluates as `keras.Model.test_on_batch()`; refuses weights, too."""
        _refuse_weights(sample_weight)
        return super().test_on_batch(x, y, **kwargs)

    def inputs_of(self, data):
        """Inputs of the speaker, of a batch.

        Raises:
            ValueError: If rows are weighted.
        """
        inputs, _, weights = keras.utils.unpack_x_y_sample_weight(data)
        _refuse_weights(weights)
        pad = getattr(self.speaker, "pad", 0)
        return keras.tree.map_structure(lambda x: dense(x, pad), inputs)

    def call(self, inputs, training=False):
        return self.speaker.begin(inputs, training=training)

    def save(self, *_, **__):
        """Refuses: rewards and schedules are functions, which are not saved.

        Raises:
            NotImplementedError: Always, with what to save instead.
        """
        raise refusal_to_save(self, "speaker")

    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return self.train_function
        super().make_train_function(force=True)
        self.train_function = explained(self.train_function, self.optimizer)
        return self.train_function

    def train_step(self, data):
        logs, annealed = self.on_schedule(self.learn, data)
        return {**logs, **annealed}

    def on_schedule(self, learn, data):
        """One step of all schedules; what it computes, and their values."""
        inputs = self.inputs_of(data)
        annealed = self.scheduled_values()
        with schedules_held() as used:
            result = learn(inputs)
        # Once a step, whose turn it is or not.
        parts = used | {id(part): part for part in self.scheduled()}
        for part in parts.values():
            part.next_step()
        return result, annealed

    def learn(self, inputs):
        """One training step."""
        raise NotImplementedError

    def scheduled(self):
        """The word channels that follow a schedule."""
        return [
            layer
            for layer in self.channels
            if isinstance(layer, WordChannel) and layer.step is not None
        ]

    def scheduled_values(self):
        """Values of all schedules at this step, by the names to log."""
        values = {}
        for channel in self.scheduled():
            for name, value in channel.scheduled_values().items():
                unique, count = name, 1
                while unique in values:
                    count += 1
                    unique = f"{name}_{count}"
                values[unique] = value
        return values

    def take(self, steps, causes):
        """Takes steps as `nonfinite` says."""
        finite = apply_if_finite(steps, causes, self.nonfinite)
        if self.nonfinite == "skip":
            skipped = 1.0 - tf.cast(finite, tf.float32)
            # A sum over replicas, all of which skip.
            self.trackers["skipped_updates"].update_state(
                skipped / num_replicas()
            )
        return finite

    def global_rows(self, inputs):
        """Rows of a batch of all replicas, by which an evaluation weighs it."""
        rows = next(x for x in keras.tree.flatten(inputs) if len(x.shape))
        return sum_over_replicas(tf.cast(tf.shape(rows)[0], tf.float32))

    def log(self, values, counts=None, rows=None):
        """Updates the means; returns them and all else that is logged.

        Args:
            values: Dict of scalars by name.
            counts: Scalar boolean tensor of `take()`: whether a step counts.
            rows: Scalar tensor, the weight of a batch in the means. Defaults
                to `None`: batches count alike, as steps do.
        """
        for name, value in values.items():
            tracker = self.trackers.get(name)
            if tracker is None:
                continue
            weight = rows
            if self.nonfinite == "skip" and counts is not None:
                value = tf.where(counts, tf.cast(value, tf.float32), 0.0)
                weight = tf.cast(counts, tf.float32)
            # As above: the count of a mean does not read the value.
            with tf.control_dependencies([tf.convert_to_tensor(value)]):
                tracker.update_state(value, weight)
        results = {name: m.result() for name, m in self.trackers.items()}
        if "skipped_updates" in results:
            # Beside what is annealed, Keras logs the mean over replicas, each
            # of which has its share.
            results["skipped_updates"] *= num_replicas()
        return results


def _refuse_weights(sample_weight=None, class_weight=None):
    """Refuses weights, which no term of an objective reads."""
    remedy = (
        "Weigh terms of the objective, or draw rows as often as they are to "
        "count."
    )
    if sample_weight is not None:
        leaves = keras.tree.flatten(sample_weight)
        shapes = ", ".join(str(np.shape(leaf)) for leaf in leaves)
        raise ValueError(
            "`sample_weight` must be None: the rows of a batch count alike. "
            f"Received: weights of shape {shapes}. {remedy}"
        )
    if class_weight is not None:
        raise ValueError(
            "`class_weight` must be None: an objective has no classes. "
            f"Received: class_weight={class_weight!r}. {remedy}"
        )
