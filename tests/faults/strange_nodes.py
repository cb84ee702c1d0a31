"""Trials of files that are none, have no end, or unpack to more than memory.

Every reader must refuse them by name, in bounded memory and time; a link or a
pipe that gives a good file is read as that file.
"""

import functools
import gzip
import io
import os
import random
import struct
import threading
import warnings
import zipfile
import zlib

import h5py
import numpy as np
from tfcap.data.video_extraction import read_frames

from reproduce.sweep_records import load_records
from tests.faults import workloads
from tests.faults.file_operations import attempt
from tests.faults.readers import POINTS
from tests.faults.readers import READERS
from tests.faults.readers import Reader
from tests.faults.readers import bytes_of
from tests.faults.strange_images import png
from tfcap.data.extraction import read_image
from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.network_file import load_network
from tfcap.training.network_file import save_network

#: Bytes and seconds that a file of a few kilobytes may take.
MEMORY, SECONDS = 3 << 29, 60


def read_network(path):
    return [w.tolist() for w in load_network(path).get_weights()]


def read_checkpoint(path):
    folder = path.parent / "run"
    folder.mkdir(exist_ok=True)
    if not os.path.lexists(folder / "checkpoint.npz"):
        os.rename(path, folder / "checkpoint.npz")
    try:
        return RunCheckpoint(folder).restore(workloads.network())
    except (OSError, ValueError) as error:
        if "checkpoint.npz" not in str(error):
            raise
        raise ValueError(f"{path.name}: {error}") from error


def network_bytes(path):
    save_network(workloads.network(), path)


def checkpoint_bytes(path):
    RunCheckpoint(path.parent / "r").save(workloads.network(), 2)
    os.rename(path.parent / "r" / "checkpoint.npz", path)


def plain(write, read, ending):
    return Reader(write, None, read, None, ending)


def read_points(path):
    """Of a log of its own name, which may be a link or a pipe."""
    os.rename(path, path.parent / "points.jsonl")
    try:
        return load_records(path.parent)
    except (OSError, ValueError) as error:
        if "points.jsonl" not in str(error):
            raise
        raise ValueError(f"{path.name}: {error}") from error


#: Those of whole networks; their bytes are made where they are needed.
MORE = {
    "points": Reader(POINTS.encode(), None, read_points, None, ".jsonl"),
    "network": plain(network_bytes, read_network, ".keras"),
    "checkpoint": plain(checkpoint_bytes, read_checkpoint, ".npz"),
    "image": plain(
        lambda path: path.write_bytes(png(1, 1, rows=bytes(4))),
        lambda path: read_image(path, (1, 1)).tolist(),
        ".png",
    ),
    "clip": plain(
        lambda path: path.write_bytes(png(1, 1, rows=bytes(4))),
        lambda path: read_frames(path, 2, (1, 1)).tolist(),
        ".png",
    ),
}
ALL = {**READERS, **MORE}


def good_bytes(reader):
    if callable(reader.data):
        return bytes_of(reader.data, reader.ending)
    return reader.data


# What takes the place of a file ----------------------------------------------


def fifo(path, rng):
    os.mkfifo(path)


def link_to(target):
    def make(path, rng):
        os.symlink(target, path)

    make.__name__ = "link_to_" + target.strip("/.").replace("/", "_")
    return make


def link_loop(path, rng):
    os.symlink(path.name, path)


def folder(path, rng):
    path.mkdir()
    if rng.random() < 0.5:
        (path / "a").write_text("{}")


def sparse(path, rng):
    size = rng.choice((1 << 20, 1 << 28, 1 << 33, 1 << 42))
    with open(path, "wb") as file:
        head = rng.choice((b"", b"[", b"PK\3\4", b"\x89HDF\r\n\x1a\n", b"\x1f"))
        file.write(head)
        file.truncate(size)


def scraps(path, rng):
    choices = (
        b"",
        b"\xef\xbb\xbf",
        bytes(4096),
        "{}".encode("utf-16"),
        rng.randbytes(500),
        b"PK\5\6" + bytes(18),
        b"\x1f\x8b\x08" + rng.randbytes(20),
        b"\x89HDF\r\n\x1a\n" + rng.randbytes(2000),
        b"BZh9" + rng.randbytes(50),
        b"\xfd7zXZ\0" + rng.randbytes(50),
        b"\x80\x04]q\0.",
        b"SQLite format 3\0" + bytes(100),
    )
    path.write_bytes(rng.choice(choices))


