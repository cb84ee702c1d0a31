"""The training step's part that each backend of Keras does its own way."""

import keras

__all__ = ["backend"]

if keras.backend.backend() == "jax":
    from tfcap.training import _jax as backend
else:
    from tfcap.training import _tensorflow as backend
