"""What a disk may hold once the power has failed, at any time of a block.

A record of what is synced and renamed, and the rules of a file system: the
content of a file is what it was when it was last synced, and nothing if it
never was; names in a folder are those of the last time that it was synced, or
of any later time, since a disk may write them down before it is asked to.
"""

import contextlib
import os
import pathlib
from unittest import mock

_CHANGES = (
    *("replace", "rename", "link", "unlink", "remove", "rmdir", "mkdir"),
)
_SYNCS = ("fsync", "fdatasync")


class Power:
    """Records what a block does below a folder.

    Files and folders have numbers, which they keep when they are renamed.

    Args:
        root: Path of the folder. What is in it is on the disk.
    """

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        # By time: names in every folder, and what was synced then.
        self._names, self._synced = [], []
        self._numbers, self._count, self._paths = {}, 0, {}

    @contextlib.contextmanager
    def recorded(self):
        self._look()
        for number in self._paths:
            self._synced[0][number] = self._content(number)
        with contextlib.ExitStack() as stack:
            for name in (*_CHANGES, *_SYNCS):
                around = self._around(getattr(os, name), name in _SYNCS)
                stack.enter_context(mock.patch(f"os.{name}", around))
            yield self
        self._look()

    def states(self):
        """What may be left, in the order of the times of the failure.

        Yields:
            Integer, the time, and a dict of bytes by path; `None` for a
            folder.
        """
        for time in range(len(self._names)):
            found = {}
            for written in range(time + 1):
                state = self._state(time, written)
                found.setdefault(frozenset(state.items()), state)
            for state in found.values():
                yield time, state

    def _state(self, time, written):
        """State after a failure, with names written down until some time."""
        content, moments, state = {}, {}, {}
        for moment in range(time + 1):
            for number, value in self._synced[moment].items():
                content[number], moments[number] = value, moment

        def fill(folder, above):
            moment = max(written, moments.get(folder, 0))
            for name, number in self._names[moment].get(folder, {}).items():
                path = os.path.join(above, name)
                if number in self._folders:
                    state[path] = None
                    fill(number, path)
                else:
                    state[path] = content.get(number, b"")

        fill(self._root, "")
        return state

    def _around(self, function, syncs):
        def call(first, *others, **options):
            self._look()
            result = function(first, *others, **options)
            self._look()
            number = (
                self._numbers.get(os.fstat(first).st_ino) if syncs else None
            )
            if number is not None:
                self._names.append(self._names[-1])
                self._synced.append({number: self._content(number)})
            return result

        return call

    def _look(self):
        """Writes down the names that there are now."""
        self._before, self._numbers = self._numbers, {}
        self._paths, names = {}, {}
        self._folders = getattr(self, "_folders", set())
        self._root = self._number(os.stat(self.root).st_ino)
        self._folders.add(self._root)
        self._list(self.root, self._root, names)
        if not self._names or names != self._names[-1]:
            self._names.append(names)
            self._synced.append({})

    def _list(self, folder, number, names):
        names[number], self._paths[number] = {}, folder
        for entry in os.scandir(folder):
            inner = self._number(entry.inode())
            names[number][entry.name] = inner
            self._paths[inner] = entry.path
            if entry.is_dir(follow_symlinks=False):
                self._folders.add(inner)
                self._list(entry.path, inner, names)

    def _number(self, inode):
        """Number of a file that is there; the disk uses its own again."""
        if inode not in self._before:
            self._count += 1
        self._numbers[inode] = self._before.get(inode, self._count)
        return self._numbers[inode]

    def _content(self, number):
        """Content of a file as it is now; `None` of a folder."""
        if number in self._folders:
            return None
        return pathlib.Path(self._paths[number]).read_bytes()


def write_state(state, folder):
    """Makes the files of a state in an empty folder."""
    for path, content in state.items():
        if content is None:
            (folder / path).mkdir(parents=True, exist_ok=True)
        else:
            (folder / path).write_bytes(content)


def least_progress(folder, write, read):
    """The least that a power failure leaves, at every time of some writing.

    Args:
        folder: `pathlib.Path` of an empty folder.
        write: Function of a folder, below which it writes.
        read: Function of a folder with what is left that returns a number;
            it may change the folder.

    Returns:
        List of numbers, by time.
    """
    root, found, least = folder / "run", {}, {}
    root.mkdir()
    with Power(root).recorded() as power:
        write(root)
    for time, state in power.states():
        key = frozenset(state.items())
        if key not in found:
            place = folder / f"left_{len(found)}"
            place.mkdir()
            write_state(state, place)
            found[key] = read(place)
        least[time] = min(found[key], least.get(time, found[key]))
    return [least[time] for time in sorted(least)]
