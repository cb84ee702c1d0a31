"""Training captioning and visual dialog models through discrete words."""

import sys

# `python -m tfcap.evaluate` is about words alone, and `python -m tfcap.launch`
# about processes: they start at once, without waiting for TensorFlow. (Python
# says "-m" until it has found the module.)
_ALONE = {"tfcap.evaluate", "tfcap.launch"}
if sys.argv[:1] != ["-m"] or not _ALONE & set(sys.orig_argv):
    import keras

    from tensorboard_plugin_tfcap.notebook import show_tradeoff
    from tfcap import data
    from tfcap import decoding
    from tfcap import layers
    from tfcap import losses
    from tfcap import metrics
    from tfcap import models
    from tfcap import objectives
    from tfcap import ops
    from tfcap import rewards
    from tfcap import text

    # Layers, losses and ops also serve Keras models on other backends;
    # training is TensorFlow's.
    if keras.backend.backend() == "tensorflow":
        from tfcap import training

__version__ = "0.1.0"