# Text ------------------------------------------------------------------------


def deep(path, rng):
    piece = rng.choice((b"[", b'{"a":', b'[{"a":'))
    path.write_bytes(piece * rng.choice((900, 100_000, 3_000_000)))


def digits(path, rng):
    number = b"9" * rng.choice((19, 4300, 4301, 1_000_000))
    number = rng.choice((number, b"-" + number, b"0." + number, b"1e" + number))
    text = rng.choice((b'[{"image_id": %b, "caption": "a"}]', b"[%b]", b"%b"))
    path.write_bytes(text % number)


def not_a_number(path, rng):
    name = rng.choice(("NaN", "Infinity", "-Infinity", "nan", "1e999"))
    text = rng.choice(('[{"image_id": %s, "caption": "a"}]', "[%s]", "%s"))
    path.write_text(text % name)


def gzip_bomb(path, rng):
    byte, size = rng.choice((b" ", b"[", b"\n", b"0")), 1 << 29
    path.write_bytes(_squeezed(byte, size))


@functools.cache
def _squeezed(byte, size):
    out = zlib.compressobj(1, zlib.DEFLATED, 31)
    block, parts = byte * (1 << 20), []
    for _ in range(size >> 20):
        parts.append(out.compress(block))
    return b"".join([*parts, out.flush()])


def nested_gzip(path, rng):
    data = b"[]"
    for _ in range(rng.choice((2, 50))):
        data = gzip.compress(data, mtime=0)
    path.write_bytes(data)


def many_gzips(path, rng):
    path.write_bytes(gzip.compress(b"", mtime=0) * 200_000)


def wide(path, rng):
    """Flat JSON of some megabytes, none of which is wanted."""
    piece = rng.choice((b"0,", b"[],", b"{},", b'"",', b"null,"))
    path.write_bytes(b"[" + piece * 1_000_000 + b"0]")


def many_names(path, rng):
    with open(path, "w") as file:
        file.write("{")
        for number in range(300_000):
            file.write(f'"{number}": 0, ')
        file.write('"a": 1}')


# Archives --------------------------------------------------------------------


def array_bytes(shape, kind="<f4", data=b""):
    text = repr({"descr": kind, "fortran_order": False, "shape": shape})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    size = struct.pack("<H", len(text))
    return b"\x93NUMPY\1\0" + size + text.encode() + data


def zip_bomb(path, rng):
    names = ["a.npy", "meta.npy", "keys.npy", "model.weights.h5", "config.json"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, True, 1) as archive:
        for name in names:
            head = array_bytes((1 << 27,)) if name.endswith("y") else b" "
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(head)
                for _ in range(128):
                    file.write(bytes(1 << 20))


def many_members(path, rng):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(rng.choice((3000, 20_000))):
            archive.writestr(f"{number}.npy", b"")


def strange_arrays(path, rng):
    """Members whose headers tell of more than they hold, or of objects."""
    shape = rng.choice(((1 << 40,), (-1,), (0, 1 << 62), (1,) * 40, (1 << 62,)))
    kind = rng.choice(("<f4", "|O", "<U1000000000", "<M8[s]", "|V9", "<c16"))
    names = ["meta", "keys", "counts", "image_ids", "neighbors", "features"]
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            data = array_bytes(shape, kind, bytes(64))
            archive.writestr(f"{name}.npy", data)


