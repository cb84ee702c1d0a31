"""Checks of networks, objectives and optimizers before training."""

from typing import Any

import keras

from tfcap.training.backends import backend

#: Of `compile()`: the objective is the loss, and logs its own means.
_OBJECTIVES = ("loss", "loss_weights", "metrics", "weighted_metrics")
#: Of an optimizer, what Keras would do to each replica's gradient alone.
_OWN = (
    *("gradient_accumulation_steps", "global_clipnorm"),
    *("clipnorm", "clipvalue"),
)


def check_built(network: Any, name: str):
    """Rejects a network without weights, and says how to build it."""
    if getattr(network, "built", False):
        return
    remedy = "Call it on a batch, or `build()` it, first."
    if not isinstance(network, keras.layers.Layer):
        remedy = "Derive its class from `keras.Model`, which knows its weights."
    elif type(network).call in (keras.Model.call, keras.layers.Layer.call):
        remedy = (
            "It has no `call()`: let it read a batch once, as by "
            "`speaker.log_probs(speaker.begin(batch), "
            "speaker.references(batch))`, and set `speaker.built = True`."
        )
    raise ValueError(
        f"{name} must be built. Received: {network!r} without weights. {remedy}"
    )


def check_learner(name: str, learner: Any, networks: list):
    """Rejects a learner that is not built, or with networks not trained.

    Args:
        networks: List of the networks of all learners.
    """
    check_built(learner.network, f"Learner `{name}`")
    owned = {id(v) for network in networks for v in network.variables}
    for layer in learner.objective.layers():
        if any(id(v) not in owned for v in layer.trainable_variables):
            raise ValueError(
                f"Learner `{name}` must have an objective whose networks are "
                f"learners, too. Received: {layer.name!r}, which would not be "
                "trained. Make it the `network` of a Learner with the same "
                "objective, or set its `trainable` to `False`."
            )


def checked_optimizers(model: Any, optimizer: Any, options: dict) -> list:
    """Returns the optimizers of the learners, in their order.

    Args:
        model: `tfcap.training.JointTraining`.
        optimizer, options: Arguments of its `compile()`.

    Raises:
        ValueError: If the names differ, or an option is set that would fail,
            or change its meaning, during a run.
    """
    for name in _OBJECTIVES:
        if options.get(name):
            raise ValueError(
                f"`{name}` must be None, since the objective is the loss, and "
                f"logs its rewards. Received: {name}={options[name]!r}. Make "
                "it a term of the objective, such as your own estimator, or a "
                "callback."
            )
    strategy = backend.strategy_of(model)
    replicas = strategy.num_replicas_in_sync if strategy else 1
    steps = options.get("steps_per_execution", 1)
    whole = model.clipped_ratio or model.period > 1
    if steps != 1 and (whole or replicas > 1):
        raise ValueError(
            "`steps_per_execution` must be 1 for learners that take turns, "
            "for several updates of a rollout, and on several devices. "
            f"Received: steps_per_execution={steps}."
        )
    names, given = list(model.learners), optimizer
    if not isinstance(optimizer, dict | None) and len(names) == 1:
        given = {names[0]: optimizer}
    if set(given or {}) != set(names):
        raise ValueError(
            "`optimizer` must be a dict with exactly the keys "
            f"{', '.join(map(repr, names))}, the learners. Received: "
            f"optimizer={optimizer!r}. Call `compile({{{names[0]!r}: "
            "keras.optimizers.Adam(), ...})`."
        )
    optimizers = [keras.optimizers.get(given[name]) for name in names]
    if len({id(own) for own in optimizers}) < len(names):
        raise ValueError(
            "`optimizer` must hold a separate object for every learner. "
            f"Received: optimizer={optimizer!r}. Make one for each."
        )
    for own in optimizers if replicas > 1 else ():
        own = getattr(own, "inner_optimizer", own)
        for name in _OWN:
            if getattr(own, name) is not None:
                raise ValueError(
                    f"`{name}` of an optimizer must be None on {replicas} "
                    f"devices, where Keras clips the gradient of each device "
                    f"and cannot accumulate. Received: {own.name!r} with "
                    f"{name}={getattr(own, name)}. Use the `global_clipnorm` "
                    "of a Learner, or larger batches."
                )
    return optimizers


def refusal_to_save(model: keras.Model, network: str) -> NotImplementedError:
    """Returns the error of saving a training model."""
    return NotImplementedError(
        "Only networks can be saved. Received: the training model "
        f"{model.name!r}. Save its network, "
        f"`training.{network}.save('{network}.keras')`; weights alone by "
        "`training.save_weights('training.weights.h5')` or "
        "`ModelCheckpoint(..., save_weights_only=True)`; or a run to resume, "
        "by `tfcap.training.Resume`."
    )
