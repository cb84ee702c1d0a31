"""Workers of one launcher, from their start to the end of the last."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time

from tfcap.cluster.guard import release
from tfcap.cluster.guard import start_guarded
from tfcap.cluster.lines import forward
from tfcap.cluster.lines import tell
from tfcap.cluster.rendezvous import Rendezvous
from tfcap.cluster.tf_config import tf_config

#: Seconds that workers have to end by themselves.
GRACE = 10.0
#: Seconds that they have after SIGTERM, to save what they have done. Schedulers
#: that send it wait about 30.
SAVING_GRACE = 25.0
#: Signals by which a person or a scheduler stops them.
STOPS = (signal.SIGINT, signal.SIGTERM)


class WorkerGroup:
    """Workers from their start to the end of the last.

    Args:
        hosts: List of strings `host:port`.
    """

    def __init__(self, command: list[str], hosts, indices, namespace):
        self.command = command
        self.hosts = hosts
        self.indices = range(len(hosts)) if indices is None else indices
        self.namespace = namespace
        self._stopped = None
        self._failed = None
        self._processes = {}
        self._meetings = []
        self._ended = queue.SimpleQueue()

    @property
    def started(self):
        """Check whether there were workers."""
        return bool(self._processes)

    def wait(self, seconds: float):
        """Starts them and waits for the end. Returns the exit status."""
        before = {number: signal.signal(number, self._stop) for number in STOPS}
        failed, readers = True, []
        try:
            if self._meet(seconds):
                for index in self.indices:
                    readers.append(self._start(index))
                failed = self._first_failure()
        finally:
            if failed or self._stopped:
                self._end()
            for meeting in self._meetings:
                meeting.close(well=not (failed or self._stopped))
            for number, handler in before.items():
                signal.signal(number, handler)
        for reader in readers:
            reader.join()
        return 128 + self._stopped if self._stopped else int(failed)

    def end(self):
        """A sentence that says why the workers have ended."""
        if self._stopped:
            return f"Stopped by {_named(self._stopped)}."
        return self._failed

    def again(self):
        """Advice on how to go on after the end, a clause."""
        everywhere = len(self._processes) < len(self.hosts)
        where = " on every machine" if everywhere else ""
        return f"run the same command again{where}: what was kept is used"

    def _meet(self, seconds):
        """Waits for the launchers of other hosts. Returns whether they came."""
        if not seconds:
            return True
        for index in self.indices:
            self._meetings.append(Rendezvous(self.hosts, index))
        limit = time.monotonic() + seconds
        for meeting in self._meetings:
            left = limit - time.monotonic()
            if not meeting.wait(left, lambda: self._stopped, tell):
                self._failed = (
                    f"No worker was started: after {seconds:g} seconds "
                    f"without {meeting.missing()}. See that they are written "
                    "right and started, or wait longer with --wait."
                )
                return False
        return True

    def _start(self, index):
        """Starts a worker. Returns the thread that prints what it says."""
        config = {"TF_CONFIG": tf_config(self.hosts, index)}
        # In a session of its own: Ctrl-C comes once, from here.
        process, line = start_guarded(
            self.command,
            self.namespace,
            env={"PYTHONUNBUFFERED": "1", **os.environ, **config},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._processes[index] = process

        def wait():
            status = process.wait()
            release(line)
            self._ended.put((index, status))

        threading.Thread(target=wait, daemon=True).start()
        reader = threading.Thread(target=forward, args=(index, process.stdout))
        reader.start()
        return reader

    def _stop(self, number, frame):
        # Twice: whoever cannot wait does not have to.
        how = signal.SIGKILL if self._stopped else number
        self._stopped = number
        self._send(how)

    def _first_failure(self):
        """Exit status of the first worker that fails; 0 if none does."""
        left = len(self._processes)
        while left and not self._stopped:
            # In the order in which they end: when one is gone, those that
            # waited for it fail at once, too.
            with contextlib.suppress(queue.Empty):
                index, status = self._ended.get(timeout=0.05)
                left -= 1
                if status and not self._stopped:
                    self._fail(f"Worker {index} {_told(status)}")
                    return status if status > 0 else 128 - status
            for index in self._gone():
                self._fail(f"Worker {index}, at {self.hosts[index]}, has ended")
                return 1
        return 0

    def _gone(self):
        """Indices of other machines' workers that ended otherwise than well."""
        return [i for meeting in self._meetings for i in meeting.ended()]

    def _fail(self, why):
        others = len(self._processes) > 1 or bool(self._meetings)
        rest = ", and the others were stopped" if others else ""
        self._failed = f"{why}{rest}."
        tell(f"{why}.")

    def _end(self):
        """Ends all that still runs, by force if it does not do it."""
        if not self._stopped:
            self._send(signal.SIGTERM)
        saves = self._stopped == signal.SIGTERM
        limit = time.monotonic() + (SAVING_GRACE if saves else GRACE)
        while self._alive() and time.monotonic() < limit:
            time.sleep(0.05)
        # TensorFlow may catch the request, and a worker that waits for
        # another does not return to Python. Its own children go with it.
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _alive(self):
        return [p for p in self._processes.values() if p.poll() is None]

    def _send(self, number):
        for process in self._alive():
            process.send_signal(number)


def _told(status):
    """Exit status or signal of a worker, in words."""
    if status > 0:
        return f"ended with status {status}"
    killed = ", as where memory runs out" * (-status == signal.SIGKILL)
    return f"was ended by {_named(-status)}{killed}"


def _named(number):
    with contextlib.suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"
