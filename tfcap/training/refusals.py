"""Checks that refuse, before training begins, what it cannot do."""

from typing import Any

import keras

#: Of `compile()`: the objective is the loss, and logs its own means.
_OBJECTIVES = ("loss", "loss_weights", "metrics", "weighted_metrics")
#: Of an optimizer, what Keras would do to each replica's gradient alone.
_OWN = (
    *("gradient_accumulation_steps", "global_clipnorm"),
    *("clipnorm", "clipvalue"),
)


def check_built(network: Any, name: str):
    """Rejects a network without weights; says how this one gets them."""
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
    """Rejects a learner that is not built, or whose objective nobody trains.

    Args:
        networks: List of the networks of all learners.
    """
    check_built(learner.network, f"Learner `{name}`")
    owned = {id(v) for network in networks for v in network.variables}
    for layer in learner.objective.layers():
        if any(id(v) not in owned for v in layer.trainable_variables):
            raise ValueError(
                f"Learner `{name}` must have an objective whose networks are "
                f"learners, too. Received: {layer.name!r}, which nobody "
                "trains. Make it the `network` of a Learner with the same "
                "objective, or set its `trainable` to `False`."
            )


def checked_optimizers(model: Any, optimizer: Any, options: dict) -> list:
    """Returns the optimizers of the learners, in their order.

    Args:
        model: `tfcap.training.JointTraining`.
        optimizer, options: Arguments of its `compile()`.

    Raises:
        ValueError: If the names differ, or something is set that would fail,
            or be something else, in the middle of a run.
    """
    for name in _OBJECTIVES:
        if options.get(name):
            raise ValueError(
                f"`{name}` must be None: the objective is what is trained "
                f"for, and logs its rewards. Received: {name}="
                f"{options[name]!r}. Make it a term of the objective, such "
                "as an estimator of your own, or a callback."
            )
    strategy = getattr(model, "distribute_strategy", None)
    replicas = strategy.num_replicas_in_sync if strategy else 1
    steps = options.get("steps_per_execution", 1)
    whole = model.clipped_ratio or model.period > 1
    if steps != 1 and (whole or replicas > 1):
        raise ValueError(
            "`steps_per_execution` must be 1 with turns, several updates a "
            "rollout, or on several devices. Received: "
            f"steps_per_execution={steps}."
        )
    names, given = list(model.learners), optimizer
    if not isinstance(optimizer, dict | None) and len(names) == 1:
        given = {names[0]: optimizer}
    if set(given or {}) != set(names):
        raise ValueError(
            "`optimizer` must be a dict with exactly the keys "
            f"{', '.join(map(repr, names))}, who learn. Received: optimizer="
            f"{optimizer!r}. Give `compile({{{names[0]!r}: "
            "keras.optimizers.Adam(), ...})`."
        )
    optimizers = [keras.optimizers.get(given[name]) for name in names]
    if len({id(own) for own in optimizers}) < len(names):
        raise ValueError(
            "`optimizer` must be one of its own for every network that "
            f"learns. Received: optimizer={optimizer!r}."
        )
    for own in optimizers if replicas > 1 else ():
        own = getattr(own, "inner_optimizer", own)
        for name in _OWN:
            if getattr(own, name) is not None:
                raise ValueError(
                    f"`{name}` of an optimizer must be None on {replicas} "
                    f"devices, where Keras clips the gradient of each and "
                    f"cannot add up batches. Received: {own.name!r} with "
                    f"{name}={getattr(own, name)}. Clip by the "
                    "`global_clipnorm` of a Learner; take larger batches."
                )
    return optimizers


def refusal_to_save(model: keras.Model, network: str) -> NotImplementedError:
    """The error of who saves what trains; Keras would leave a broken file."""
    return NotImplementedError(
        "What is saved must be a network. Received: the training model "
        f"{model.name!r}. Save what it trains, "
        f"`training.{network}.save('{network}.keras')`; weights alone by "
        "`training.save_weights('training.weights.h5')` or "
        "`ModelCheckpoint(..., save_weights_only=True)`; or a run that goes "
        "on, by `tfcap.training.Resume`."
    )
