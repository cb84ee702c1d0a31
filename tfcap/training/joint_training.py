"""The training model of several learners, each with an objective."""

import math
from typing import Any
from typing import NamedTuple

import keras
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap.objectives import Episode
from tfcap.training.joint_optimizer import JointOptimizer
from tfcap.training.nonfinite import what_was_computed
from tfcap.training.refusals import check_built
from tfcap.training.refusals import check_clipnorm
from tfcap.training.refusals import check_compile
from tfcap.training.scaffold import Scaffold
from tfcap.training.update import build_optimizer
from tfcap.training.update import built
from tfcap.training.update import optimizers_by_name
from tfcap.training.update import prepare
from tfcap.training.update import weight_penalty


class Learner(NamedTuple):
    """A network that learns, and its objective.

    Args:
        network: `keras.Model`, built; its trainable variables are updated.
        objective: `tfcap.objectives.Objective`, for it alone, or the same
            object as another learner's: the two then learn from one loss.
        global_clipnorm: Float or `None`, norm to clip its gradient to.
        every: Integer, steps from one turn of this learner to its next.
            Defaults to `1`, all steps.
        offset: Integer in `[0, every)`, the step of its first turn. Defaults
            to `0`.
    """

    network: Any
    objective: Any
    global_clipnorm: Any = None
    every: int = 1
    offset: int = 0


