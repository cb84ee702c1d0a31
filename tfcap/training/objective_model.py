"""The training model of one objective."""

import keras
import tensorflow as tf

from tfcap.objectives import Episode
from tfcap.ops import num_replicas
from tfcap.training.update import built
from tfcap.training.update import update
from tfcap.training.update import weight_penalty


class ObjectiveModel(keras.Model):
    """Trains a speaker, and who plays along, for one objective.

    Only scaffolding: it holds the networks and their optimizer, trains under
    `compile()` and `fit()` with callbacks, `tf.data`, mixed precision and
    `tf.distribute`, and is not itself saved. Save `speaker` instead.

    A network with `trainable = False` is used and left as it is. Penalties
    that layers put on their weights are part of the loss; what a layer adds
    to the loss in its call is not, since an objective calls networks by their
    parts: make it a term.

    Args:
        objective: `tfcap.objectives.Objective`.
        speaker: `tfcap.decoding.Speaker` that is a `keras.Model` or layer,
            built.
        players: Dict of further `keras.Model`s that learn from the objective
            or are read by it, built.
        global_clipnorm: Float or `None`, norm to clip the gradient of the
            global batch to. Prefer it to the optimizer's own argument, which
            clips on each replica.

    Call arguments:
        inputs: Nest of tensors, what the speaker reads.
        training: Boolean.

    Returns:
        The speaker's state, `speaker.begin(inputs)`.

    Example:

    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> speaker = tfcap.models.DialogGenerator(50, encoder, embedding_units=6)
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "answer": np.array([[[5, 2]]]),
    ... }
    >>> _ = speaker(batch)
    >>> model = tfcap.training.ObjectiveModel(
    ...     tfcap.objectives.TeacherForcing(), speaker
    ... )
    >>> model.compile(keras.optimizers.Adam(1e-3))
    >>> sorted(model.train_on_batch(batch, return_dict=True))
    ['loss', 'teacher_forcing']
    """

    def __init__(
        self, objective, speaker, players=None, global_clipnorm=None, **kwargs
    ):
        super().__init__(**kwargs)
        # Rewards may compute on the host, or shapes that depend on the data.
        self.supports_jit = False
        for name, player in {"speaker": speaker, **(players or {})}.items():
            if not getattr(player, "built", False):
                raise ValueError(
                    f"`{name}` must be built. Received: {player!r} without "
                    "weights. Call it on a batch, or `build()` it, first."
                )
        self.objective = objective
        self.speaker = speaker
        self.players = dict(players or {})
        self.global_clipnorm = global_clipnorm
        self.channels = built(objective.layers(), speaker)
        self.trackers = {
            name: keras.metrics.Mean(name=name)
            for name in ("loss", *objective.log_names())
        }
        self.built = True

    @property
    def metrics(self):
        return list(self.trackers.values())

    def call(self, inputs, training=False):
        return self.speaker.begin(inputs, training=training)

    def train_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        with tf.GradientTape() as tape:
            loss, logs = self.objective.loss(
                Episode(self.speaker, inputs, training=True)
            )
            loss = loss + weight_penalty(self.trainable_variables)
            scaled = self.optimizer.scale_loss(loss)
        variables = self.trainable_variables
        gradients = tape.gradient(scaled, variables)
        update(self.optimizer, gradients, variables, self.global_clipnorm)
        return self._log(loss, logs)

    def test_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        loss, logs = self.objective.loss(Episode(self.speaker, inputs))
        loss = loss + weight_penalty(self.trainable_variables)
        return self._log(loss, logs)

    def _log(self, loss, logs):
        # The loss is a share, summed over replicas; a metric averages.
        logs = {"loss": loss * num_replicas(), **logs}
        for name, value in logs.items():
            tracker = self.trackers.get(name)
            if tracker is not None:
                tracker.update_state(value)
        return {name: m.result() for name, m in self.trackers.items()}
