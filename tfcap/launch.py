"""Starts workers that train as one: `python -m tfcap.launch`.

    python -m tfcap.launch --workers 2 -- python examples/visdial_gdis.py
    python -m tfcap.launch --hosts a,b --index 0 -- python train.py

The first form starts all workers, on this machine. The second starts one of
several machines' workers, number `--index` of `--hosts`; run it on each. Each
worker finds `TF_CONFIG` in its environment, what
`tfcap.training.open_strategy()` goes by. Its output comes line by line, with
its number in front. When one fails, or the launcher is sent SIGINT or SIGTERM,
all are stopped. Exit status: 0; that of the first that failed, 128 and the
signal's number where a signal ended it or the launcher; 2 if an option is not
as it should be.

TensorFlow's servers ask nobody who they are, and listen on all interfaces:
whoever reaches their ports reads and writes files as this user, and ends the
run. So workers of one machine run in a network namespace of their own, which
nobody else reaches and from which they reach nobody else: download before.
Where the system gives none, or where they need the network,
`--trusted-network` says that nobody else reaches this machine. Ports of
several machines are for you to close to others.
"""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

#: Seconds that workers have to save and end once they are told to.
GRACE = 25.0
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 1


def launch(command: list[str], hosts: list[str], indices) -> int:
    """Runs workers until all have ended.

    Args:
        command: List of strings, a program and its arguments.
        hosts: List of strings `host:port`, where every worker of the job
            listens.
        indices: Integers, which of them to start here.

    Returns:
        Exit status of the first that failed; 0 if none did.

    Raises:
        OSError: If there is no such program.
    """
    stopped, workers = [], {}

    def send(number):
        # Each leads a session of its own: Ctrl-C comes once, from here.
        for worker in workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, number)

    def stop(number, frame):
        # Twice: whoever cannot wait does not have to.
        send(signal.SIGKILL if stopped else number)
        stopped.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        for index in indices:
            workers[index] = worker = _start(command, hosts, index)
            about = index, worker.stdout
            threading.Thread(target=_forward, args=about).start()
        failed = _first_failure(workers, stopped)
        if failed and not stopped:
            send(signal.SIGTERM)
        limit = time.monotonic() + GRACE
        while _alive(workers) and time.monotonic() < limit:
            time.sleep(0.05)
    finally:
        # A worker that waits for another does not return to Python; its own
        # children go with it.
        send(signal.SIGKILL)
        for worker in workers.values():
            worker.wait()
    return 128 + stopped[0] if stopped else failed


def run_as_workers(command: list[str], workers: int, trusted_network=False):
    """Becomes the launcher of a command on this machine; does not return."""
    options = ["--workers", str(workers)]
    options += ["--trusted-network"] * trusted_network
    launcher = [sys.executable, "-m", "tfcap.launch", *options]
    sys.stdout.flush()
    # A namespace is for a process of one thread, and TensorFlow has many.
    os.execv(sys.executable, [*launcher, "--", *command])


def _start(command, hosts, index):
    task = {"type": "worker", "index": index}
    config = json.dumps({"cluster": {"worker": hosts}, "task": task})
    return subprocess.Popen(
        command,
        env={"PYTHONUNBUFFERED": "1", **os.environ, "TF_CONFIG": config},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _forward(index, stream):
    """Prints what a worker prints, its number before every line."""
    for line in stream:
        text = line.decode(errors="replace").rstrip("\n")
        sys.stdout.write(f"[{index}] {text}\n")
        sys.stdout.flush()


def _first_failure(workers, stopped):
    """Exit status of the first worker that fails; 0 if none does."""
    while not stopped:
        alive = _alive(workers)
        failed = {i: w.returncode for i, w in workers.items() if w.returncode}
        if failed:
            # One that was killed takes those with it that wait for it.
            index = min(failed, key=failed.get)
            status = failed[index]
            print(
                f"tfcap.launch: Worker {index} ended with status {status}, "
                "and all were stopped. Run the same command again to go on "
                "from the last checkpoint.",
                file=sys.stderr,
            )
            return status if status > 0 else 128 - status
        if not alive:
            break
        time.sleep(0.05)
    return 0


def _alive(workers):
    return any([worker.poll() is None for worker in workers.values()])


def _own_network():
    """Moves this process into a network namespace with a loopback alone.

    Raises:
        OSError: If this system does not allow it.
    """
    if not sys.platform.startswith("linux"):
        raise OSError("network namespaces are Linux's")
    import fcntl

    unshare = ctypes.CDLL(None, use_errno=True).unshare
    if unshare(_NEW_NETWORK):
        # Others than root need one of users, too, where they are who they are.
        user, group = os.geteuid(), os.getegid()
        if unshare(_NEW_USER | _NEW_NETWORK):
            raise OSError(os.strerror(ctypes.get_errno()))
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            pathlib.Path("/proc/self", name).write_text(text)
    with socket.socket() as control:
        request = struct.pack("16sh22x", b"lo", _UP)
        fcntl.ioctl(control, _SET_FLAGS, request)


def _free_addresses(number):
    servers = [socket.create_server(("", 0)) for _ in range(number)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return [f"127.0.0.1:{port}" for port in ports]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.launch",
        description="Starts workers that train as one.",
    )
    add = parser.add_argument
    add("--workers", type=int, help="how many, all on this machine")
    add(
        "--trusted-network",
        action="store_true",
        help="nobody else reaches this machine: no namespace for --workers",
    )
    add("--hosts", help="host or host:port of each worker, with commas")
    add("--index", type=int, help="which of the hosts this is, from 0")
    add("--port", type=int, default=2222, help="of hosts without one")
    add("command", nargs="+", help="a program and its arguments, after --")
    options = parser.parse_args(arguments)
    if options.hosts:
        hosts = options.hosts.split(",")
        hosts = [x if ":" in x else f"{x}:{options.port}" for x in hosts]
        if options.index not in range(len(hosts)):
            parser.error("--index must be the number of one of --hosts, from 0")
        return launch(options.command, hosts, [options.index])
    if (options.workers or 0) < 1:
        parser.error("give --workers, at least 1, or --hosts and --index")
    if not options.trusted_network:
        try:
            _own_network()
        except OSError as error:
            parser.error(
                "--trusted-network must be given where workers cannot have a "
                "network namespace of their own: whoever reaches this machine "
                "could read and write files as this user. This system gives "
                f"none ({error}). Give it if nobody else reaches this machine."
            )
    hosts = _free_addresses(options.workers)
    return launch(options.command, hosts, range(len(hosts)))


if __name__ == "__main__":
    sys.exit(main())
