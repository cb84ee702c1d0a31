"""The training step on JAX: a function of its state, compiled as a whole."""

import contextlib
import functools
from collections import UserDict
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.custom_derivatives import SymbolicZero

from tfcap._ops.private_names import forget_step
from tfcap._ops.private_names import iterator_step
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


def graph(function: Callable) -> Callable:
    """Compiles a function of a nest of arrays that reads networks."""
    found = {}

    def step(others, inputs):
        variables = ([*found.values()],)
        with _Scope(variables, (others,), found) as scope:
            outputs = function(inputs)
        return outputs, *_state(scope, variables)

    return _given(step, found, jax.jit)


class _Scope(keras.StatelessScope):
    """Scope in which variables have the values of a state.

    It notes in `found` what else is read: the value is a constant of the trace.
    """

    def __init__(self, variables, state, found):
        groups = zip(variables, state)
        super().__init__([pair for group in groups for pair in zip(*group)])
        self.found = found

    def get_current_value(self, variable):
        value = super().get_current_value(variable)
        if value is None:
            self.found[id(variable)] = variable
        return value


def _given(step: Callable, found: dict, compiled: Callable | None) -> Callable:
    """Calls a function with the values of all variables that it reads.

    Args:
        step: Callable from a list of values and further arguments to a result
            and the list of new values.
        found: Dict of the variables, which a `_Scope` in `step()` fills.
        compiled: Callable that compiles it, or `None`.
    """

    def changing(values, *args):
        result, new = step(values, *args)
        pairs = enumerate(zip(values, new))
        return result, {i: x for i, (old, x) in pairs if x is not old}

    run, known = compiled(changing) if compiled else changing, -1

    def call(*args):
        nonlocal known
        while compiled and known < len(found):
            known = len(found)
            # The last trace has constants instead.
            run.clear_cache()
            run.eval_shape([v.value for v in found.values()], *args)
        variables = [*found.values()]
        result, changed = run([v.value for v in variables], *args)
        for index, value in changed.items():
            variables[index].assign(value)
        return result

    return call


def _variables(model):
    """Variables of a model in the order of the state of Keras' steps.

    Among those that are not trained is what else the step reads.
    """
    return (
        model.trainable_variables,
        [*model.non_trainable_variables, *model.found.values()],
        model.optimizer.variables,
        model.metrics_variables,
    )


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
    traced, reached = [], set()

    def note(variable, slope):
        if not isinstance(slope, SymbolicZero):
            reached.add(id(variable))
        return slope

    def losses_of(trained):
        trained = [
            _watched(functools.partial(note, v))(value)
            for v, value in zip(variables[0], trained)
        ]
        with _Scope(variables, (trained, *state[1:]), model.found) as scope:
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
        reached.clear()
        scales = [jnp.zeros_like(loss) for loss in losses]
        scales[index] = scale.astype(losses[index].dtype)
        (slopes,) = pull(scales)
        every = dict(zip(map(id, variables[0]), slopes))
        known = {key: every[key] for key in reached}
        return [[known.get(id(v)) for v in group] for group in own]

    state = state[0], others, *state[2:]
    with _Scope(variables, state, model.found) as scope:
        found = model.update(slopes_of, computed)
        logs = model.log(computed)
        if model.period > 1:
            model.turn.assign(model.turn + 1)
    return {**logs, **annealed, _FOUND: found}, _state(scope, variables)


def _watched(note: Callable) -> Callable:
    """The identity, whose gradient a function is given and returns."""

    @jax.custom_vjp
    def same(x):
        return x

    def back(_, slope):
        return (note(slope),)

    same.defvjp(lambda x: (x.value, None), back, symbolic_zeros=True)
    return same


def test_step(model: keras.Model, state: tuple, data: Any) -> tuple:
    trained, others, _, means = _variables(model)
    variables = trained, others, means
    with _Scope(variables, state, model.found) as scope:
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

    def step_of(names):
        def step(state, data):
            model.now = names
            return train_step(model, state, data)

        return _compiled(model, step)

    if model.clipped_ratio:
        take = _several_updates(model)
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


def test_function(model: keras.Model) -> Callable:
    """A test function of Keras."""
    step = functools.partial(test_step, model)
    return iterator_step(model, _compiled(model, step, [0, 1, 3]))


def _compiled(model, step, groups=(0, 1, 2, 3)):
    """A step of a state, compiled, and given what else it reads.

    Args:
        groups: Sequence of the groups of `_variables()` that are the state.
    """
    model.found = found = UserDict()
    compiled = layouts = None
    if spread := keras.distribution.distribution():
        layouts = [
            [spread.get_variable_layout(v).backend_layout for v in group]
            for group in (_variables(model)[i] for i in groups)
        ]
    if model.jit_compile and not model.run_eagerly:
        compiled = functools.partial(
            jax.jit,
            donate_argnums=1,
            out_shardings=layouts and ((None, layouts), None),
        )

    def whole(others, state, *data):
        trained, kept, *rest = state
        own = len(kept)
        logs, (trained, kept, *rest) = step(
            (trained, [*kept, *others], *rest), *data
        )
        return (logs, [trained, kept[:own], *rest]), kept[own:]

    given = _given(whole, found, compiled)

    def take(state, *data):
        model.found = found
        try:
            # As a step returns it: in another container, or where Keras has
            # assigned a value without its layout, it would compile again.
            state = [*state]
            if layouts is not None:
                state = jax.device_put(state, layouts)
            return given(state, *data)
        except Exception:
            _give_back(model, state, groups)
            raise

    return take


def _give_back(model, state, groups=(0, 1, 2, 3)):
    """Gives a model the values that Keras has taken from it while it fits."""
    variables = _variables(model)
    for group, values in zip(groups, state):
        for variable, value in zip(variables[group], values):
            # A step that has begun may have used the memory.
            if not value.is_deleted():
                variable.assign(value)
    forget_step(model)


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
    with _Scope(variables, values, model.found):
        jax.eval_shape(lambda: of([], shapes)[1])
    zeros = [jnp.zeros(x.shape, x.dtype) for x in shapes]
    losses, pull, found = jax.vjp(
        lambda added: of(added, []), zeros, has_aux=True
    )
    one, zero = jnp.ones((), losses[0].dtype), jnp.zeros((), losses[0].dtype)
    slopes = [pull(list(scales))[0] for scales in ((one, zero), (zero, one))]
    return found, [*zip(*slopes)]


def _several_updates(model):
    """A step that draws once and updates several times."""

    def draw(state, data):
        variables = _variables(model)
        with _Scope(variables, state, model.found) as scope:
            inputs = model.inputs_of(data)
            with model.step_of_schedules() as annealed:
                drawn = rollout_updates.draw(
                    model, inputs, functools.partial(by_scores, model)
                )
        return (drawn, annealed), _state(scope, variables)

    def update(state, drawn):
        drawn, annealed = drawn

        def forward(drawn):
            return *rollout_updates.forward(model, drawn), annealed

        return _take_step(model, forward, state, drawn)

    draw, update = _compiled(model, draw), _compiled(model, update)

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
