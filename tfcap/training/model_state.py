"""The state of a training model: read, described, compared and set."""

import keras
import numpy as np


def variables_of(model):
    """Every variable of a model and of its optimizers, in a fixed order.

    An optimizer that is not built is built.

    Args:
        model: `keras.Model`, compiled or not.

    Returns:
        List of `keras.Variable`.
    """
    optimizers = [*getattr(model, "optimizers", ())]
    if getattr(model, "optimizer", None) is not None:
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        optimizers.append(model.optimizer)
    variables = list(model.variables)
    for optimizer in optimizers:
        variables += optimizer.variables
    unique = {id(variable): variable for variable in variables}
    return list(unique.values())


def array_of(variable):
    """A variable's value in a dtype that a file can hold.

    Args:
        variable: `keras.Variable`.

    Returns:
        NumPy array.
    """
    array = np.asarray(keras.ops.convert_to_numpy(variable))
    # NumPy itself knows no bfloat16; float32 holds it exactly.
    return array.astype("float32") if array.dtype.kind == "V" else array


def arrays_of(model):
    """The values of all variables of a model.

    Args:
        model: `keras.Model`.

    Returns:
        List of NumPy arrays, in the order of `variables_of()`.
    """
    return [array_of(variable) for variable in variables_of(model)]


def describe(model):
    """What tells the state of one model from that of another.

    Args:
        model: `keras.Model`.

    Returns:
        Dict that JSON can hold.
    """
    return {"paths": [variable.path for variable in variables_of(model)]}


def set_state(model, about, arrays, where):
    """Sets a model to a state that `arrays_of()` and `describe()` gave.

    Args:
        model: `keras.Model`.
        about: Dict, as `describe()` returns it.
        arrays: List of NumPy arrays.
        where: String, the folder that holds the state.

    Raises:
        ValueError: If the state is of another model.
    """
    variables = variables_of(model)
    wrong = len(arrays) != len(variables) or any(
        tuple(variable.shape) != array.shape
        for variable, array in zip(variables, arrays)
    )
    if wrong:
        raise ValueError(
            f"The checkpoint in {where} is of another model. "
            "Received: a model whose variables differ in number or shape. "
            "Run with the settings it was made with, or remove the folder."
        )
    for variable, array in zip(variables, arrays):
        variable.assign(array)
