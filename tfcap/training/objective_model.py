"""The training model of one objective."""

import functools

import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap.objectives import Episode
from tfcap.training import minibatches
from tfcap.training.accumulation import accumulation_steps
from tfcap.training.minibatches import checked_minibatch_size
from tfcap.training.minibatches import checked_updates
from tfcap.training.nonfinite import explained
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


class ObjectiveModel(Scaffold):
    """Trains a speaker, and who plays along, for one objective.

    Only scaffolding: it holds the networks and their optimizer, trains under
    `compile()` and `fit()` with callbacks, `tf.data`, mixed precision and
    `tf.distribute`, and is not itself saved. Save `speaker` instead.

    An optimizer with `gradient_accumulation_steps=k` steps once in k batches,
    as one batch of all their rows would have it: by the mean of their
    gradients, clipped afterwards. Each of the batches counts alike, and what
    a loss compares or averages over is one of them; `minibatch_size` divides
    one batch instead. A schedule of the learning rate counts batches, as in
    Keras.

    A network with `trainable = False` is used and left as it is. Penalties
    that layers put on their weights are part of the loss; what a layer adds
    to the loss in its call is not, since an objective calls networks by their
    parts: make it a term.

    Args:
        objective: `tfcap.objectives.Objective`.
        speaker: `tfcap.decoding.Speaker` that is a `keras.Model` or layer,
            built.
        learners: Dict of further `keras.Model`s that learn from the objective
            or are read by it, built.
        global_clipnorm: Float or `None`, norm to clip the gradient of the
            global batch to. The optimizer's own clipping, which follows, is
            of the global batch, too.
        nonfinite: What becomes of a step whose loss, rewards or gradients are
            NaN or infinite. No weight moves in it, but with `"ignore"`, which
            does not look. Defaults to `"raise"`, a `FloatingPointError` that
            names the term or the network; `"skip"` goes on with the next
            batch, leaves the step out of what is logged and counts it in
            `skipped_updates`, of the epoch. What layers keep of the batches
            they see, such as means of a batch normalization, is no weight, and
            is not held back. A gradient that overflows because a
            `keras.optimizers.LossScaleOptimizer` scales the loss by more than
            1 is that optimizer's affair.
        minibatch_size: Integer or `None`, rows of the global batch of which a
            step is taken. Words are drawn, rewarded and compared for the whole
            batch, and nothing of that is kept for a gradient; then the speaker
            scores them again, part by part, once each, with dropout of its
            own. A part's gradient is its share in that of the whole batch,
            times the number of parts. With an optimizer whose
            `gradient_accumulation_steps` is that number, a batch is one step,
            equal to that of all rows at once, whatever its losses are means
            over; leave a smaller last batch out. Otherwise each part is a
            step, and words of later parts were drawn a few steps ago, which no
            importance weight corrects but `clipped_ratio`. For terms that
            score words: `ScoreFunction`, `TeacherForcing`, `KLDivergence` and
            the losses of samples. Defaults to `None`, no parts.
        updates_per_rollout: Integer, how often a step is taken on the words
            of a batch, and so on each of its parts. Words are drawn, rewarded
            and compared once; from 2 on, a `clipped_ratio` corrects that the
            speaker has moved since. A speaker with dropout draws other masks
            in an update: its ratios are not 1 even at first. Defaults to `1`.
        clipped_ratio: `tfcap.objectives.ClippedRatio` of words that were
            drawn, as of PPO, GRPO, DAPO and GSPO. Defaults to `None`:
            `ClippedRatio()` for several updates, none for one. With one, the
            share of words whose gradient is clipped away is logged as
            `clipped_words`.

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
        self,
        objective,
        speaker,
        learners=None,
        global_clipnorm=None,
        nonfinite="raise",
        minibatch_size=None,
        updates_per_rollout=1,
        clipped_ratio=None,
        **kwargs,
    ):
        super().__init__(speaker, nonfinite, **kwargs)
        for name, learner in {"speaker": speaker, **(learners or {})}.items():
            check_built(learner, f"`{name}`")
        self.objective = objective
        self.learners = dict(learners or {})
        self.global_clipnorm = global_clipnorm
        self.minibatch_size = checked_minibatch_size(minibatch_size, objective)
        self.updates_per_rollout, self.clipped_ratio = checked_updates(
            updates_per_rollout, clipped_ratio, objective
        )
        self._draws_once = bool(minibatch_size or self.clipped_ratio)
        self.channels = built(objective.layers(), speaker)
        clipped = ("clipped_words",) if self.clipped_ratio else ()
        self.track(("loss", *objective.log_names(), *clipped))
        self.built = True

    def compile(self, optimizer="rmsprop", **kwargs):
        """Compiles as `keras.Model.compile()`; refuses what training cannot do.

        Args:
            optimizer: `keras.optimizers.Optimizer` or its name; or a dict of
                it under `"speaker"`, as `JointTraining.compile()` takes it.
            **kwargs: As those of `keras.Model.compile()`.

        Raises:
            ValueError: If there is a loss or a metric, which the objective
                brings.
        """
        optimizer = optimizers_by_name(optimizer, ["speaker"])["speaker"]
        check_compile(self.distribute_strategy, [optimizer], kwargs)
        steps = kwargs.get("steps_per_execution", 1)
        if self._draws_once and steps != 1:
            raise ValueError(
                "`steps_per_execution` must be 1 with `minibatch_size` or "
                "several updates a rollout. Received: "
                f"steps_per_execution={steps}."
            )
        super().compile(optimizer, **kwargs)
        check_clipnorm(self.optimizer, self.global_clipnorm)
        if accumulation_steps(self.optimizer) > 1:
            # Its sums are variables, which no replica makes alone.
            with self.distribute_strategy.scope():
                build_optimizer("speaker", self.optimizer, self)

    def make_train_function(self, force=False):
        if not self._draws_once:
            return super().make_train_function(force)
        if self.train_function is None or force:
            train = minibatches.train_function(self)
            self.train_function = explained(train, self.optimizer)
        return self.train_function

    def draw_step(self, data):
        """Draws the words of a batch, for `update_step()`."""
        draw = functools.partial(minibatches.draw, self)
        drawn, annealed = self.on_schedule(draw, data)
        return {**drawn, "annealed": annealed}

    def update_step(self, drawn, index, count):
        """Steps on one of several parts of a batch, which may be all of it."""
        logs = minibatches.update(self, drawn, index, count)
        return {**logs, **drawn["annealed"]}

    def learn(self, inputs):
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            episode = Episode(self.speaker, inputs, training=True)
            losses, logs = self.objective.losses(episode)
            loss = sum(losses.values(), 0.0) + weight_penalty(variables)
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, variables)
        step = prepare(
            self.optimizer, gradients, variables, self.global_clipnorm
        )
        causes = (
            *what_was_computed(self.objective, losses, logs),
            {"the loss": loss},
            self.slopes(step),
        )
        return self.log_step(loss, logs, self.take([step], causes))

    def test_step(self, data):
        inputs = self.inputs_of(data)
        loss, logs = self.objective.loss(Episode(self.speaker, inputs))
        loss = loss + weight_penalty(self.trainable_variables)
        return self.log_step(loss, logs, rows=self.global_rows(inputs))

    def slopes(self, step):
        """Sizes of the gradient of every network, by what to call it."""
        networks = {**self.learners, "speaker": self.speaker}
        owners = {
            id(variable): name
            for name, network in networks.items()
            for variable in network.trainable_variables
        }
        sizes = {}
        for variable, size in zip(step.variables, step.sizes):
            name = owners.get(id(variable), "objective")
            sizes.setdefault(f"the gradient of `{name}`", []).append(size)
        return {name: tf.add_n(parts) for name, parts in sizes.items()}

    def log_step(self, loss, logs, counts=None, rows=None):
        """Logs a step's loss and statistics, see `Scaffold.log()`."""
        # The loss is a share, summed over replicas; a metric averages.
        return self.log({"loss": loss * num_replicas(), **logs}, counts, rows)
