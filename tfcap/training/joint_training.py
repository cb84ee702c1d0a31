"""The training model: one or several networks, each with an objective."""

import contextlib
import math
from collections import UserList
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.replicas import schedules_held
from tfcap._ops.sequences import dense
from tfcap._printed import printed
from tfcap.layers import WordChannel
from tfcap.objectives import ClippedRatio
from tfcap.objectives import Episode
from tfcap.objectives import Objective
from tfcap.training import rollout_updates
from tfcap.training.backends import backend
from tfcap.training.refusals import check_built
from tfcap.training.refusals import check_learner
from tfcap.training.refusals import checked_optimizers
from tfcap.training.refusals import refusal_to_save
from tfcap.training.resume import run_fit


class Learner(NamedTuple):
    """A network to train, and its objective.

    Args:
        network: `keras.Model`, built; its trainable variables are updated.
        objective: `tfcap.objectives.Objective`, for it alone, or the same
            object as another learner's: they then learn from one loss.
        global_clipnorm: Float or `None`, norm to which the gradient of the
            global batch is clipped.
        every: Integer, number of steps between its turns. Defaults to `1`,
            every step.
        offset: Integer in `[0, every)`, the step of its first turn. Defaults
            to `0`.
    """

    __repr__ = printed

    network: Any
    objective: Any
    global_clipnorm: Any = None
    every: int = 1
    offset: int = 0


class Computed(NamedTuple):
    """Losses and logs of learners that share an objective.

    Args:
        names: List of strings, the learners.
        prefix: String, before the names to log.
        losses: Dict of scalars, losses of terms.
        logs: Dict of scalars by the names to log.
        loss: Scalar, their sum with the penalties on the learners' weights.
    """

    names: list
    prefix: str
    losses: dict
    logs: dict
    loss: Any


class Update(NamedTuple):
    """A step that an optimizer is about to take.

    Args:
        gradients: List of tensors, to be summed over replicas.
        variables: List of `keras.Variable`, in the same order.
        size: Float32 scalar, half the squared norm of the gradient, not finite
            where that is not.
    """

    optimizer: Any
    gradients: list
    variables: list
    size: Any


