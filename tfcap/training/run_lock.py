"""The lock on the folder of a run."""

import errno
import os

from tfcap.training.workers import from_chief
from tfcap.training.workers import is_chief

try:
    import fcntl
except ImportError:
    fcntl = None

#: What the system says where another process has the lock.
_TAKEN = errno.EWOULDBLOCK, errno.EACCES


class RunLock:
    """Keeps other processes from training in a folder at the same time.

    The system gives it up when the process ends, however it ends. Where a disk
    has no locks, nobody is kept.

    Args:
        model: `keras.Model`. Of several workers the first one has the lock.

    Raises:
        ValueError: If another process has it.
    """

    #: Open folders of this process, which a `fit()` that failed leaves.
    _open = {}

    def __init__(self, directory: str, model):
        self.path = os.path.realpath(directory)
        taken = is_chief(model) and not self._take()
        if from_chief(taken, model):
            raise ValueError(
                "`directory` must be of one run at a time. Received: "
                f"directory={directory!r}, in which another process trains. "
                "Wait for it, or choose another one."
            )

    def release(self):
        """Gives the lock up."""
        if self.path in self._open:
            os.close(self._open.pop(self.path))

    def _take(self):
        if fcntl is None:
            return True
        # A folder may have been removed and made again since.
        self.release()
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(folder)
            return error.errno not in _TAKEN
        self._open[self.path] = folder
        return True