class JointTraining(Scaffold):
    """Trains several networks against or for each other.

    On every batch all learners see one episode, so what was said is said once;
    each takes the gradient of its own objective for its own variables; then
    all step. Learners that were given one objective object share its loss,
    which is computed, and differentiated, once.

    Learners may take turns: two that alternate have `every=2` and the offsets
    0 and 1. A learner steps when `turn % every == offset`; otherwise its
    objective is not computed. `turn` counts the steps, and is among the
    variables, so that a run that is resumed from a checkpoint goes on with
    whose turn it was.

    Callbacks find one `optimizer`, a `keras.optimizers.MultiOptimizer`. Those
    of Keras go through its `optimizers`, and log rates by the names of these,
    such as `Adam(name="speaker")`. To others, `optimizer.learning_rate` is
    that of the first learner, and to set it scales the rates of all learners by
    one factor. `optimizer_of(name)` has a rate of its own.

    An optimizer with `gradient_accumulation_steps=k` steps once in k turns of
    its learner, see `tfcap.training.ObjectiveModel`.

    What an objective holds that learns, such as a
    `tfcap.objectives.LearnedBaseline`, must be a learner's or have `trainable`
    set to `False`: nobody else would step it.

    Args:
        speaker: `tfcap.decoding.Speaker`, built.
        learners: Dict of `Learner` by name.
        nonfinite: What becomes of a step in which the loss, a reward or the
            gradient of any learner is NaN or infinite; see
            `tfcap.training.ObjectiveModel`. Then no learner steps. Defaults to
            `"raise"`.

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
    >>> learner = tfcap.training.Learner(speaker, forcing)
    >>> game = tfcap.training.JointTraining(speaker, {"speaker": learner})
    >>> game.compile({"speaker": keras.optimizers.Adam(1e-3)})
    >>> [metric.name for metric in game.metrics]
    ['speaker_loss', 'speaker_teacher_forcing']
    """

    def __init__(self, speaker, learners, nonfinite="raise", **kwargs):
        super().__init__(speaker, nonfinite, **kwargs)
        self.learners = dict(learners)
        self.networks = [learner.network for learner in learners.values()]
        names, channels = [], {}
        for name, learner in self.learners.items():
            _check(name, learner)
            channels |= {id(c): c for c in learner.objective.layers()}
            _check_learners(name, learner, self.networks)
            logged = "loss", *learner.objective.log_names()
            names += [f"{name}_{key}" for key in logged]
        self.channels = built(channels.values(), speaker)
        self.optimizers = []
        self.track(names)
        self.turn = self.add_weight(
            shape=(),
            initializer="zeros",
            dtype="int32",
            trainable=False,
            aggregation="only_first_replica",
            name="turn",
        )
        # After as many steps it is the same learners' turn again.
        self.period = math.lcm(*(p.every for p in self.learners.values()))
        for turn in range(self.period):
            if not self.playing(turn):
                raise ValueError(
                    "At least one learner must step at every turn. Received: "
                    f"none at turn {turn} of {self.period}. See `every` and "
                    "`offset` of the learners."
                )
        self._now = self.playing(0)
        self.built = True

    def compile(self, optimizer=None, **kwargs):
        """Compiles as `keras.Model.compile()`, with an optimizer per learner.

        Args:
            optimizer: Dict of `keras.optimizers.Optimizer`s, or of what
                `keras.optimizers.get()` takes, by the names of the learners;
                a single one where one learner learns.
            **kwargs: As those of `keras.Model.compile()`.

        Raises:
            ValueError: If a learner has no optimizer, or an optimizer no
                learner; if there is a loss or a metric, which are the
                learners'.
        """
        optimizers = optimizers_by_name(optimizer, self.learners)
        if self.period > 1 and kwargs.get("steps_per_execution", 1) != 1:
            raise ValueError(
                "`steps_per_execution` must be 1 where learners take turns. "
                f"Received: {kwargs['steps_per_execution']}."
            )
        check_compile(self.distribute_strategy, optimizers.values(), kwargs)
        for name, learner in self.learners.items():
            check_clipnorm(optimizers[name], learner.global_clipnorm)
            # Built here: an optimizer that is built inside a replica fails.
            build_optimizer(name, optimizers[name], learner.network)
        self.optimizers = list(optimizers.values())
        super().compile(optimizer=None, **kwargs)
        self.optimizer = JointOptimizer(optimizers)

    def optimizer_of(self, name):
        """The optimizer of a learner, by name, after `compile()`."""
        return dict(zip(self.learners, self.optimizers))[name]

    def playing(self, turn):
        """Names of the learners that step at a turn.

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

    def make_train_function(self, force=False):
        if self.period == 1:
            return super().make_train_function(force)
        if self.train_function is not None and not force:
            return self.train_function
        # One graph for each set of learners rather than one with branches:
        # what a branch leaves out cannot be gathered across replicas.
        graphs = {}
        for turn in range(self.period):
            if self.playing(turn) not in graphs:
                super().make_train_function(force=True)
                graphs[self.playing(turn)] = self.train_function

        def take_turn(iterator):
            turn = int(keras.ops.convert_to_numpy(self.turn))
            self._now = self.playing(turn)
            logs = graphs[self._now](iterator)
            self.turn.assign(turn + 1)
            return logs

        self.train_function = take_turn
        return self.train_function

    def learn(self, inputs):
        learners = {name: self.learners[name] for name in self._now}
        with tf.GradientTape(persistent=True) as tape:
            episode = Episode(self.speaker, inputs, training=True)
            losses, penalties, logs = _losses(learners, episode)
            totals = self._totals(learners, losses, penalties)
        steps = {}
        for names, total in totals.items():
            variables = [learners[n].network.trainable_variables for n in names]
            slopes = tape.gradient(total, variables)
            for name, own, gradients in zip(names, variables, slopes):
                learner = learners[name]
                steps[name] = prepare(
                    self.optimizer_of(name),
                    gradients,
                    own,
                    learner.global_clipnorm,
                )
        counts = self.take(
            list(steps.values()),
            _causes(learners, losses, penalties, logs, steps),
        )
        return self._log(losses, penalties, logs, counts)

    def test_step(self, data):
        inputs = self.inputs_of(data)
        episode = Episode(self.speaker, inputs)
        parts = _losses(self.learners, episode)
        return self._log(*parts, rows=self.global_rows(inputs))

    def _totals(self, learners, losses, penalties):
        """Losses to differentiate, by names of the learners they are for."""
        groups = {}
        for name, learner in learners.items():
            one = 1.0
            scales = self.optimizer_of(name).scale_loss(one) is not one
            # Optimizers that scale the loss may do it by different factors.
            key = name if scales else id(learner.objective)
            groups.setdefault(key, []).append(name)
        totals = {}
        for names in groups.values():
            total = _total(losses[names[0]]) + sum(
                penalties[name] for name in names
            )
            scale = self.optimizer_of(names[0]).scale_loss
            totals[tuple(names)] = scale(total)
        return totals

    def _log(self, losses, penalties, logs, counts=None, rows=None):
        values = {}
        for name, terms in losses.items():
            loss = (_total(terms) + penalties[name]) * num_replicas()
            for key, value in {"loss": loss, **logs[name]}.items():
                values[f"{name}_{key}"] = value
        return self.log(values, counts, rows)


def _total(losses):
    return sum(losses.values(), 0.0)


def _losses(learners, episode):
    """Losses of terms, weight penalties and logs of learners, by name."""
    computed, losses, penalties, logs = {}, {}, {}, {}
    for name, learner in learners.items():
        objective = learner.objective
        if id(objective) not in computed:
            computed[id(objective)] = objective.losses(episode)
        losses[name], logs[name] = computed[id(objective)]
        penalties[name] = weight_penalty(learner.network.trainable_variables)
    return losses, penalties, logs


def _causes(learners, losses, penalties, logs, steps):
    """Reasons to refuse a step, by what to call them; causes first."""
    rewards, terms, totals, slopes = {}, {}, {}, {}
    for name, learner in learners.items():
        own = what_was_computed(
            learner.objective, losses[name], logs[name], f"{name}_"
        )
        rewards |= own[0]
        terms |= own[1]
        totals[f"the loss of `{name}`"] = _total(losses[name]) + penalties[name]
        slopes[f"the gradient of `{name}`"] = tf.add_n(steps[name].sizes)
    return rewards, terms, totals, slopes


def _check(name, learner):
    check_built(learner.network, f"Learner `{name}`")
    whole = isinstance(learner.every, int) and isinstance(learner.offset, int)
    if (
        not whole
        or learner.every < 1
        or not 0 <= learner.offset < learner.every
    ):
        raise ValueError(
            f"Learner `{name}` must have a positive integer `every` and an "
            "`offset` in [0, every). Received: "
            f"every={learner.every}, offset={learner.offset}."
        )


def _check_learners(name, learner, networks):
    """Refuses an objective with variables to learn that nobody steps."""
    owned = {id(v) for n in networks for v in n.variables}
    for layer in learner.objective.layers():
        if any(id(v) not in owned for v in layer.trainable_variables):
            raise ValueError(
                f"Learner `{name}` must have an objective whose networks are "
                f"learners, too. Received: {layer.name!r}, which nobody "
                "trains. Make it the `network` of a Learner with the same "
                "objective, or set its `trainable` to `False`."
            )