class JointTraining(keras.Model):
    """Trains one or several networks on objectives of generated words.

    All learners share one episode of a batch, so that words are sampled once;
    each takes the gradient of its own objective with respect to its own
    variables; then all take a step. The loss of learners with the same
    objective object is computed and differentiated once.

    It trains under `compile()` and `fit()` with callbacks, `tf.data`, mixed
    precision and `tf.distribute`, and is not itself saved: save its networks.

    `loss` and the rewards are logged by their names, and details of a reward
    below its name, as in `cider_d/std`, which TensorBoard groups. Learners
    with different objectives have groups of their own, as in `speaker/loss`;
    an objective that learners share is logged once.

    Learners may take turns: two that alternate have `every=2` and the offsets
    0 and 1. A learner takes a step when `turn % every == offset`; otherwise
    its objective is not computed. `turn` counts the steps in a variable, so
    that a resumed run continues with the right learner.

    An optimizer with `gradient_accumulation_steps=k` takes a step once in k
    batches, as in Keras, on one device; `global_clipnorm` clips the gradient
    of each. Callbacks find one `optimizer`; for several learners it is a
    `keras.optimizers.MultiOptimizer`, whose `optimizers` have the rates.

    A NaN or infinite loss, reward or gradient raises a `FloatingPointError`
    that names the term or the network, before any weight changes. Statistics
    that layers keep of batches, such as those of a batch normalization, do
    change. A `keras.optimizers.LossScaleOptimizer` handles gradients that
    overflow.

    Networks with `trainable = False` are used without training. Penalties on
    the weights of layers are part of the loss; losses that a layer adds in its
    call are not, since objectives call parts of networks: make them terms. A
    network within an objective, such as a `tfcap.objectives.LearnedBaseline`,
    must be a learner or have `trainable` set to `False`.

    Args:
        speaker: `tfcap.decoding.Speaker` that is a `keras.Model` or layer,
            built.
        learners: Dict of `Learner` by name; or an objective of the speaker
            alone.
        updates_per_rollout: Integer, number of steps on the words of a batch,
            which are sampled and rewarded once; from 2 on, a `clipped_ratio`
            corrects for the change of the speaker. With dropout, every update
            has other masks, so that ratios are never exactly 1. For a speaker
            that learns alone, by `ScoreFunction`, `TeacherForcing` and
            `KLDivergence`. Defaults to `1`.
        clipped_ratio: `tfcap.objectives.ClippedRatio` of sampled words, as in
            PPO, GRPO, DAPO and GSPO, which logs the share of words whose
            gradient is clipped as `clipped_words`. Defaults to `None`:
            `ClippedRatio()` for several updates, none for one.

    Call arguments:
        inputs: Nest of tensors, the speaker's inputs.
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
    >>> forcing = tfcap.objectives.TeacherForcing()
    >>> training = tfcap.training.JointTraining(speaker, forcing)
    >>> training.compile(keras.optimizers.Adam(1e-3))
    >>> sorted(training.train_on_batch(batch, return_dict=True))
    ['loss', 'teacher_forcing']
    """

    def __init__(
        self,
        speaker: Any,
        learners: Mapping[str, Learner] | Objective,
        updates_per_rollout: int = 1,
        clipped_ratio: ClippedRatio | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.supports_jit = backend.COMPILES
        check_built(speaker, "`speaker`")
        if isinstance(learners, Objective):
            learners = {"speaker": Learner(speaker, learners)}
        self.speaker = speaker
        self.learners = dict(learners)
        self.networks = [learner.network for learner in learners.values()]
        for name, learner in learners.items():
            check_learner(name, learner, self.networks)
        groups = self._groups(learners)
        self._prefixes = {
            name: f"{group[0]}/" if len(groups) > 1 else ""
            for group in groups
            for name in group
        }
        self.updates_per_rollout = updates_per_rollout
        self.clipped_ratio = rollout_updates.checked_ratio(self, clipped_ratio)
        layers = {
            id(layer): layer
            for learner in learners.values()
            for layer in learner.objective.layers()
        }
        self.channels = list(layers.values())
        for layer in self.channels:
            # Keras traces a model once more to build it as long as any layer
            # of it is not built.
            if not layer.built:
                layer.build((None, speaker.vocabulary_size))
        names = ["clipped_words"] if self.clipped_ratio else []
        for first, *_ in groups:
            logged = "loss", *self.learners[first].objective.log_names()
            names += [f"{self._prefixes[first]}{name}" for name in logged]
        self.trackers = {name: keras.metrics.Mean(name=name) for name in names}
        # After as many steps it is the same learners' turn again.
        self.period = math.lcm(*(each.every for each in learners.values()))
        turns = [self.playing(turn) for turn in range(self.period)]
        if not all(turns) or {*learners} - {x for turn in turns for x in turn}:
            given = {k: (x.every, x.offset) for k, x in learners.items()}
            raise ValueError(
                "`every` of `learners` must be a positive integer, and "
                "`offset` an integer in [0, every), so that every step has a "
                f"learner. Received: {given}."
            )
        self.now = self.playing(0)
        self.turn = self.add_weight(
            shape=(),
            initializer="zeros",
            dtype="int32",
            trainable=False,
            aggregation="only_first_replica",
            name="turn",
        )
        self.optimizers = []
        self.built = True

    def call(self, inputs, training=False):
        return self.speaker.begin(inputs, training=training)

    def compile(self, optimizer: Any = "rmsprop", **kwargs: Any):
        """Compiles as `keras.Model.compile()`, with an optimizer per learner.

        Args:
            optimizer: Dict of `keras.optimizers.Optimizer`s, or of arguments
                of `keras.optimizers.get()`, by the names of the learners; or
                a single one for one learner.
            **kwargs: As in `keras.Model.compile()`.

        Raises:
            ValueError: If a learner has no optimizer, or an optimizer no
                learner; or if a loss or a metric is given.
        """
        optimizers = checked_optimizers(self, optimizer, kwargs)
        if self.dtype_policy.name == "mixed_float16":
            optimizers = [
                own if scales(own) else keras.optimizers.LossScaleOptimizer(own)
                for own in optimizers
            ]
        # Built here, not in a step, which would be traced twice for it.
        with backend.scope(self):
            for network, own in zip(self.networks, optimizers):
                if not own.built:
                    own.build(network.trainable_variables)
        self.optimizers = optimizers
        super().compile(optimizer=optimizers[0], **kwargs)
        if len(optimizers) > 1:
            trained = [network.trainable_variables for network in self.networks]
            self.optimizer = JointOptimizer(optimizers, trained)

    def optimizer_of(self, name: str) -> keras.optimizers.Optimizer:
        """Returns the optimizer of a learner, by name, after `compile()`."""
        return dict(zip(self.learners, self.optimizers))[name]

    def playing(self, turn: int) -> tuple[str, ...]:
        """Returns the names of the learners that take a step at a turn.

        Args:
            turn: Integer, number of the training step, from 0.

        Returns:
            Tuple of strings.
        """
        return tuple(
            name
            for name, learner in self.learners.items()
            if turn % learner.every == learner.offset
        )

    def fit(self, *args: Any, sample_weight: Any = None, **kwargs: Any):
        """Trains as `keras.Model.fit()`.

        Targets `y` are ignored: terms of an objective find the human words in
        the batch.

        Raises:
            ValueError: If a `sample_weight` is given.
        """
        _refuse_weights(sample_weight)
        return run_fit(super().fit, *args, **kwargs)

    def save(self, *_, **__):
        """Raises an error: save the networks, since functions are not saved.

        Raises:
            NotImplementedError: Always, with what to save instead.
        """
        raise refusal_to_save(self, "speaker")

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = backend.train_function(self)
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = backend.test_function(self)
        return self.test_function

    def train_step(self, *args):
        return backend.train_step(self, *args)

    def test_step(self, *args):
        return backend.test_step(self, *args)

    def forward(self, inputs: Any) -> tuple[list, list]:
        """The words of a step, and the losses of those whose turn it is.

        Returns:
            List of `Computed`; and of each the scalar to differentiate.
        """
        episode = Episode(self.speaker, inputs, training=True)
        computed = self._compute(self.now, episode)
        return computed, [each.loss for each in computed]

    def tested(self, data: Any) -> dict:
        """Logs of a batch that nobody learns from."""
        inputs = self.inputs_of(data)
        episode = Episode(self.speaker, inputs)
        rows = next(x for x in keras.tree.flatten(inputs) if len(x.shape))
        rows = sum_over_replicas(ops.cast(ops.shape(rows)[0], "float32"))
        return self.log(self._compute(self.learners, episode), rows)

    def inputs_of(self, data):
        """Returns the inputs of the speaker in a batch.

        Raises:
            ValueError: If a `sample_weight` is given.
        """
        inputs, _, weights = keras.utils.unpack_x_y_sample_weight(data)
        _refuse_weights(weights)
        pad = getattr(self.speaker, "pad", 0)
        return keras.tree.map_structure(lambda x: dense(x, pad), inputs)

    def scheduled(self) -> list[WordChannel]:
        """The word channels that follow a schedule."""
        return [
            layer
            for layer in self.channels
            if isinstance(layer, WordChannel) and layer.step is not None
        ]

    def scheduled_values(self) -> dict:
        """Returns the values of schedules at this step, by the names to log.

        If several channels have a schedule of one name, the first counts.
        """
        values = {}
        for channel in self.scheduled():
            values = {**channel.scheduled_values(), **values}
        return values

    @contextlib.contextmanager
    def step_of_schedules(self):
        """Opens the context of one step of all schedules.

        Yields:
            Their values, by the names to log.
        """
        annealed = self.scheduled_values()
        with schedules_held() as used:
            yield annealed
        parts = used | {id(part): part for part in self.scheduled()}
        for part in parts.values():
            part.next_step()

    def not_finite(self, found: str) -> FloatingPointError:
        """The error of a step in which something is not finite."""
        done = int(ops.convert_to_numpy(self.optimizer.iterations))
        return FloatingPointError(
            "Losses, rewards and gradients must be finite. Received: "
            f"{found}, after {done} updates. The weights are those of the "
            "last update. See what is named, lower the learning rate, or clip "
            "the gradient with `global_clipnorm`. A reward function that fails "
            "may return `None` for a caption, to abstain."
        )

    def _groups(self, names):
        """Returns lists of the learners that share an objective."""
        groups = {}
        for name in names:
            key = id(self.learners[name].objective)
            groups.setdefault(key, []).append(name)
        return list(groups.values())

    def _slopes(self, names):
        """Lists of the learners whose gradients are taken together."""
        if any(scales(self.optimizer_of(name)) for name in names):
            # Each by a factor of its own.
            return [[name] for name in names]
        return [names]

    def asks_once(self) -> bool:
        """Check whether a step takes one gradient."""
        groups = self._groups(self.now)
        return len(groups) == 1 and len(self._slopes(groups[0])) == 1

    def _compute(self, names, episode):
        """Computes the objectives of learners, each once."""
        computed = []
        for group in self._groups(names):
            losses, logs = self.learners[group[0]].objective.losses(episode)
            computed.append(self.computed(group, losses, logs))
        return computed

    def computed(self, names, losses, logs):
        """Returns losses and logs of learners that share an objective."""
        loss = sum(losses.values(), 0.0)
        for name in names:
            network = self.learners[name].network
            loss += weight_penalty(network.trainable_variables)
        prefix = self._prefixes[names[0]]
        return Computed(names, prefix, losses, logs, loss)

    def update(self, slopes_of: Callable, computed: list) -> Any:
        """Steps the learners, all of them or none.

        Args:
            slopes_of: Callable from the index of a loss, what to scale its
                gradient by, and lists of variables to lists of gradients.
            computed: List of `Computed`.

        Returns:
            What the backend's `apply_if_finite()` does.
        """
        updates = {}
        for index, each in enumerate(computed):
            for names in self._slopes(each.names):
                learners = [self.learners[name] for name in names]
                own = [x.network.trainable_variables for x in learners]
                one = ops.ones((), each.loss.dtype)
                scale = self.optimizer_of(names[0]).scale_loss(one)
                slopes = slopes_of(index, scale, own)
                for name, learner, *step in zip(names, learners, slopes, own):
                    updates[name] = update_of(
                        self.optimizer_of(name), *step, learner.global_clipnorm
                    )
        causes = self._causes(computed, updates)
        return backend.apply_if_finite(self, [*updates.values()], causes)

    def _causes(self, computed, updates):
        """Returns values that must be finite, by their names, causes first."""
        rewards, terms, totals = {}, {}, {}
        for names, prefix, losses, logs, loss in computed:
            for name in self.learners[names[0]].objective.reward_names():
                if name in logs:
                    rewards[f"`{prefix}{name}`"] = logs[name]
            for name, value in losses.items():
                terms[f"the loss of `{prefix}{name}`"] = value
            totals[f"`{prefix}loss`"] = loss
        sizes = {
            f"the gradient of `{name}`": update.size
            for name, update in updates.items()
        }
        return rewards, terms, totals, sizes

    def log(self, computed, weight=None):
        """Updates the means; returns them and all else that is logged.

        Args:
            computed: List of `Computed`.
            weight: Scalar tensor, of this batch in the means. Defaults to
                `None`: batches have equal weight.
        """
        values = {}
        for each in computed:
            # The loss is a share, summed over replicas; a metric averages.
            logs = {"loss": each.loss * num_replicas(), **each.logs}
            values |= {f"{each.prefix}{k}": v for k, v in logs.items()}
        for name, value in values.items():
            if name in self.trackers:
                with backend.after(value):
                    self.trackers[name].update_state(value, weight)
        return {name: m.result() for name, m in self.trackers.items()}

    @property
    def metrics(self):
        return list(self.trackers.values())


def _refuse_weights(weights):
    """Rejects weights of rows, which objectives do not have."""
    if weights is not None:
        raise ValueError(
            "`sample_weight` must be None: all rows of a batch have equal "
            f"weight. Received: sample_weight of type {type(weights).__name__}."
            " Weight terms of the objective, or repeat rows in the data."
        )


def scales(optimizer: keras.optimizers.Optimizer) -> bool:
    """Returns whether an optimizer scales the loss by itself."""
    dynamic = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return dynamic or optimizer.loss_scale_factor is not None


def update_of(
    optimizer: keras.optimizers.Optimizer,
    gradients: list,
    variables: list,
    global_clipnorm: float | None = None,
) -> Update:
    """Prepares an optimizer's step with the gradient of the global batch.

    Keras clips the gradient of every replica before the sum, unlike on one
    device; here the sum is clipped.

    Args:
        optimizer: `keras.optimizers.Optimizer`, built.
        gradients: List of tensors or `None`, of `optimizer.scale_loss(loss)`,
            that were taken of a replica's share of the loss.
        variables: List of `keras.Variable`, in the same order.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
    """
    if all(gradient is None for gradient in gradients):
        raise ValueError(
            "The objective must have a gradient. Received: no gradient for "
            f"any of {len(variables)} trainable variables. Check that the "
            "objective's decoder and reward depend on the network, and that "
            "the network is not frozen."
        )
    shares = [backend.filled(*pair) for pair in zip(gradients, variables)]
    clips, scaled = global_clipnorm is not None, scales(optimizer)
    # All replicas must see the same gradient, to clip it or to decide that
    # the loss was scaled too much.
    whole = num_replicas() > 1 and (clips or scaled)
    if whole:
        shares = [sum_over_replicas(gradient) for gradient in shares]
    size = backend.half_square(shares)
    scale = ops.cast(optimizer.scale_loss(1.0), "float32")
    if clips:
        limit = global_clipnorm * scale
        factor = limit / ops.maximum(ops.sqrt(2.0 * size), limit)
        shares = [g * ops.cast(factor, g.dtype) for g in shares]
    if whole:
        # Keras sums over replicas.
        shares = [g / ops.cast(num_replicas(), g.dtype) for g in shares]
    if hasattr(optimizer, "dynamic_scale"):
        # It skips the step itself, and scales the next loss by less.
        size = ops.where(scale > 1.0, 0.0, size)
    return Update(optimizer, shares, variables, size)


def weight_penalty(variables: list) -> Any:
    """This replica's share of the penalties on the weights of layers."""
    penalties = [
        ops.cast(variable.regularizer(variable.value), "float32")
        for variable in variables
        if getattr(variable, "regularizer", None) is not None
    ]
    return sum(penalties) / num_replicas() if penalties else 0.0


class JointOptimizer(keras.optimizers.MultiOptimizer):
    """The optimizers of several learners as one, for callbacks.

    It takes no steps: the model calls each of them.

    Args:
        optimizers: List of `keras.optimizers.Optimizer`s, all built.
        variables: List of lists of the variables of each.

    Attributes:
        optimizers: Sequence of the optimizers, without loss scaling.
        iterations: Largest number of steps of a learner.
    """

    def __init__(self, optimizers, variables):
        super().__init__(None)
        # No lists, of which Keras would save every entry, as the model's.
        self._whole, self._trained = UserList(optimizers), UserList(variables)
        self.built = True

    @property
    def optimizers(self):
        return [getattr(o, "inner_optimizer", o) for o in self._whole]

    @property
    def variables(self):
        return [v for optimizer in self._whole for v in optimizer.variables]

    @property
    def iterations(self):
        counts = [optimizer.iterations for optimizer in self.optimizers]
        return max(counts, key=lambda n: int(keras.ops.convert_to_numpy(n)))

    def finalize_variable_values(self, var_list):
        for optimizer, trained in zip(self.optimizers, self._trained):
            optimizer.finalize_variable_values(trained)

    def save_own_variables(self, store):
        """Saves nothing: the optimizers are the model's, which saves them."""

    def load_own_variables(self, store):
        """Loads nothing, see `save_own_variables()`."""


@keras.saving.register_keras_serializable(package="tfcap")
class ClippedAdam(keras.optimizers.Adam):
    """Adam whose `global_clipnorm` is over all replicas.

    Keras clips the gradient of each replica before the sum, unlike on one
    device. Use it for other Keras models; `tfcap.training.JointTraining`
    clips by itself. On one device it is identical to Keras' optimizer.

    Args:
        *args, **kwargs: As `keras.optimizers.Adam`.

    Example:

    >>> optimizer = tfcap.training.ClippedAdam(1e-3, global_clipnorm=5.0)
    >>> optimizer.global_clipnorm
    5.0
    """

    def apply(self, grads, trainable_variables=None):
        replicas = num_replicas()
        if self.global_clipnorm and replicas > 1:
            whole = [sum_over_replicas(backend.filled(g)) for g in grads]
            norm = ops.sqrt(2.0 * backend.half_square(whole))
            share = self.global_clipnorm / replicas
            # They are summed once more, and are too small to be clipped.
            factor = share / ops.maximum(norm, self.global_clipnorm)
            grads = [g * ops.cast(factor, g.dtype) for g in whole]
        super().apply(grads, trainable_variables)
