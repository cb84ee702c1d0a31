"""Steps that are not finite."""

import functools

import keras
import tensorflow as tf

from tfcap._ops import num_replicas
from tfcap._ops import sum_over_replicas
from tfcap.training.accumulation import advance

_CHOICES = ("raise", "skip", "ignore")
_FOUND = "tfcap: not finite: "
_END = " (end)"


def check_nonfinite(nonfinite: str):
    """Returns the argument `nonfinite` of a model, if it is one."""
    if nonfinite not in _CHOICES:
        raise ValueError(
            f"`nonfinite` must be one of {', '.join(map(repr, _CHOICES))}. "
            f"Received: nonfinite={nonfinite!r}."
        )
    return nonfinite


def apply_if_finite(steps, causes, nonfinite):
    """Takes steps of optimizers, all of them or none.

    Every replica decides the same, from the sum of what they found.

    Args:
        causes: List of dicts of float scalar tensors, by what to call them.
            Of what is not finite, the first dict with any of it is named.
        nonfinite: String, `"raise"`, `"skip"` or `"ignore"`.
    """

    def apply(strategy, gradients):
        for step, own in zip(steps, gradients):
            advance(strategy, step, own)
        return tf.constant(True)

    gradients = [step.gradients for step in steps]
    if nonfinite == "ignore":
        context = tf.distribute.get_replica_context()
        return context.merge_call(apply, args=(gradients,))
    names = [name for cause in causes for name in cause]
    ranks = [i for i, cause in enumerate(causes) for _ in cause]
    values = tf.stack(
        [tf.cast(v, tf.float32) for cause in causes for v in cause.values()]
    )
    values = sum_over_replicas(values) / num_replicas()
    finite = tf.reduce_all(tf.math.is_finite(values))

    def refuse(finite, values):
        if nonfinite == "raise":
            text = _FOUND + _names(values, names, ranks) + _END
            tf.debugging.Assert(finite, [text])
        return tf.constant(False)

    _either(finite, values, gradients, apply, refuse)
    return finite


def _names(values, names, ranks):
    """String tensor that tells which values are not finite."""
    bad = tf.logical_not(tf.math.is_finite(values))
    first = tf.reduce_min(tf.boolean_mask(ranks, bad))
    texts = tf.strings.join([names, tf.strings.as_string(values)], " is ")
    shown = tf.logical_and(bad, tf.equal(ranks, first))
    return tf.strings.reduce_join(tf.boolean_mask(texts, shown), separator=", ")


def _either(finite, values, gradients, apply, refuse):
    """Applies gradients if a tensor is true, and refuses them otherwise."""

    def decide(strategy, finite, values, gradients):
        finite, values = (
            strategy.experimental_local_results(x)[0] for x in (finite, values)
        )

        tf.cond(
            finite,
            lambda: apply(strategy, gradients),
            lambda: refuse(finite, values),
        )

    # A condition inside a replica could not hold an optimizer's step, which
    # is taken by all replicas together.
    tf.distribute.get_replica_context().merge_call(
        decide, args=(finite, values, gradients)
    )


def explained(train_function, optimizer):
    """A train function that tells of a step that is not finite in one line."""

    @functools.wraps(train_function)
    def run(*args):
        try:
            return train_function(*args)
        except tf.errors.InvalidArgumentError as error:
            _, marker, rest = error.message.partition(_FOUND)
            if not marker:
                raise
        message = rest.partition(_END)[0]
        done = int(keras.ops.convert_to_numpy(optimizer.iterations))
        raise FloatingPointError(
            "Losses, rewards and gradients must be finite. Received: "
            f"{message}, after {done} updates. The weights are those of the "
            "last update. See what is named, lower the learning rate, clip the "
            'gradient with `global_clipnorm`, or give `nonfinite="skip"`, '
            "which leaves such steps out and counts them."
        )

    return run


def what_was_computed(objective, losses, logs, learner: str = ""):
    """Rewards and losses of an objective, by what to call them."""
    rewards = {
        f"`{learner}{name}`": logs[name]
        for name in objective.reward_names()
        if name in logs
    }
    terms = {f"the loss of `{learner}{n}`": v for n, v in losses.items()}
    return rewards, terms
