"""Loads saved networks after its rooms are imported; a process of its own.

Exits with 0 if each gives the outputs that stand beside it.
"""

import pathlib
import sys

import keras
import numpy as np

import tfcap.losses
import tfcap.models

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    for path in sorted(folder.glob("*.keras")):
        network = keras.saving.load_model(path)
        if not type(network).__module__.startswith(tfcap.__name__):
            raise SystemExit(f"{path.stem} was loaded as {type(network)}")
        with np.load(path.with_suffix(".npz")) as file:
            inputs = {key: file[key] for key in file.files if key != "said"}
            said = keras.ops.convert_to_numpy(network(inputs))
            if not np.array_equal(said, file["said"]):
                raise SystemExit(f"{path.stem} says something else")
        print(path.stem)
