"""Runs saved decodes in a process that has no tfcap.

    python -I load_saved_model.py FOLDER

Beside each SavedModel of the folder stand its inputs, `NAME.npz`; what its
signature returns is written to `NAME.found.npz`, with the gradient to the
image where there are log probabilities.
"""

import pathlib
import sys


def main(folder):
    sys.modules["tfcap"] = None
    import numpy as np
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": True}
    )
    for path in sorted(pathlib.Path(folder).glob("*/saved_model.pb")):
        served = tf.saved_model.load(path.parent)
        with np.load(path.parent.with_suffix(".npz")) as file:
            inputs = {name: tf.constant(file[name]) for name in file.files}
        with tf.GradientTape() as tape:
            tape.watch(inputs["image"])
            said = served.signatures["serving_default"](**inputs)
            scores = [said[name] for name in said if "log_probs" in name]
            score = sum(map(tf.reduce_sum, scores), 0.0)
        if scores:
            said["gradient"] = tape.gradient(score, inputs["image"])
        np.savez(path.parent.with_suffix(".found.npz"), **said)


if __name__ == "__main__":
    main(sys.argv[1])
