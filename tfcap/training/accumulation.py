"""Steps of optimizers, of the gradients of one batch or of several."""

import tensorflow as tf

from tfcap._ops import num_replicas


def accumulation_steps(optimizer) -> int:
    """Batches of which an optimizer takes one step."""
    return optimizer.gradient_accumulation_steps or 1


def clips(optimizer) -> bool:
    """Check whether an optimizer clips gradients by itself."""
    limits = optimizer.clipnorm, optimizer.global_clipnorm, optimizer.clipvalue
    return any(limit is not None for limit in limits)


def advance(strategy, step, gradients):
    """Takes an optimizer's step, or adds up gradients until it is due.

    Keras decides inside of a replica, where no step can be taken under a
    condition, and sums over replicas only then: its sums differ by replica,
    and a checkpoint would hold one of them.

    Args:
        strategy: `tf.distribute.Strategy`, whose replicas all wait.
        step: `Step`.
        gradients: List of the gradients of every replica. Where the optimizer
            accumulates, those of the global batch, not clipped.
    """
    optimizer, run = step.optimizer, strategy.extended.call_for_each_replica
    count = accumulation_steps(optimizer)
    if count == 1:
        run(lambda own: optimizer.apply(own, step.variables), (gradients,))
        return
    sums = [
        optimizer._accumulated_gradients[optimizer._get_variable_index(v)].value
        for v in step.variables
    ]

    def add():
        for total, gradient in zip(sums, gradients):
            strategy.extended.update(
                total,
                lambda total, own: total.assign_add(tf.cast(own, total.dtype)),
                args=(gradient,),
                group=False,
            )
        return tf.constant(False)

    def update():
        run(lambda own: _update(step, own, sums), (gradients,))
        for total in sums:
            total.assign(tf.zeros(total.shape, total.dtype))
        _finish(optimizer, step.variables)
        return tf.constant(True)

    tf.cond(tf.equal((optimizer._iterations + 1) % count, 0), update, add)
    optimizer._iterations.assign_add(1)


def _update(step, gradients, sums):
    """A replica's part in the step of the mean of all gradients."""
    optimizer, clipnorm = step.optimizer, step.global_clipnorm
    count = accumulation_steps(optimizer)
    means = [(total + own) / count for total, own in zip(sums, gradients)]
    if clipnorm is not None:
        means, _ = tf.clip_by_global_norm(means, clipnorm)
    means = optimizer._clip_gradients(means)
    # Keras sums over replicas.
    shares = [mean / num_replicas() for mean in means]
    optimizer._apply_weight_decay(step.variables)
    rate = optimizer.learning_rate
    optimizer._backend_update_step(shares, step.variables, rate)


def _finish(optimizer, variables):
    """Follows a step, as Keras does: constraints and moving averages."""
    for variable in variables:
        if variable.constraint is not None:
            variable.assign(variable.constraint(variable))
    if not optimizer.use_ema:
        return
    variables = optimizer._trainable_variables
    optimizer._update_model_variables_moving_average(variables)
    every = optimizer.ema_overwrite_frequency
    if every:

        def overwrite():
            optimizer._overwrite_model_variables_with_average_value(variables)
            return tf.constant(True)

        due = tf.equal((optimizer.iterations + 1) % every, 0)
        tf.cond(due, overwrite, lambda: tf.constant(False))