def lying_zip(path, rng):
    """A member whose size is told in another way in its two places."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.npy", array_bytes((4,), data=bytes(16)))
    data = bytearray(out.getvalue())
    place = data.find(b"PK\1\2") + rng.choice((16, 20, 24, 42))
    data[place : place + 4] = struct.pack("<I", rng.choice((0, 5, 2**32 - 2)))
    path.write_bytes(data)


# HDF5 ------------------------------------------------------------------------


def hdf5(path, rng):
    rng.choice((_external, _holes, _virtual, _links, _groups, _texts))(path)


def _feature_file(path, features):
    with h5py.File(path, "w") as file:
        features(file)
        file["image_ids"] = np.arange(10)
        file["done"] = np.ones(10, bool)
        file["checksums"] = np.zeros(10, "<u4")
        file.attrs["tfcap_features"] = 2
        file.attrs["grid"] = [1, 2]
        for name in ("backbone", "layer", "preprocessing"):
            file.attrs[name] = "x"
        file.attrs["input_size"] = [0, 0]


def _external(path):
    _feature_file(
        path,
        lambda file: file.create_dataset(
            "features", (10, 2, 3), "<f2", external=[("/etc/passwd", 0, 120)]
        ),
    )


def _holes(path):
    shape = (10, 1 << 20, 1 << 10)
    _feature_file(
        path,
        lambda file: file.create_dataset(
            "features", shape, "<f2", chunks=(1, 1024, 1024), fillvalue=1
        ),
    )


def _virtual(path):
    def make(file):
        layout = h5py.VirtualLayout((10, 2, 3), "<f2")
        layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (10, 2, 3))
        file.create_virtual_dataset("features", layout)

    _feature_file(path, make)


def _links(path):
    def make(file):
        file["features"] = h5py.SoftLink("/other")
        file["other"] = h5py.SoftLink("/features")

    _feature_file(path, make)


def _groups(path):
    def make(file):
        group = file
        for _ in range(500):
            group = group.create_group("features")

    _feature_file(path, make)


def _texts(path):
    def make(file):
        file["features"] = np.array(["x" * 1000] * 10, object)

    _feature_file(path, make)


dangling = link_to("no/such/file")
ODD = (
    *(fifo, link_loop, folder, sparse, scraps, deep, digits, not_a_number),
    *(gzip_bomb, nested_gzip, many_gzips, wide, many_names, zip_bomb),
    *(many_members, strange_arrays, lying_zip, hdf5),
    *(dangling, *map(link_to, ("/dev/zero", "/dev/null", "/dev/full"))),
    *map(link_to, ("/dev/urandom", "/proc/self/mem", "/etc", "/dev/tty")),
)
#: Those that hold nothing that a reader of text could not take for text.
TEXT = (deep, digits, not_a_number, wide, many_names, nested_gzip, scraps)
TEXT += (many_gzips,)
#: Readers that take a line for what it says.
LINES = ("image_list", "image_list_json", "split_list", "points")


def trial(rng, folder):
    """Reads an odd file, or a good one in an odd way."""
    name, make = rng.choice([*ALL]), rng.choice((*ODD, good_link, good_pipe))
    tried = {"what": make.__name__, "how": name}
    if make is gzip_bomb:
        # Made once, not in each process.
        for byte in (b" ", b"[", b"\n", b"0"):
            _squeezed(byte, 1 << 29)
    seed = rng.random()

    def work(place):
        os.environ["TFCAP_MAX_WAIT"] = "1"
        os.environ["TFCAP_DISK_WAIT"] = "1"
        return read_odd(name, make, seed, place)

    outcome = attempt(work, folder, seconds=SECONDS, memory=MEMORY)
    if outcome.status != "done":
        return tried, f"{name} of {make.__name__}: {outcome}"
    problem = outcome.value
    return tried, f"{name} of {make.__name__}: {problem}" if problem else ""


def good_link(path, rng, data=b""):
    other = path.with_name(f"other{path.suffix}")
    other.write_bytes(data)
    os.symlink(other, path)


def good_pipe(path, rng, data=b""):
    os.mkfifo(path)

    def write():
        with open(path, "wb") as file:
            file.write(data)

    threading.Thread(target=write, daemon=True).start()


def read_odd(name, make, seed, place):
    """What is wrong with how a reader takes a file; empty if nothing."""
    reader, rng = ALL[name], random.Random(seed)
    path = place / f"spoiled{reader.ending}"
    data = good_bytes(reader)
    good = None
    if make in (good_link, good_pipe):
        (place / "good").mkdir()
        beside = place / "good" / path.name
        beside.write_bytes(data)
        good = reader.read(beside)
        make(path, rng, data)
    else:
        make(path, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = reader.read(path)
        except (OSError, ValueError) as error:
            if good is not None and make is not good_pipe:
                return f"a good one is refused: {error}"
            text = str(error)
            if path.name not in text or len(text) > 3000:
                return f"not named: {type(error).__name__} {text[:3000]}"
            if isinstance(error, OSError) and error.filename is None:
                ours = str(error.strerror or error).startswith("`")
                return "" if ours else f"no sentence: {text}"
            return ""
    if good is not None:
        return "" if found == good else f"read otherwise: {found!r:.500}"
    if name in LINES and make in TEXT:
        return ""
    if name in ("checkpoint", "points") and not path.exists():
        # A link to nothing is nothing, by whatever name.
        return "" if make in (link_loop, dangling) else f"taken: {found!r}"
    return f"it is taken: {found!r:.500}"
