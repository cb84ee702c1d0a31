"""Keeps networks of this version: `python -m tests.models.save_release`.

Run it once a release. Later versions must load them and give the same numbers.
"""

import pathlib

import keras
import numpy as np

import tfcap


def networks():
    """Pairs of name and network, whose weights are of one seed."""
    keras.utils.set_random_seed(0)
    models = tfcap.models
    yield "show_tell", models.ShowTellSpeaker(9, units=3, embedding_units=2)
    yield "transformer", models.TransformerSpeaker(9, 4, layers=1, heads=2)
    yield "listener", models.RetrievalListener(9, units=3, embedding_units=2)


def main() -> None:
    """Writes what the folder of this version lacks."""
    folder = pathlib.Path(__file__).parent / "saved" / tfcap.__version__
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    inputs = {
        "image": rng.normal(size=(2, 4, 3)).astype("float32"),
        "caption": np.array([[[5, 6, 2]], [[7, 2, 0]]], "int32"),
    }
    for name, network in networks():
        if (folder / f"{name}.keras").exists():
            continue
        said = keras.ops.convert_to_numpy(network(inputs))
        network.save(folder / f"{name}.keras")
        np.savez(folder / f"{name}.npz", said=said, **inputs)
        print(folder / name)


if __name__ == "__main__":
    main()
