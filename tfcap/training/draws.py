"""Draws that no checkpoint keeps, as the graphs of a run show them.

An operation such as that of `tf.random.normal()` has its state in the process
that runs it, where nobody can read it. A variable can be read, but one that is
no part of the model, such as that of a `tf.random.Generator`, is unknown. What
Python draws while a graph is traced is a constant in it.
"""

import random
import warnings
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfcap.training.model_state import variables_of
from tfcap.training.random_state import global_variables

#: Operations with seeds that draw nothing.
_OTHERS = "Cudnn", "ComputeAccidentalHits", "SnapshotDataset"
_TOLD = (
    "A run with random draws that no checkpoint keeps cannot be resumed "
    "exactly: `train_step()` {}. {}"
)
_CURE = (
    "Draw with `keras.random` and a `keras.random.SeedGenerator` that is an "
    "attribute of the model, or with `tf.random.stateless_*` and a seed of the "
    "step."
)


def drawing(graph: tf.Graph) -> dict[str, Any]:
    """Operations of a graph whose draws depend on those before.

    Args:
        graph: `tf.Graph`; functions that it calls count, too.

    Returns:
        Dict from the type of an operation, such as `"RandomUniform"`, to
        whether each one of it has a seed.
    """
    found = {}
    for node in operations(graph):
        if "seed2" in node.attr and not node.op.startswith(_OTHERS):
            seeded = bool(node.attr["seed"].i or node.attr["seed2"].i)
            found[node.op] = seeded and found.get(node.op, True)
    return found


def calls_python(graph: tf.Graph) -> bool:
    """Check whether a graph calls functions of Python, which may draw."""
    return any("PyFunc" in node.op for node in operations(graph))


def operations(graph: tf.Graph):
    """Nodes of a graph, those of functions that it calls included."""
    graph = graph.as_graph_def()
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def changes_others(graph: tf.Graph, known=()) -> bool:
    """Check whether a graph changes variables other than the known ones."""
    known = {id(variable.handle) for variable in known}
    functions = graph.as_graph_def().library.function
    inside = any(
        _is_of_generator(node.op)
        for function in functions
        for node in function.node_def
    )
    for outside, handle in graph.captures:
        if outside.dtype != tf.resource or id(outside) in known:
            continue
        for operation in handle.consumers():
            kind = operation.type
            if kind.startswith("Assign") or _is_of_generator(kind):
                return True
            if inside and kind.endswith(("Call", "Case", "If", "While")):
                return True
    return False


def _is_of_generator(kind):
    """Check whether an operation draws from a `tf.random.Generator`."""
    return kind.startswith(("Rng", "Stateful")) and not kind.endswith("Call")


def tell_draws(model: keras.Model, beside: bool = False) -> set[str]:
    """Has a model warn of its draws while its training step is traced.

    Nothing has been trained by then. A step that runs eagerly has no graph.

    Args:
        beside: Boolean, whether Python may make data at the same time, and
            draw. Defaults to `False`.

    Returns:
        Set to which is added what is told.
    """
    if hasattr(model.train_step, "told"):
        return model.train_step.told
    step, told = model.train_step, set()

    def train_step(*args, **kwargs):
        before = None if beside else (python_state(), _made(model))
        logs = step(*args, **kwargs)
        if tf.inside_function():
            for problem in {*_problems(model, before)} - told:
                told.add(problem)
                warnings.warn(_TOLD.format(problem, _CURE), stacklevel=2)
        return logs

    train_step.told = told
    model.train_step = train_step
    if model.train_function is not None:
        # That of a `fit()` before, with another step.
        model.make_train_function(force=True)
    return told


def _problems(model, before):
    """Clauses that say what the graph that is being traced draws."""
    graph = tf.compat.v1.get_default_graph()
    if kinds := drawing(graph):
        yield f"has the stateful operations {', '.join(sorted(kinds))}"
    variables = [*variables_of(model), *model.metrics_variables]
    parts = model.distribute_strategy.experimental_local_results
    known = [p for v in variables for p in parts(v.value)]
    if changes_others(graph, [*known, *global_variables()]):
        yield (
            "draws from a generator, or changes a variable, that is no part of "
            "the model"
        )
    # What is made, such as a layer, may draw its seed.
    if before and before[1] == _made(model) and before[0] != python_state():
        yield (
            "draws from Python's `random` or `numpy.random` while it is "
            "traced, which makes a constant of it"
        )


def _made(model):
    """Number of the variables and global generators that are there."""
    return len(model.variables), len(global_variables())


def python_state() -> tuple:
    """States of Python's generator and of NumPy's that can be compared."""
    _, words, *place = np.random.get_state()
    return random.getstate(), words.tobytes(), place
