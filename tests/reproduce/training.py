"""Rows that are trained for a step, or broken off in the midst of training."""

import dataclasses

import keras


def one_step(experiment, row, **point):
    """Networks of a row by role after a step of each of its learners."""
    # Rates that rise are 0 in the first step.
    experiment.settings = dataclasses.replace(
        experiment.settings, warm_up_steps=0
    )
    training = experiment.training(row, **point)
    if training.prepare:
        training.prepare()
    model = experiment.compiled(training)
    steps = getattr(model, "period", 1)
    model.fit(
        training.batches.dataset(steps).take(steps),
        steps_per_epoch=steps,
        shuffle=False,
        callbacks=[*training.callbacks],
        verbose=0,
    )
    return training.networks


class Interruption(keras.callbacks.Callback):
    """Breaks off in the second epoch, as Ctrl-C does."""

    def on_train_batch_begin(self, batch, logs=None):
        if self.model.optimizers[0].iterations > self.params["steps"]:
            raise KeyboardInterrupt


def break_off(experiment, row):
    """Trains a row into its second epoch."""
    training = experiment.training(row)._replace(callbacks=[Interruption()])
    experiment.training = lambda row, **point: training
    try:
        experiment.trained(row)
    except KeyboardInterrupt:
        return
    raise RuntimeError("it ended")


def moved(before, after):
    """Whether weights differ."""
    return any((a != b).any() for a, b in zip(before, after, strict=True))


def weights(networks):
    return {role: network.get_weights() for role, network in networks.items()}
