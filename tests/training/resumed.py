"""Training that goes on from a folder, for tests."""

from tfcap.training import Resume
from tfcap.training.checkpoint import RunCheckpoint


def fit(model, batches, epochs, directory, callbacks=(), verbose=0, **options):
    """Trains on batches that are functions of the step."""
    return Resume(directory, **options).fit(
        model,
        batches.dataset(epochs),
        epochs=epochs,
        callbacks=callbacks,
        verbose=verbose,
    )


def save(model, epoch, directory):
    """Writes a checkpoint of a model."""
    checkpoint = RunCheckpoint(directory)
    checkpoint.find(model)
    checkpoint.save(model, epoch)


def restore(model, directory):
    """Sets a model to a checkpoint; returns the number of epochs done."""
    checkpoint = RunCheckpoint(directory)
    checkpoint.find(model)
    checkpoint.set(model)
    return checkpoint.about.get("epoch", 0)


def epochs_done(directory):
    """Number of epochs that are on disk."""
    checkpoint = RunCheckpoint(directory)
    checkpoint.load()
    return checkpoint.about.get("epoch", 0)
