"""Checks that refuse, before training begins, what it cannot do."""

from typing import Any

import keras
import tensorflow as tf

from tfcap.training.multi_worker_strategy import MultiWorkerStrategy

#: Of `compile()`: the objective is the loss, and logs its own means.
_OBJECTIVES = ("loss", "loss_weights", "metrics", "weighted_metrics")
#: Of an optimizer, what concerns the gradient of the global batch.
_OWN = (
    *("gradient_accumulation_steps", "global_clipnorm"),
    *("clipnorm", "clipvalue"),
)


def check_built(network: Any, name: str):
    """Refuses a network without weights; says how this one gets them."""
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


def check_compile(strategy, optimizers, options: dict):
    """Refuses what would fail, or differ, in the middle of a run."""
    for name in _OBJECTIVES:
        if options.get(name):
            raise ValueError(
                f"`{name}` must be None: the objective is what is trained "
                f"for, and logs its rewards. Received: {name}="
                f"{options[name]!r}. Make it a term of the objective, such "
                "as an estimator of your own, or a callback."
            )
    if options.get("jit_compile", "auto") is True:
        raise ValueError(
            '`jit_compile` must be False or "auto". Received: '
            "jit_compile=True. A step whose rewards may compute on the host "
            "cannot be compiled as one. Leave the argument out: rewards that "
            "can be compiled have a `jit_compile` of their own."
        )
    _check_strategy(strategy)
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return
    steps = options.get("steps_per_execution", 1)
    if steps != 1:
        raise ValueError(
            f"`steps_per_execution` must be 1 on {replicas} devices. Received: "
            f"steps_per_execution={steps}. Keras cannot run several "
            "distributed steps in one graph. Leave the argument out, or train "
            "on one device."
        )
    for optimizer in optimizers:
        _check_scaled(optimizer, f"on {replicas} devices")


def _check_strategy(strategy):
    servers = tf.distribute.experimental.ParameterServerStrategy
    workers = tf.distribute.MultiWorkerMirroredStrategy
    plain = isinstance(strategy, workers) and not isinstance(
        strategy, MultiWorkerStrategy
    )
    if plain or isinstance(strategy, servers):
        raise ValueError(
            "The scope of a model must be of a strategy that Keras trains "
            f"under. Received: {type(strategy).__name__}, under which its "
            "`fit()` fails. Take `tfcap.training.open_strategy()`, or "
            "`MultiWorkerStrategy`, for several workers."
        )


def refusal_to_save(model, network):
    """The error of who saves what trains; Keras would leave a broken file."""
    return NotImplementedError(
        "What is saved must be a network. Received: the training model "
        f"{model.name!r}. Save what it trains, "
        f"`training.{network}.save('{network}.keras')`; weights alone by "
        "`training.save_weights('training.weights.h5')` or "
        "`ModelCheckpoint(..., save_weights_only=True)`; or a run that goes "
        "on, by `tfcap.training.Resume`."
    )


def check_callbacks(model, callbacks: list):
    """Refuses callbacks of Keras that would fail, or do nothing, later.

    Raises:
        ValueError: If one is set as no model, or not this one, can use it.
        NotImplementedError: If one would save the whole model.
    """
    known = keras.callbacks
    optimizers = getattr(model.optimizer, "optimizers", [model.optimizer])
    optimizers = [getattr(o, "inner_optimizer", o) for o in optimizers]
    has_loss = any(metric.name == "loss" for metric in model.metrics)
    for callback in callbacks:
        kind = type(callback)
        saves = kind in (known.ModelCheckpoint, known.OrbaxCheckpoint)
        if saves and not callback.save_weights_only:
            raise refusal_to_save(model, "speaker")
        if kind in (known.LearningRateScheduler, known.ReduceLROnPlateau):
            _check_rates(kind.__name__, optimizers)
        if kind is known.SwapEMAWeights and not any(
            optimizer.use_ema for optimizer in optimizers
        ):
            raise ValueError(
                "`use_ema` of an optimizer must be True for SwapEMAWeights. "
                "Received: use_ema=False. Compile with an optimizer such as "
                "`keras.optimizers.Adam(use_ema=True)`."
            )
        if (
            kind is known.TerminateOnNaN
            and model.nonfinite == "ignore"
            and not has_loss
        ):
            raise ValueError(
                '`nonfinite` must be "raise" for a run to end at a loss that '
                "is NaN: TerminateOnNaN looks at `loss`, of which several "
                'learners have one each. Received: nonfinite="ignore".'
            )
        if kind in (known.EarlyStopping, known.ReduceLROnPlateau) or (
            saves and callback.save_best_only
        ):
            _check_monitor(callback, has_loss)


def _check_rates(name, optimizers):
    for optimizer in optimizers:
        if not isinstance(optimizer.learning_rate, keras.Variable):
            raise ValueError(
                f"`learning_rate` must be a number for {name}, which sets it. "
                f"Received: a schedule in {optimizer.name!r}. Leave one of "
                "the two out."
            )


def _check_monitor(callback, has_loss):
    monitor, name = callback.monitor, type(callback).__name__
    is_loss = monitor in ("loss", "val_loss")
    if is_loss and not has_loss:
        raise ValueError(
            f"`monitor` of {name} must be a value that is logged. Received: "
            f"monitor={monitor!r}, where every learner has a loss of its own. "
            f"Name one, such as '{monitor.replace('loss', 'speaker_loss')}' "
            "with `mode='min'`, or a score with `mode='max'`."
        )
    if not is_loss and callback.mode == "auto":
        raise ValueError(
            f"`mode` of {name} must be 'min' or 'max' for monitor={monitor!r}, "
            "of which Keras cannot know the better direction. Received: "
            "mode='auto'. Rewards and scores go up, 'max'; losses go down, "
            "'min'."
        )


def check_clipnorm(optimizer, global_clipnorm: float | None):
    """Refuses a norm to which Keras would clip each of several batches."""
    if global_clipnorm is not None:
        place = f"where `global_clipnorm` of the model is {global_clipnorm}"
        _check_scaled(optimizer, place, ["gradient_accumulation_steps"])


def _check_scaled(optimizer, place, names=_OWN):
    """Refuses settings of an optimizer inside of one that scales the loss.

    Keras obeys them on each device, after it has looked for overflow there.
    """
    inner = getattr(optimizer, "inner_optimizer", None)
    for name in names if inner is not None else ():
        value = getattr(inner, name)
        if value is not None:
            raise ValueError(
                f"`{name}` of an optimizer that scales the loss must be None "
                f"{place}. Received: {inner.name!r} with {name}={value}. Train "
                "in bfloat16, which needs no scaling, or leave it out."
            )
