"""Loads saved networks after its rooms are imported; a process of its own.

Exits with 0 if each gives the outputs that stand beside it.
"""

import importlib
import pathlib
import sys

import keras
import numpy as np

import tfcap

if __name__ == "__main__":
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.keras"))
    try:
        keras.saving.load_model(paths[0])
        raise SystemExit("it knew a network of a room that is not imported")
    except TypeError as error:
        if "tfcap.models" not in str(error):
            raise
    for room in ("losses", "models"):
        importlib.import_module(f"tfcap.{room}")
    for path in paths:
        network = keras.saving.load_model(path)
        if not type(network).__module__.startswith(tfcap.__name__):
            raise SystemExit(f"{path.stem} was loaded as {type(network)}")
        with np.load(path.with_suffix(".npz")) as file:
            inputs = {key: file[key] for key in file.files if key != "said"}
            said = keras.ops.convert_to_numpy(network(inputs))
            if not np.array_equal(said, file["said"]):
                raise SystemExit(f"{path.stem} says something else")
        print(path.stem)
