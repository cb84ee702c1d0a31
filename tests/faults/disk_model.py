"""What a disk may hold after a power failure, of operations recorded.

The content of a file is what it was when it was last synced, and of what was
written since then nothing, all, or some, in any order, the last piece torn;
or its length is that of all, and zeros stand for what is not there. The names
in a folder are those of when it was last synced, or of any later time.
"""

import os


class File:
    """Bytes that are on the disk, and changes that may be."""

    def __init__(self):
        self.synced, self.changes = b"", []

    def sync(self):
        self.synced, self.changes = self.content(), []

    def content(self, changes=None):
        """Bytes after some changes; all by default."""
        data = bytearray(self.synced)
        for offset, piece in self.changes if changes is None else changes:
            if piece is None:
                # Less than 0: at least so many, as room that was taken.
                size = max(-offset, len(data)) if offset < 0 else offset
                data = data[:size] + bytes(max(0, size - len(data)))
            else:
                data += bytes(max(0, offset - len(data)))
                data[offset : offset + len(piece)] = piece
        return bytes(data)

    def left(self, random):
        """Bytes that a failure may leave."""
        how = random.choice(("none", "all", "prefix", "some", "zeros"))
        changes = list(self.changes)
        if how == "none" or not changes:
            return self.synced
        if how == "all":
            return self.content()
        if how == "prefix":
            changes = changes[: random.randint(1, len(changes))]
            offset, piece = changes[-1]
            if piece:
                changes[-1] = offset, piece[: random.randrange(len(piece))]
            return self.content(changes)
        some = [one for one in changes if random.random() < 0.5]
        if how == "some":
            return self.content(some)
        size = len(self.content())
        return self.content([*some, (size, None)])


class Folder:
    """Names that are on the disk, and later ones that may be."""

    def __init__(self):
        self.versions = [{}]

    @property
    def now(self):
        return self.versions[-1]

    def set(self, name, node, lost=None):
        names = dict(self.now)
        names.pop(lost, None)
        names.pop(name, None)
        if node is not None:
            names[name] = node
        self.versions.append(names)

    def sync(self):
        self.versions = [self.now]

    def left(self, random):
        return random.choice(self.versions)


class Disk:
    """A folder.

    Args:
        root: String, its path.
        state: Dict, what is on the disk at first, as of `state()`.
    """

    def __init__(self, root, state=()):
        self.path, self.root = os.path.realpath(root), Folder()
        self.mark = 0
        for name in sorted(state):
            path = os.path.join(self.path, name)
            node = Folder() if state[name] is None else File()
            self._set(path, node)
            if state[name]:
                node.synced = state[name]
        for node in self._folders(self.root):
            node.sync()

    def _folders(self, folder):
        yield folder
        for node in folder.now.values():
            if isinstance(node, Folder):
                yield from self._folders(node)

    def do(self, kind, number, path, other, data):
        """Takes in one operation, as of `read_record()`."""
        if kind == "mark":
            self.mark = number
        elif kind == "rename":
            self._rename(path, other)
        elif kind == "link":
            self._set(other, self._get(path))
        elif kind == "mkdir":
            self._set(path, Folder())
        elif kind in ("unlink", "rmdir"):
            self._set(path, None)
        else:
            self._do_file(kind, number, path, data)

    def _do_file(self, kind, number, path, data):
        node = self._get(path)
        if kind == "open" and node is None:
            self._set(path, File())
        elif node is None:
            # Of a file that has no name any more.
            return
        elif kind == "open" and number:
            node.changes.append((0, None))
        elif kind == "sync":
            node.sync()
        elif kind == "write":
            node.changes.append((number, data))
        elif kind == "truncate":
            node.changes.append((number, None))

    def _get(self, path):
        node = self.root
        if path == self.path:
            return node
        for part in os.path.relpath(path, self.path).split(os.sep):
            node = node.now.get(part) if isinstance(node, Folder) else None
        return node

    def _rename(self, path, other):
        """Within a folder in one step; else its new name comes first."""
        node, (above, name) = self._get(path), os.path.split(other)
        old, lost = os.path.split(path)
        self._get(above).set(name, node, lost if old == above else None)
        if old != above:
            self._set(path, None)

    def _set(self, path, node):
        above, name = os.path.split(path)
        self._get(above).set(name, node)

    def state(self, random=None):
        """Files and folders as they are, or as a failure may leave them.

        Args:
            random: `random.Random`; None for what a process sees.

        Returns:
            Dict of bytes by path; `None` for a folder. See
            `power.write_state()`.
        """
        found = {}

        def fill(folder, above):
            names = folder.left(random) if random else folder.now
            for name, node in names.items():
                path = os.path.join(above, name)
                if isinstance(node, Folder):
                    found[path] = None
                    fill(node, path)
                else:
                    found[path] = (
                        node.left(random) if random else node.content()
                    )

        fill(self.root, "")
        return found
