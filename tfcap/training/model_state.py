"""The state of a training model: read, described, compared and set."""

import re

import keras
import numpy as np

from tfcap.training.frozen_weights import digest
from tfcap.training.model_description import describe_variables
from tfcap.training.model_description import difference
from tfcap.training.model_description import optimizers_of
from tfcap.training.model_description import told
from tfcap.training.optimizer_settings import Settings
from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief

_HINT = (
    "Make the model as it was, of the same layers, names and optimizers in the "
    "same order, or choose another folder for this one."
)


def variables_of(model: keras.Model):
    """Every variable of a model and of its optimizers, in a fixed order.

    The optimizer of `compile()` is built if it is not, so that all of several
    workers must call it.
    """
    own = getattr(model, "optimizer", None)
    if own is not None and not own.built:
        with model.distribute_strategy.scope():
            own.build(model.trainable_variables)
    variables = list(model.variables)
    for optimizer in optimizers_of(model):
        variables += optimizer.variables
    unique = {id(variable): variable for variable in variables}
    return list(unique.values())


def lacks_variables(model: keras.Model) -> bool:
    """Check whether a model is not built, so that layers lack variables.

    One that trains its networks by their parts, as two that play against each
    other, need not be built itself.
    """
    parts = model._flatten_layers(include_self=False)
    return not model.built and not (parts and all(part.built for part in parts))


def build_on(model: keras.Model, batch):
    """Builds a model on a batch."""
    inputs, _, _ = keras.utils.unpack_x_y_sample_weight(batch)
    with model.distribute_strategy.scope():
        model(inputs)


def array_of(variable: keras.Variable) -> np.ndarray:
    """A variable's value in a dtype that a file can hold."""
    array = np.asarray(keras.ops.convert_to_numpy(variable))
    return array.astype(_file_dtype(array.dtype))


def describe(model: keras.Model, settings: list[dict] | None = None) -> dict:
    """Description that tells the state of one model from that of another."""
    described = describe_variables(model)
    return {
        "variables": [described[id(v)] for v in variables_of(model)],
        "optimizers": settings or Settings(model).now,
        "built_for": _built_for(model),
    }


def check_state(about: dict, arrays: list[np.ndarray]):
    """Refuses what no training leaves, though a file holds it well.

    Raises:
        ValueError: If something is not a number, or not described. The
            message is a clause.
    """
    names = [f"variable {n}" for n, _ in enumerate(arrays, 1)]
    if "variables" in about:
        described = about["variables"]
        if not _all(described, _is_description):
            raise ValueError("its variables are not described")
        if not _all(about.get("optimizers"), _is_dict):
            raise ValueError("its optimizers are not described")
        names = [told(one) for one in described]
    elif not _all(about.get("paths"), _is_text):
        raise ValueError("its variables are not described")
    if len(names) != len(arrays):
        raise ValueError(f"it holds {len(arrays)} of {len(names)} arrays")
    for name, array in zip(names, arrays):
        if array is None:
            continue
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name} holds no numbers but {array.dtype}")
        if problem := _not_finite(array, False):
            raise ValueError(f"{name} {problem}")


def check_savable(model: keras.Model, arrays: dict):
    """Refuses a state that would be refused when it is read.

    Args:
        model: `keras.Model`.
        arrays: Dict of arrays of its variables, by number.

    Raises:
        FloatingPointError: Names the variable.
    """
    for index, variable in enumerate(variables_of(model)):
        array = arrays.get(f"{index:05d}")
        if array is None:
            continue
        if problem := _not_finite(array, variable.trainable):
            one = describe_variables(model)[id(variable)]
            raise FloatingPointError(
                "What is saved must be finite, and what no optimizer trains "
                f"no NaN. Received: {told(one)} {problem}. What is on disk is "
                f"from before it, and stays. {_cure(model, variable)}"
            )


def _cure(model, variable):
    """Cure for a variable that is not finite."""
    if variable.trainable:
        return "Lower the learning rate, or clip the gradient."
    # Only models that can leave a step out have the attribute.
    left = " even where `nonfinite` has a step left out"
    return (
        "Look for inputs that are not finite: layers such as "
        "`BatchNormalization` take them into their averages"
        f"{left if hasattr(model, 'nonfinite') else ''}."
    )


