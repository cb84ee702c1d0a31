import io
import zipfile

import h5py
import keras
import numpy as np
import pytest

from tfcap.training.network_file import load_network

SECRET = np.arange(60.0).astype("<f2").reshape(3, 4, 5)


def external(file, secret, shape, kind="<f2"):
    file.create_dataset(
        "features", shape, kind, external=[(str(secret), 0, h5py.h5f.UNLIMITED)]
    )


def virtual(file, secret, shape):
    layout = h5py.VirtualLayout(shape, "<f2")
    layout[...] = h5py.VirtualSource(str(secret), "features", shape)
    file.create_virtual_dataset("features", layout)


def linked(file, secret, shape):
    file["features"] = h5py.ExternalLink(str(secret), "features")


def soft(file, secret, shape):
    file["hidden"] = SECRET
    file["features"] = h5py.SoftLink("/hidden")


def unpacking(file, secret, shape):
    zeros = {"chunks": (shape[0], 64, 64), "compression": "gzip"}
    file.create_dataset("features", (shape[0], 4096, 4096), "<f2", **zeros)


WAYS = [external, virtual, linked, soft, unpacking]


def secret_file(tmp_path, way):
    """Another user's file, as raw bytes or as HDF5."""
    path = tmp_path / "secret"
    if way is external:
        path.write_bytes(SECRET.tobytes())
    else:
        with h5py.File(path, "w") as file:
            file["features"] = SECRET
    return path


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "network.keras"
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(5)]).save(path)
    return path.read_bytes()


def with_weights(data, change):
    """A network whose weights are others."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                content = old.read(name)
                if name.endswith(".h5"):
                    content = change(io.BytesIO(content))
                new.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize("way", WAYS)
def test_networks_with_weights_of_other_files_are_refused(
    tmp_path, network, way
):
    def change(file):
        with h5py.File(file, "r+") as opened:
            kept = opened["layers/dense/vars"]
            del kept["0"]
            way(kept, secret_file(tmp_path, way), (4, 5))
            kept.move("features", "0")
        return file.getvalue()

    path = tmp_path / "network.keras"
    path.write_bytes(with_weights(network, lambda file: file.getvalue()))
    assert load_network(path).count_params() == 25
    path.write_bytes(with_weights(network, change))
    with pytest.raises(ValueError, match="can load.*network.keras"):
        load_network(path)


def test_weights_of_a_backbone_take_none_of_other_files(tmp_path):
    path = tmp_path / "vgg19.h5"
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [b"dense"]
        file.create_group("dense").attrs["weight_names"] = [b"features"]
        linked(file["dense"], secret_file(tmp_path, linked), None)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5)])
    with pytest.raises(ValueError, match="ExternalLink"):
        model.load_weights(path)
