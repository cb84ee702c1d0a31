"""Rates of dropout of a network's layers, and switching them off."""

import keras

#: Attributes that hold a rate of dropout, in Keras' layers and in ours.
RATES = (
    "rate",
    "dropout",
    "recurrent_dropout",
    "image_dropout",
    "word_dropout",
    "block_dropout",
    "condition_dropout",
)


def dropout_rates(layer: keras.layers.Layer) -> dict[str, float]:
    """Rates of dropout that a layer holds itself, by the attribute's name.

    Those of its sublayers are not in it.
    """
    values = {name: getattr(layer, name, None) for name in RATES}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def without_dropout(network: keras.layers.Layer) -> keras.layers.Layer:
    """Turns off the dropout of a network, in all its layers.

    What was compiled before keeps its dropout: call it before `fit()`.

    Args:
        network: `keras.layers.Layer`, such as a speaker or a listener.

    Returns:
        The network.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=8, dropout=0.5)
    >>> tfcap.models.without_dropout(speaker).dropout.rate
    0.0
    """
    for layer in network._flatten_layers():
        for name in dropout_rates(layer):
            # A recurrent layer of Keras shows the rates of its cell.
            if not isinstance(getattr(type(layer), name, None), property):
                setattr(layer, name, 0.0)
    return network


def uses_training(layer: keras.layers.Layer) -> bool:
    """Check whether a layer, sublayers apart, differs in training.

    True of batch normalization, and of a layer that can draw random numbers,
    unless all its rates of dropout are 0.
    """
    if isinstance(layer, keras.layers.BatchNormalization):
        return True
    rates = dropout_rates(layer).values()
    draws = bool(getattr(layer, "_seed_generators", ()))
    return draws and (not rates or any(rate > 0 for rate in rates))