def set_state(model: keras.Model, about: dict, arrays, where: str, settings):
    """Sets a model to a state that `describe()` and `array_of()` gave.

    All of several workers must call it. A setting of an optimizer that
    differs from the one that it was made with before is kept, and told.

    Raises:
        ValueError: If the state is of another model, or of one whose weights
            are not finite.
    """
    _build_optimizers(model, about.get("built_for", ()))
    variables, problem = variables_of(model), ""
    if is_chief(model):
        problem = _problem(model, variables, about, arrays)
    problem = from_chief(problem, model)
    if problem:
        raise ValueError(
            "`directory` must hold a checkpoint of this model. Received: "
            f"directory={where!r}, where {problem}. {_HINT}"
        )
    for index, variable in enumerate(variables):
        own = arrays[index] if arrays else None
        array = from_chief(own, model)
        if array is not None and not settings.keeps(variable, array):
            variable.assign(array)
    if is_chief(model):
        for line in settings.changes:
            print(f"{where}: {line}", flush=True)


def _all(entries, fits):
    """Check whether what JSON gave is a list of what fits."""
    return isinstance(entries, list) and all(map(fits, entries))


def _is_text(entry):
    return isinstance(entry, str)


def _is_dict(entry):
    return isinstance(entry, dict)


def _is_description(entry):
    return _all(entry, _is_text) and len(entry) == 4


def _built_for(model):
    """Which variables the optimizers step, by their places in a model."""
    places = {id(v): place for place, v in enumerate(model.variables)}
    return [
        [places.get(id(v), -1) for v in optimizer._trainable_variables]
        if optimizer.built
        else None
        for optimizer in optimizers_of(model)
    ]


def _build_optimizers(model, built_for):
    """Builds what a training step would build, for the same variables."""
    variables = model.variables
    for optimizer, places in zip(optimizers_of(model), built_for):
        known = isinstance(places, list) and all(
            type(place) is int and 0 <= place < len(variables)
            for place in places
        )
        if known and not optimizer.built:
            with model.distribute_strategy.scope():
                optimizer.build([variables[place] for place in places])


def _problem(model, variables, about, arrays):
    """Reason why a model cannot take a state; empty if there is none."""
    described = describe_variables(model)
    descriptions = [described[id(variable)] for variable in variables]
    if "variables" in about:
        problem = difference(about["variables"], descriptions)
    else:
        problem = _old_difference(about["paths"], variables, descriptions)
    if problem:
        return problem
    frozen = iter(sorted(about.get("frozen", {}).items()))
    for variable, array, one in zip(variables, arrays, descriptions):
        if array is None:
            if digest(variable) != next(frozen)[1]:
                return (
                    f"{told(one)} is frozen and had other values, which are "
                    "not saved: load the weights that the run began with"
                )
            continue
        dtype = _file_dtype(variable.dtype)
        if (tuple(variable.shape), dtype) != (array.shape, array.dtype):
            return (
                f"{told(one)} is {array.dtype} of shape {array.shape}, and "
                f"{dtype} of shape {tuple(variable.shape)} in the model"
            )
        if problem := _not_finite(array, variable.trainable):
            return f"{told(one)} {problem}"
    return ""


def _not_finite(array, trainable):
    """Reason why training cannot go on from an array; empty if it can."""
    if array.dtype.kind != "f":
        return ""
    if np.isnan(array).any():
        return "holds NaN"
    # What an optimizer or a metric keeps may well be infinite.
    return "is not finite" if trainable and np.isinf(array).any() else ""


def _old_difference(paths, variables, descriptions):
    """The difference from a checkpoint that names its variables by paths.

    What stands before a name depends on how a layer was built.
    """
    if len(paths) != len(variables):
        return f"are {len(paths)} variables, and {len(variables)} in the model"
    for path, variable, (place, *_) in zip(paths, variables, descriptions):
        # An optimizer's variables are named after all that they belong to.
        part = -2 if place.startswith("optimizer ") else -1
        names = [
            re.sub(r"_\d+$", "", f"/{whole}".split("/")[part])
            for whole in (path, variable.path)
        ]
        if names[0] != names[1]:
            return f"`{path}` is where the model has `{variable.path}`"
    return ""


def _file_dtype(dtype):
    """The dtype by which a file holds one of a variable."""
    # NumPy itself knows no bfloat16; float32 holds it exactly.
    short = str(dtype).startswith(("bfloat", "float8"))
    return np.dtype("float32" if short else str(dtype))
