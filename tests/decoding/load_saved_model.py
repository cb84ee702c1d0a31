"""Runs saved decodes in a process that has no tfcap.

    python -I load_saved_model.py FOLDER

Beside each SavedModel of the folder stand its inputs, `NAME.npz`; what its
signatures return is written to `NAME.found.npz`, with the gradient to the
image where there are log probabilities.
"""

import pathlib
import sys


def main(folder):
    sys.modules["tfcap"] = None
    import numpy as np
    import tensorflow as tf

    for path in sorted(pathlib.Path(folder).glob("*/saved_model.pb")):
        served, found = tf.saved_model.load(path.parent), {}
        with np.load(path.parent.with_suffix(".npz")) as file:
            inputs = {name: tf.constant(file[name]) for name in file.files}
        for name, signature in served.signatures.items():
            with tf.GradientTape() as tape:
                tape.watch(inputs["image"])
                said = signature(**inputs)
                score = tf.reduce_sum(said.get("log_probs", 0.0))
            if "log_probs" in said:
                said["gradient"] = tape.gradient(score, inputs["image"])
            found |= {f"{name}.{key}": x.numpy() for key, x in said.items()}
        np.savez(path.parent.with_suffix(".found.npz"), **found)


if __name__ == "__main__":
    main(sys.argv[1])
