"""What the training models share."""

import keras
import tensorflow as tf

from tfcap.ops import num_replicas
from tfcap.training.nonfinite import apply_if_finite
from tfcap.training.nonfinite import check_nonfinite
from tfcap.training.nonfinite import explained


class Scaffold(keras.Model):
    """A model that trains a speaker and logs means of scalars.

    Args:
        speaker: `tfcap.decoding.Speaker`.
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

    def call(self, inputs, training=False):
        return self.speaker.begin(inputs, training=training)

    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return self.train_function
        super().make_train_function(force=True)
        self.train_function = explained(self.train_function, self.stepping())
        return self.train_function

    def stepping(self):
        """List of the optimizers."""
        raise NotImplementedError

    def take(self, steps, causes):
        """Takes steps as `nonfinite` says.

        Args:
            steps: List of `tfcap.training.update.Step`.
            causes: As of `tfcap.training.nonfinite.apply_if_finite()`.

        Returns:
            Boolean scalar tensor, whether the step counts in what is logged.
        """
        finite = apply_if_finite(steps, causes, self.nonfinite)
        if self.nonfinite == "skip":
            skipped = 1.0 - tf.cast(finite, tf.float32)
            # A sum over replicas, all of which skip.
            self.trackers["skipped_updates"].update_state(
                skipped / num_replicas()
            )
        return finite

    def log(self, values, counts=None):
        """Updates the means; returns them and all else that is logged.

        Args:
            values: Dict of float scalar tensors. What is not tracked is left.
            counts: Boolean scalar tensor, whether the values count.

        Returns:
            Dict of scalar tensors.
        """
        for name, value in values.items():
            tracker = self.trackers.get(name)
            if tracker is None:
                continue
            if self.nonfinite == "skip" and counts is not None:
                value = tf.where(counts, tf.cast(value, tf.float32), 0.0)
                tracker.update_state(value, tf.cast(counts, tf.float32))
            else:
                tracker.update_state(value)
        return {name: m.result() for name, m in self.trackers.items()}
