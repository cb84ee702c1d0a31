"""The training model of several players, each with an objective."""

from typing import Any
from typing import NamedTuple

import keras
import tensorflow as tf

from tfcap.objectives import Episode
from tfcap.ops import num_replicas
from tfcap.training.update import built
from tfcap.training.update import update
from tfcap.training.update import weight_penalty


class Player(NamedTuple):
    """Who learns what, and how.

    Args:
        network: `keras.Model`, built; its trainable variables are updated.
        objective: `tfcap.objectives.Objective`, for it alone.
        optimizer: `keras.optimizers.Optimizer`, of its own.
        global_clipnorm: Float or `None`.
    """

    network: Any
    objective: Any
    optimizer: Any
    global_clipnorm: Any = None


class Game(keras.Model):
    """Trains several networks against or for each other.

    On every batch all players see one episode, so what was said is said once;
    each takes the gradient of its own objective for its own variables; then
    all step.

    Args:
        speaker: `tfcap.decoding.Speaker`, built.
        players: Dict of `Player` by name.

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
    >>> player = tfcap.training.Player(
    ...     speaker,
    ...     tfcap.objectives.TeacherForcing(),
    ...     keras.optimizers.Adam(1e-3),
    ... )
    >>> game = tfcap.training.Game(speaker, {"speaker": player})
    >>> game.compile()
    >>> [metric.name for metric in game.metrics]
    ['speaker_loss', 'speaker_teacher_forcing']
    """

    def __init__(self, speaker, players, **kwargs):
        super().__init__(**kwargs)
        # Rewards may compute on the host, or shapes that depend on the data.
        self.supports_jit = False
        self.speaker = speaker
        self.players = dict(players)
        self.networks = [player.network for player in players.values()]
        names, channels = [], {}
        for name, player in self.players.items():
            if not player.network.built:
                raise ValueError(
                    f"Player `{name}` must be built. Received: a network "
                    "without weights. Call it on a batch first."
                )
            # Built here: an optimizer that is built inside a replica fails.
            player.optimizer.build(player.network.trainable_variables)
            channels |= {id(c): c for c in player.objective.layers()}
            logged = "loss", *player.objective.log_names()
            names += [f"{name}_{key}" for key in logged]
        self.channels = built(channels.values(), speaker)
        self.optimizers = [p.optimizer for p in self.players.values()]
        self.trackers = {n: keras.metrics.Mean(name=n) for n in names}
        self.built = True

    @property
    def metrics(self):
        return list(self.trackers.values())

    def compile(self, **kwargs):
        """As `keras.Model.compile()`; the players bring their optimizers."""
        super().compile(optimizer=None, **kwargs)

    def call(self, inputs, training=False):
        return self.speaker.begin(inputs, training=training)

    def train_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        losses, scaled, logs = {}, {}, {}
        with tf.GradientTape(persistent=True) as tape:
            episode = Episode(self.speaker, inputs, training=True)
            for name, player in self.players.items():
                losses[name], logs[name] = _loss(player, episode)
                scaled[name] = player.optimizer.scale_loss(losses[name])
        gradients = {
            name: tape.gradient(
                scaled[name], player.network.trainable_variables
            )
            for name, player in self.players.items()
        }
        for name, player in self.players.items():
            update(
                player.optimizer,
                gradients[name],
                player.network.trainable_variables,
                player.global_clipnorm,
            )
        return self._log(losses, logs)

    def test_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        episode = Episode(self.speaker, inputs)
        losses, logs = {}, {}
        for name, player in self.players.items():
            losses[name], logs[name] = _loss(player, episode)
        return self._log(losses, logs)

    def _log(self, losses, logs):
        for name, loss in losses.items():
            values = {"loss": loss * num_replicas(), **logs[name]}
            for key, value in values.items():
                tracker = self.trackers.get(f"{name}_{key}")
                if tracker is not None:
                    tracker.update_state(value)
        return {name: m.result() for name, m in self.trackers.items()}


def _loss(player, episode):
    loss, logs = player.objective.loss(episode)
    return loss + weight_penalty(player.network.trainable_variables), logs
