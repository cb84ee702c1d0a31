"""Starts workers that train as one: `python -m tfcap.launch`.

    python -m tfcap.launch --workers 2 -- python examples/visdial_gdis.py
    python -m tfcap.launch --hosts a,b --index 0 -- python train.py

The first form starts all workers, on this machine. The second starts one of
several machines' workers, number `--index` of `--hosts`; run it on each. Each
worker finds `TF_CONFIG` in its environment, what
`tfcap.training.open_strategy()` goes by. Its output comes line by line, with
its number in front. When one ends otherwise than well, all are stopped, and
the last line says which one it was and how to go on. Exit status: 0; that of
the first that failed; 2 if an option is not as it should be; 130 after Ctrl-C.
"""

import argparse
import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

#: Seconds that workers have to end by themselves.
GRACE = 10.0
_STOPS = (signal.SIGINT, signal.SIGTERM)
#: Held while a line is written, so that no two share one.
_LINE = threading.Lock()


def launch(command, hosts, indices=None, restarts=0):
    """Runs workers until all have ended.

    Args:
        command: List of strings, the program and its arguments, the same for
            all workers.
        hosts: Integer, number of workers of this machine; or a list of
            strings `host:port`, where every worker of the job listens.
        indices: Iterable of integers, which of the hosts are started here.
            Defaults to `None`, all.
        restarts: Integer, how many times to start the workers again after one
            has failed; what they keep on disk is for them to find. Defaults
            to `0`.

    Returns:
        Integer, the exit status.
    """
    while True:
        run = _Run(command, _addresses(hosts), indices)
        status = run.wait()
        # What a person or a scheduler has stopped stays so.
        if not restarts or status in (0, *(128 + s for s in _STOPS)):
            break
        restarts -= 1
        _tell(f"{run.end()} Starting again ({restarts} more).")
    if status == 2:
        _tell(f"{run.end()} Its own lines say what to change.")
    elif status:
        _tell(f"{run.end()} To go on, {run.again()}.")
    return status


def launch_script(script, arguments, workers):
    """Starts a script as several workers, unless it is one of them.

    Args:
        script: String or path, the `__file__` of the script.
        arguments: List of strings, or `None` for those of the process.
        workers: Integer, on this machine, or `None` for none.

    Returns:
        Integer, the exit status; `None` where the work is this process's own.
    """
    if not workers or "TF_CONFIG" in os.environ:
        return None
    arguments = sys.argv[1:] if arguments is None else arguments
    return launch([sys.executable, script, *map(str, arguments)], workers)


def tf_config(hosts, index):
    """What `TF_CONFIG` is for a worker.

    Args:
        hosts: List of strings `host:port`.
        index: Integer, which of them.

    Returns:
        String.
    """
    return json.dumps(
        {
            "cluster": {"worker": list(hosts)},
            "task": {"type": "worker", "index": index},
        }
    )


class _Run:
    """Workers from their start to the end of the last.

    Args:
        command: List of strings.
        hosts: List of strings `host:port`.
        indices: Iterable of integers, or `None`.
    """

    def __init__(self, command, hosts, indices):
        self.command = command
        self.hosts = hosts
        self.indices = range(len(hosts)) if indices is None else indices
        self._stopped = None
        self._failed = None
        self._processes = {}
        self._ended = queue.SimpleQueue()

    def wait(self):
        """Starts them and waits for the end. Returns the exit status."""
        before = {
            number: signal.signal(number, self._stop) for number in _STOPS
        }
        failed = True
        try:
            readers = [self._start(index) for index in self.indices]
            failed = self._first_failure()
        finally:
            if failed or self._stopped:
                self._end()
            for number, handler in before.items():
                signal.signal(number, handler)
        for reader in readers:
            reader.join()
        return 128 + self._stopped if self._stopped else failed

    def end(self):
        """A sentence that says why the workers have ended."""
        if self._stopped:
            return f"Stopped by {_named(self._stopped)}."
        index, status = self._failed
        others = ", and the others were stopped" * (len(self._processes) > 1)
        return f"Worker {index} {_told(status)}{others}."

    def again(self):
        """Advice on how to go on after the end, a clause."""
        everywhere = len(self._processes) < len(self.hosts)
        where = " on every machine" if everywhere else ""
        return f"run the same command again{where}: what was kept is used"

    def _start(self, index):
        """Starts a worker. Returns the thread that prints what it says."""
        config = {"TF_CONFIG": tf_config(self.hosts, index)}
        process = subprocess.Popen(
            self.command,
            env={"PYTHONUNBUFFERED": "1", **os.environ, **config},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C comes once, from here.
            start_new_session=True,
        )
        self._processes[index] = process
        threading.Thread(
            target=lambda: self._ended.put((index, process.wait())),
            daemon=True,
        ).start()
        reader = threading.Thread(target=_forward, args=(index, process))
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
                    self._failed = index, status
                    _tell(f"Worker {index} {_told(status)}.")
                    return status if status > 0 else 128 - status
        return 0

    def _end(self):
        """Ends all that still runs, by force if it does not do it."""
        if not self._stopped:
            self._send(signal.SIGTERM)
        limit = time.monotonic() + GRACE
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


def _forward(index, process):
    """Prints what a worker prints, its number before every line."""
    for line in process.stdout:
        text = line.decode(errors="replace").rstrip("\n")
        _write(sys.stdout, f"[{index}] {text}")


def _tell(text):
    _write(sys.stderr, f"tfcap.launch: {text}")


def _write(stream, text):
    """Writes a line by one call, which `print()` does not."""
    with _LINE:
        stream.write(f"{text}\n")
        stream.flush()


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


def _addresses(hosts):
    """Addresses of all workers; free ones of this machine for a number."""
    if not isinstance(hosts, int):
        return list(hosts)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(hosts)]
    ports = [s.getsockname()[1] for s in sockets]
    for one in sockets:
        one.close()
    return [f"127.0.0.1:{port}" for port in ports]


def main(arguments=None):
    """Runs the command.

    Args:
        arguments: List of strings, optional. Defaults to those of the
            process.

    Returns:
        Integer, the exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.launch",
        description="Starts workers that train as one.",
    )
    add = parser.add_argument
    add("--workers", type=int, help="how many, all on this machine")
    add("--hosts", help="host or host:port of each worker, with commas")
    add("--index", type=int, help="which of the hosts this is, from 0")
    add("--port", type=int, default=2222, help="of hosts without one")
    add("--restarts", type=int, default=0, help="after a failure")
    add("command", nargs=argparse.REMAINDER, help="after --")
    options = parser.parse_args(arguments)
    try:
        return launch(*_checked(parser, options), options.restarts)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _checked(parser, options):
    """What to launch: a command, hosts, and which of them."""
    command = options.command
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        parser.error("a command must follow --")
    if options.hosts is None:
        if options.index is not None or (options.workers or 0) < 1:
            parser.error("give --workers, at least 1, or --hosts and --index")
        return command, options.workers, None
    hosts = [
        host if ":" in host else f"{host}:{options.port}"
        for host in options.hosts.split(",")
    ]
    if options.workers or options.index not in range(len(hosts)):
        parser.error(f"--index must be in 0..{len(hosts) - 1}, one of --hosts")
    return command, hosts, [options.index]


if __name__ == "__main__":
    sys.exit(main())
