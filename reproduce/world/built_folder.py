"""Folders that are built from a seed once, whole or not at all, and kept."""

import functools
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import sys
import time
from collections.abc import Callable

from tfcap._io import make_folder
from tfcap._io import partial_path
from tfcap._io import remove_abandoned
from tfcap._io import rename
from tfcap._io import sync_tree
from tfcap._io import told_if_full

#: A world's splits, in the order in which a data set holds them.
SPLITS = ("train", "val", "test")
_LIST = "world.json"


def built_folder(
    root: str | os.PathLike | None,
    kind: str,
    about: dict,
    write: Callable,
    progress: bool = True,
) -> str | os.PathLike:
    """A folder of files that follow from a seed, built if it is not there.

    The folder is named by kind, version, seed and sizes and appears in one
    step, so a build that was interrupted, or that runs twice at once, does no
    harm.

    Args:
        about: Dict of `version` and `seed`, integers, and `sizes`, a dict of
            the number of examples of each of the `SPLITS`.
    """
    root = pathlib.Path(root) if root is not None else _default_root()
    sizes = "_".join(str(about["sizes"][split]) for split in SPLITS)
    name = f"{kind}_v{about['version']}_seed{about['seed']}_{sizes}"
    if not _complete(root / name, about):
        make_folder(root)
        started = time.perf_counter()
        _build(root, name, about, write)
        seconds = time.perf_counter() - started
        tell(progress, f"built in {seconds:.0f} s: {root / name}\n")
    return root / name


def checked_sizes(least, **sizes):
    """Sizes of the splits, each an integer of at least its `least`."""
    for name, size in sizes.items():
        if not isinstance(size, int) or size < least.get(name, 1):
            raise ValueError(
                f"`{name}` must be an integer of at least "
                f"{least.get(name, 1)}. Received: {name}={size}"
            )
    return sizes


def read_about(folder):
    """Read the recipe of a folder: `version`, `seed` and `sizes`."""
    return json.loads((folder / _LIST).read_text())


def known_split(split):
    """The name of a split, if it is one."""
    if split not in SPLITS:
        raise ValueError(
            f"`split` must be one of {SPLITS}. Received: split={split!r}"
        )
    return split


def write_packed(path, values):
    """Writes plain values as JSON, gzipped."""
    # Without a time stamp the same seed gives the same bytes.
    text = json.dumps(values).encode()
    path.write_bytes(gzip.compress(text, compresslevel=5, mtime=0))


def read_packed(path):
    """Reads what `write_packed()` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def tell(progress, message):
    """Says what is done, on one line that changes."""
    if progress:
        sys.stderr.write(f"\r\033[Ksynthetic world: {message}")
        sys.stderr.flush()


def _default_root():
    cache = os.environ.get("TFCAP_CACHE")
    return pathlib.Path(cache or pathlib.Path.home() / ".cache" / "tfcap")


def _complete(path, about):
    """Check whether all files are there as they were written.

    Folders of earlier versions hold no checksums: of them, sizes are compared.
    """
    try:
        found = read_about(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # What may not be read at the moment is not built again.
        return False
    files, sums = found.pop("files", {}), found.pop("checksums", {})
    whole = found == about and all(
        (path / name).is_file() and (path / name).stat().st_size == size
        for name, size in files.items()
    )
    return whole and all(
        _checksum(path / name, (path / name).stat().st_mtime_ns) == checksum
        for name, checksum in sums.items()
    )


@functools.cache
def _checksum(path, _):
    """SHA-256 of a file, in hexadecimal, once a process and time stamp."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _build(root, name, about, write):
    remove_abandoned(root / name)
    work = partial_path(root / name)
    work.mkdir()
    try:
        with told_if_full(root / name, "Nothing was built"):
            _fill(work, about, write)
            _move(work, root / name, about)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fill(work, about, write):
    """Writes the files of a folder, and the list of them."""
    write(work, about)
    paths = {
        path.relative_to(work).as_posix(): path
        for path in sorted(work.rglob("*"))
        if path.is_file()
    }
    files = {name: path.stat().st_size for name, path in paths.items()}
    sums = {name: _checksum(path, None) for name, path in paths.items()}
    listed = {**about, "files": files, "checksums": sums}
    (work / _LIST).write_text(json.dumps(listed, indent=1))
    sync_tree(work)


def _move(work, target, about):
    """Puts a finished folder in its place, unless one has come meanwhile."""
    if _complete(target, about):
        return
    if target.exists():
        shutil.rmtree(target)
    try:
        rename(work, target)
    except OSError:
        # Another process was quicker by a moment; its folder is the same.
        if not _complete(target, about):
            raise
