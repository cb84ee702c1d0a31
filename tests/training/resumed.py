"""Training that goes on from a folder, for tests."""

from tfcap.training import Resume


def fit(model, batches, epochs, directory, callbacks=(), verbose=0, **options):
    """Trains on batches that are functions of the step."""
    return model.fit(
        batches.dataset(epochs),
        epochs=epochs,
        steps_per_epoch=batches.steps_per_epoch,
        shuffle=False,
        # First or last, it is the last one that is called.
        callbacks=[Resume(directory, **options), *callbacks],
        verbose=verbose,
    )
