"""Descriptions that tell the state of one training model from another's.

A checkpoint holds arrays in the order of a model's variables. Two models may
have variables of the same shapes and yet be two models, so that each array is
described: by the attributes that lead to its layer, by the class and the name
of the layer, and by its own name. Names that Keras made up count layers of a
process, and are compared as far as they tell the order.
"""

import itertools
import re

import keras

from tfcap.training.update import JointOptimizer

#: Attributes in which Keras itself keeps layers.
_KERAS = re.compile(r"_layers|_operations|_functional|_tracked|_self_")


def optimizers_of(model: keras.Model):
    """The optimizers of a model, those in its attributes and what they wrap."""
    optimizers = [*getattr(model, "optimizers", ())]
    own = getattr(model, "optimizer", None)
    optimizers += [] if own is None else [own]
    for name, value in vars(model).items():
        if not _KERAS.match(name):
            optimizers += [
                leaf
                for leaf in _flat(value)
                if isinstance(leaf, keras.optimizers.Optimizer)
            ]
    optimizers = list(
        {
            id(optimizer): optimizer
            for optimizer in optimizers
            # It is the others, as callbacks see them.
            if not isinstance(optimizer, JointOptimizer)
        }.values()
    )
    for optimizer in optimizers:
        inner = getattr(optimizer, "inner_optimizer", None)
        if inner is not None:
            optimizers.append(inner)
    return optimizers


def describe_variables(model: keras.Model):
    """A description of every variable of a model and of its optimizers.

    Returns:
        Dict from `id` of a `keras.Variable` to a tuple of four strings: the
        attributes that lead to its owner, the owner's class and name, and its
        own name.
    """
    descriptions = {}
    _describe_layer(model, "", descriptions)
    # As an optimizer names what it keeps of a variable.
    roots = {
        variable.path.replace("/", "_") + "_": descriptions[id(variable)]
        for variable in reversed(model.variables)
    }
    for index, optimizer in enumerate(optimizers_of(model)):
        own = f"optimizer {index}", type(optimizer).__name__, ""
        for variable in optimizer.variables:
            # Those of an optimizer inside another are described as its own.
            descriptions[id(variable)] = *own, _slot(variable.name, roots)
    return descriptions


def difference(saved, model) -> str:
    """The first thing in which two lists of descriptions differ."""
    pairs = itertools.zip_longest(saved, model)
    for number, (one, other) in enumerate(pairs, 1):
        if one is None or other is None or not _same(one, other):
            return (
                f"variable {number} of {len(saved)} is {told(one)}, and of "
                f"the {len(model)} of the model {told(other)}"
            )
    # Names that were made up tell an order where they are the same names.
    names = [[name for _, _, name, _ in side] for side in (saved, model)]
    if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
        pairs = zip(saved, model)
        one, other = next(p for p in pairs if p[0][2] != p[1][2])
        return f"{told(one)} is where the model has {told(other)}"
    return ""


def told(description) -> str:
    """A description in words."""
    if description is None:
        return "absent"
    place, owner, name, own = description
    named = f" {name!r}" if name else ""
    return f"`{own}` of {owner}{named}" + (f" at `{place}`" if place else "")


def _describe_layer(layer, place, descriptions):
    """Describes what a layer and those in it own, the innermost first."""
    labels = _attributes(layer)
    for index, part in enumerate(_parts(layer)):
        label = labels.get(id(part), f"[{index}]")
        _describe_layer(part, f"{place}.{label}".lstrip("."), descriptions)
    for variable in layer.variables:
        own = _unnumbered(variable.name, type(variable).__name__)
        description = place, type(layer).__name__, layer.name, own
        descriptions.setdefault(id(variable), description)


def _parts(layer):
    """The layers directly in a layer."""
    return layer._flatten_layers(include_self=False, recursive=False)


def _attributes(layer):
    """The attributes of a layer that hold others, by `id` of these."""
    attributes = {}
    for name, value in vars(layer).items():
        if _KERAS.match(name):
            continue
        if isinstance(value, dict):
            entries = [(f"{name}[{key}]", x) for key, x in value.items()]
        elif isinstance(value, (list, tuple)):
            entries = [(f"{name}[{key}]", x) for key, x in enumerate(value)]
        else:
            entries = [(name, value)]
        for label, entry in entries:
            for leaf in _flat(entry):
                if isinstance(leaf, keras.Layer):
                    attributes.setdefault(id(leaf), label)
    return attributes


def _flat(entry):
    """Leaves of a nest of lists, tuples and dicts."""
    if isinstance(entry, dict):
        entry = list(entry.values())
    if isinstance(entry, (list, tuple)):
        return [leaf for part in entry for leaf in _flat(part)]
    return [entry]


def _slot(name, roots):
    """Name of what an optimizer keeps, and of the variable it is kept for."""
    fitting = [root for root in roots if name.startswith(root)]
    if not fitting:
        return _unnumbered(name, "variable")
    root = max(fitting, key=len)
    place, owner, _, own = roots[root]
    return f"{name.removeprefix(root)} of {place}.{owner}.{own}"


def _same(one, other):
    """Check whether two descriptions may be of one variable."""
    if (one[0], one[1], one[3]) != (other[0], other[1], other[3]):
        return False
    made_up = [not _unnumbered(side[2], side[1]) for side in (one, other)]
    return one[2] == other[2] or all(made_up)


def _unnumbered(name, owner):
    """A name; empty if it is one that Keras makes up for a class."""
    stem = re.sub(r"_\d+$", "", name).replace("_", "").lower()
    return "" if stem == owner.replace("_", "").lower() else name
