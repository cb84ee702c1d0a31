"""A row that is trained for a step, and not kept."""

import dataclasses


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
