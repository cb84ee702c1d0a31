"""Claims by which processes that share a folder divide its work."""

import contextlib
import json
import os
import platform
import threading
import time
import uuid

from tfcap._io import make_folder

try:
    import fcntl
except ImportError:
    fcntl = None


class Claims:
    """Claims on pieces of work, one file each in a folder.

    Whoever makes the file has the claim, and touches it from time to time. A
    claim is abandoned if its process ran here and is no more, or if nobody has
    touched it for `patience` seconds, for `heartbeat` seconds where its maker
    was killed before it was named in the file, by the watch of the one who
    looks: the clocks of two machines are never compared.

    One process at a time looks and takes over. Where a disk has no locks for
    that, two may do so at the same instant, and a piece of work is done twice;
    it is never left undone.

    Args:
        directory: String or path, made if absent. The lock lies beside it.
        heartbeat: Float, seconds between two touches. Defaults to `10.0`.

    Raises:
        ValueError: If `patience` is less than twice `heartbeat`, or
            `heartbeat` is not positive.
    """

    def __init__(self, directory, heartbeat=10.0, patience: float = 120.0):
        if not 0 < 2 * heartbeat <= patience:
            raise ValueError(
                "`patience` must be at least twice `heartbeat`, which must be "
                f"positive. Received: patience={patience}, "
                f"heartbeat={heartbeat}."
            )
        self.directory = str(directory)
        self.heartbeat = heartbeat
        self.patience = patience
        self._watched = {}
        make_folder(self.directory)

    def take(self, name: str):
        """Takes a claim, if it is free or abandoned.

        Returns:
            `Claim`, a context manager, or `None` where another has it.
        """
        claim = Claim(os.path.join(self.directory, name), self.heartbeat)
        with _alone(claim.path):
            if self._abandoned(claim.path):
                _unlink(claim.path)
            return claim if claim.make() else None

    def _abandoned(self, path):
        try:
            stamp, holder = os.stat(path).st_mtime_ns, _holder(path)
        except FileNotFoundError:
            return False
        sign, now = (stamp, holder.get("token")), time.monotonic()
        seen, since = self._watched.get(path, (None, now))
        if seen != sign:
            self._watched[path], since = (sign, now), now
        # Whoever lives has said who they are a moment after.
        patience = self.patience if holder else self.heartbeat
        return _has_ended(holder) or now - since > patience


class Claim:
    """The right to do one piece of work, kept alive while its block runs.

    Args:
        heartbeat: Float, seconds between two touches of the file.
    """

    def __init__(self, path, heartbeat):
        self.path = str(path)
        self.heartbeat = heartbeat
        self._token = uuid.uuid4().hex
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def make(self):
        """Makes the file. Returns whether it was not there."""
        try:
            file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return False
        host = platform.node()
        about = {"pid": os.getpid(), "host": host, "token": self._token}
        try:
            with os.fdopen(file, "w") as file:
                json.dump(about, file)
        except OSError:
            # Else nobody would know whose it is.
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            raise
        return True

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._ended.set()
        self._thread.join()
        with _alone(self.path):
            if self._ours():
                _unlink(self.path)

    def _keep(self):
        while not self._ended.wait(self.heartbeat):
            try:
                if self._ours():
                    os.utime(self.path)
            except OSError:
                # A network disk that is away for a moment: the next beat, or
                # the patience of the others, is soon enough.
                continue

    def _ours(self):
        """Whether the claim has not been taken over meanwhile."""
        try:
            return _holder(self.path).get("token") == self._token
        except FileNotFoundError:
            return False


def made_once(path, load, make):
    """Makes a file in one of several processes; the others wait and load it.

    Args:
        make: Function without arguments that makes what `load` returns, and
            the file, which appears whole or not at all.
    """
    claims = None
    while not os.path.exists(path):
        claims = claims or Claims(path.parent / "claims")
        claim = claims.take(f"{path.name}.json")
        if claim is None:
            time.sleep(0.5)
            continue
        with claim:
            return load(path) if os.path.exists(path) else make()
    return load(path)


def _holder(path):
    """Maker of a claim; empty if they had no time to write who they are."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        holder = json.loads(content)
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


@contextlib.contextmanager
def _alone(path):
    """Lets one process at a time look at the claims of a folder."""
    with open(os.path.dirname(path) + ".lock", "a") as file:
        # Windows, and some network disks, have no such locks.
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unlink(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _has_ended(holder):
    """Whether the process of a claim ran on this machine and is no more."""
    pid = holder.get("pid")
    # Windows cannot tell: there, patience alone decides.
    if holder.get("host") != platform.node() or pid is None or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
