"""Tensors of a file that PyTorch saved, without PyTorch."""

import collections
import math
import os
import pickle
import zipfile

import numpy as np
from numpy.typing import NDArray

# Parts of the old format: its mark, its version, the system that wrote it.
_MAGIC = 0x1950A86A20F9469CFC6C
_DTYPES = {
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "DoubleStorage": "<f8",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}


def read_torch_weights(path: str | os.PathLike) -> dict[str, NDArray]:
    """Reads a `state_dict` that PyTorch saved, in its format until 1.5.

    Nothing that the file names is run or imported: it can make dicts and
    tensors of numbers, and anything else is refused.

    Args:
        path: String or path of a `.pth` file.

    Returns:
        Dict of arrays, by the names of the weights.

    Raises:
        ValueError: If the file is of another format, is damaged, or holds
            anything but tensors.
    """
    try:
        with open(path, "rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except (
        *(pickle.UnpicklingError, EOFError, AttributeError, TypeError),
        *(IndexError, KeyError, ImportError, ValueError),
    ) as error:
        recent = zipfile.is_zipfile(path)
        raise ValueError(
            "`path` must be a `state_dict` of tensors in PyTorch's format "
            f"until 1.5. Received: {os.fspath(path)!r} ({error}). "
            + (
                "Save it with `_use_new_zipfile_serialization=False`."
                if recent
                else "Install the package that brings it again."
            )
        ) from error


def _read(file, size):
    header = [_Unpickler(file).load() for _ in range(3)]
    if header[0] != _MAGIC or not header[2].get("little_endian"):
        raise ValueError("it does not begin as such files do")
    tensors = _Unpickler(file).load()
    storages = {}
    for key in _Unpickler(file).load():
        dtype, count = _storage(tensors, key)
        stored = int(np.frombuffer(file.read(8), "<i8")[0])
        if stored != count or count * dtype.itemsize > size - file.tell():
            raise ValueError(f"{stored} numbers for {count} of storage {key}")
        data = file.read(count * dtype.itemsize)
        storages[key] = np.frombuffer(data, dtype)
    return {
        name: _tensor(storages[part.key], part)
        for name, part in tensors.items()
    }


_Part = collections.namedtuple("_Part", "kind key count offset shape strides")


def _part(storage, offset, shape, strides, *_):
    tag, kind, key, _, count, *_ = storage
    if tag != "storage" or kind not in _DTYPES:
        raise ValueError(f"a tensor of {tag} {kind}")
    numbers = (count, offset, *shape, *strides)
    if not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"a tensor with sizes {numbers}")
    return _Part(kind, key, count, offset, tuple(shape), tuple(strides))


def _storage(tensors, key):
    kind, count = next(
        (x.kind, x.count) for x in tensors.values() if x.key == key
    )
    return np.dtype(_DTYPES[kind]), count


def _tensor(storage, part):
    """A copy of the numbers of a tensor, whatever their order in the file."""
    last = sum((n - 1) * s for n, s in zip(part.shape, part.strides))
    if part.offset + last >= len(storage) or not math.prod(part.shape):
        raise ValueError(f"a tensor {part.shape} of {len(storage)} numbers")
    strides = [n * storage.itemsize for n in part.strides]
    whole = np.lib.stride_tricks.as_strided(
        storage[part.offset :], part.shape, strides, writeable=False
    )
    return np.ascontiguousarray(whole)


class _Unpickler(pickle.Unpickler):
    """Knows dicts, tensors and storages, and nothing else."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _part
        if module == "torch" and name in _DTYPES:
            return name
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid):
        return pid
