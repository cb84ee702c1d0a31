"""Training that goes on from a folder, for tests."""

from tfcap.training import Resume


def fit(model, batches, epochs, directory, callbacks=(), verbose=0, **options):
    """Trains on batches that are functions of the step."""
    return Resume(directory, **options).fit(
        model,
        batches.dataset(epochs),
        epochs=epochs,
        callbacks=callbacks,
        verbose=verbose,
    )
