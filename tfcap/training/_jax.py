"""The training step on JAX: a function of its state, compiled as a whole."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from tfcap._ops.private_names import iterator_step
from tfcap._ops.private_names import state_shardings
from tfcap.training import rollout_updates

COMPILES = True
#: Among the logs of a step, what must be finite.
_FOUND = "not finite"


def scope(model: keras.Model):
    """Context in which variables of a model are made."""
    return contextlib.nullcontext()


def metric_parts(model: keras.Model) -> list:
    """Variables of the metrics, each by itself: it is of all devices."""
    return [(variable,) for variable in model.metrics_variables]


def endless(dataset: keras.utils.PyDataset) -> keras.utils.PyDataset:
    """The same data set, whose length Keras does not know."""
    dataset.num_batches = None
    return dataset


def after(value: Any):
    """Context of what must not be computed without a value: any."""
    return contextlib.nullcontext()


def filled(gradient: Any, variable: Any = None) -> Any:
    """A gradient, of zeros where it is `None`."""
    if gradient is None:
        return jnp.zeros(variable.shape, variable.dtype)
    return gradient


def half_square(gradients: list) -> Any:
    """Half the squared norm of a list of tensors, a float32 scalar."""
    squares = (jnp.square(g.astype("float32")).sum() for g in gradients)
    return 0.5 * sum(squares)


def graph(function: Callable, *parts: Any) -> Callable:
    """Compiles a function of a nest of arrays that reads networks.

    Args:
        parts: Networks and decoders that the function reads.
    """
    layers = [x for x in map(_layer_of, parts) if x is not None]
    found = {id(v): v for layer in layers for v in layer.variables}
    variables = ([*found.values()],)

    @jax.jit
    def compiled(state, inputs):
        with _scope(variables, state) as scope:
            outputs = function(inputs)
        return outputs, _state(scope, variables)

    def call(inputs):
        state = ([v.value for v in variables[0]],)
        outputs, (values,) = compiled(state, inputs)
        for variable, value in zip(variables[0], values):
            variable.assign(value)
        return outputs

    return call


def _layer_of(part: Any) -> Any:
    """The layer with what a network or a decoder keeps, or `None`."""
    if isinstance(part, keras.layers.Layer):
        return part
    return getattr(part, "channel", None)


def _variables(model):
    """Variables of a model in the order of the state of Keras' steps."""
    return (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )


def _scope(variables, state):
    """Scope in which variables have the values of a state."""
    pairs = (pair for group in zip(variables, state) for pair in zip(*group))
    return keras.StatelessScope(state_mapping=[*pairs])


def _state(scope, variables):
    """State in which a scope leaves the variables."""
    return tuple(
        [scope.get_current_value(v) for v in group] for group in variables
    )


def train_step(model: keras.Model, state: tuple, data: Any) -> tuple:
    """Takes a step: words, the losses of them, gradients, updates."""

    def forward(inputs):
        with model.step_of_schedules() as annealed:
            return *model.forward(inputs), annealed

    return _take_step(model, forward, state, model.inputs_of(data))


def _take_step(model, forward, state, inputs):
    variables = _variables(model)
    traced = []

    def losses_of(trained):
        with _scope(variables, (trained, *state[1:])) as scope:
            computed, losses, annealed = forward(inputs)
        traced[:] = computed
        values = [(each.losses, each.logs, each.loss) for each in computed]
        return losses, (values, annealed, _state(scope, variables)[1])

    losses, pull, found = jax.vjp(losses_of, state[0], has_aux=True)
    values, annealed, others = found
    computed = [
        each._replace(losses=parts, logs=logs, loss=loss)
        for each, (parts, logs, loss) in zip(traced, values)
    ]

    def slopes_of(index, scale, own):
        scales = [jnp.zeros_like(loss) for loss in losses]
        scales[index] = scale
        (slopes,) = pull(scales)
        known = {id(v): slope for v, slope in zip(variables[0], slopes)}
        return [[known[id(v)] for v in group] for group in own]

    with _scope(variables, (state[0], others, *state[2:])) as scope:
        found = model.update(slopes_of, computed)
        logs = model.log(computed)
        if model.period > 1:
            model.turn.assign(model.turn + 1)
    return {**logs, **annealed, _FOUND: found}, _state(scope, variables)


def test_step(model: keras.Model, state: tuple, data: Any) -> tuple:
    trained, others, _, means = _variables(model)
    variables = trained, others, means
    with _scope(variables, state) as scope:
        logs = model.tested(data)
    return logs, _state(scope, variables)


def apply_if_finite(model: keras.Model, updates: list, causes: tuple) -> Any:
    """Takes the steps of all optimizers, or none of them.

    Args:
        updates: List of `Update`.
        causes: Dicts of float scalar tensors, by what to call them.

    Returns:
        Float32 vector of them all; `train_function()` raises on the host.
    """
    model.causes = [[*cause] for cause in causes]
    values = [v for cause in causes for v in cause.values()]
    found = jnp.stack([jnp.asarray(v, "float32") for v in values])
    finite = jnp.isfinite(found).all()
    for update in updates:
        own = update.variables, update.optimizer.variables
        before = [[v.value for v in group] for group in own]
        after = update.optimizer.stateless_apply(
            before[1], update.gradients, before[0]
        )
        for group in zip(own, before, after):
            for variable, old, new in zip(*group):
                variable.assign(jnp.where(finite, new, old))
    return found


def train_function(model: keras.Model) -> Callable:
    """A train function of Keras, which tells what is not finite."""
    compiles = model.jit_compile and not model.run_eagerly

    def compiled(step):
        if not compiles:
            return step
        shardings = None
        if keras.distribution.distribution() is not None:
            shardings = None, state_shardings(model)
        return jax.jit(step, donate_argnums=0, out_shardings=shardings)

    def step_of(names):
        def step(state, data):
            model.now = names
            return train_step(model, state, data)

        return compiled(step)

    if model.clipped_ratio:
        take = _several_updates(model, compiled)
    else:
        turns = {model.playing(turn) for turn in range(model.period)}
        steps = {names: step_of(names) for names in turns}
        ids = [id(v) for v in model.non_trainable_variables]
        index = ids.index(id(model.turn))

        def take(state, data):
            turn = int(state[1][index]) if model.period > 1 else 0
            return steps[model.playing(turn)](state, data)

    def run(state, data):
        logs, state = take(state, data)
        found = np.asarray(logs.pop(_FOUND))
        if not np.isfinite(found).all():
            _give_back(model, state)
            raise model.not_finite(_told(model.causes, found))
        return logs, state

    return iterator_step(model, run)


def _give_back(model, state):
    """Gives a model the values that Keras has taken from it while it fits."""
    for group in zip(_variables(model), state):
        for variable, value in zip(*group):
            variable.assign(value)


def _told(causes, found):
    """Names and values of the first causes that are not finite."""
    values = iter(found.tolist())
    told = (
        [f"{n} is {v}" for n, v in zip(names, values) if not np.isfinite(v)]
        for names in causes
    )
    return ", ".join(next(bad for bad in told if bad))


def by_scores(model: keras.Model, function: Callable) -> tuple[Any, list]:
    """Differentiates losses by the scores of words that they read.

    Args:
        function: Callable that returns two losses, and a nest of tensors. It
            is given a callable, by which it passes every scores it reads.

    Returns:
        The nest; and of all scores in their order the pair of gradients, of
        each loss.
    """

    def of(added, shapes):
        def watch(scores):
            shapes.append(jax.ShapeDtypeStruct(scores.shape, scores.dtype))
            return scores + added[len(shapes) - 1] if added else scores

        return function(watch)

    shapes = []
    variables = _variables(model)
    values = [[v.value for v in group] for group in variables]
    with _scope(variables, values):
        jax.eval_shape(lambda: of([], shapes)[1])
    zeros = [jnp.zeros(x.shape, x.dtype) for x in shapes]
    losses, pull, found = jax.vjp(
        lambda added: of(added, []), zeros, has_aux=True
    )
    one, zero = jnp.ones((), losses[0].dtype), jnp.zeros((), losses[0].dtype)
    slopes = [pull(list(scales))[0] for scales in ((one, zero), (zero, one))]
    return found, [*zip(*slopes)]


def _several_updates(model, compiled):
    """A step that draws once and updates several times."""
    variables = _variables(model)

    @jax.jit
    def draw(state, data):
        with _scope(variables, state) as scope:
            inputs = model.inputs_of(data)
            with model.step_of_schedules() as annealed:
                drawn = rollout_updates.draw(
                    model, inputs, functools.partial(by_scores, model)
                )
        return (drawn, annealed), _state(scope, variables)

    @compiled
    def update(state, drawn):
        drawn, annealed = drawn

        def forward(drawn):
            return *rollout_updates.forward(model, drawn), annealed

        return _take_step(model, forward, state, drawn)

    def take(state, data):
        drawn, state = draw(state, data)
        for _ in range(model.updates_per_rollout):
            logs, state = update(state, drawn)
        return logs, state

    return take


def strategy_of(model: Any = None) -> None:
    """No strategy: `keras.distribution` is another matter."""


def open_strategy() -> keras.distribution.DataParallel:
    return keras.distribution.DataParallel()
