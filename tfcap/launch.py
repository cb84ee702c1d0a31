"""Starts workers that train as one: `python -m tfcap.launch`.

    python -m tfcap.launch --workers 2 -- python examples/visdial_gdis.py
    python -m tfcap.launch --hosts a,b --index 0 -- python train.py

The first form starts all workers on this machine. The second starts worker
`--index` of `--hosts`; run it on each machine. Each worker gets `TF_CONFIG` in
its environment, which `tfcap.training.open_strategy()` reads. Its output is
printed line by line, after its number. If a worker fails, or if the launcher
receives SIGINT or SIGTERM, all are stopped. Exit status: 0; that of the first
worker that failed; 128 plus the number of the signal that ended it or the
launcher; 2 if an option is wrong.

TensorFlow's servers have no authentication and listen on all interfaces:
whoever reaches their ports can read and write files as this user, and end the
run. Workers of one machine therefore run in their own network namespace,
isolated in both directions: download data and weights before. If the system
does not allow namespaces, or if the workers need the network, pass
`--trusted-network` to state that nobody else reaches this machine. With several
machines, close the ports to others yourself.
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

#: Seconds that workers have to save and exit when they are stopped.
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
        # Each leads its own session, so that Ctrl-C reaches it once, from here.
        for worker in workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, number)

    def stop(number, frame):
        # A second signal kills the workers at once.
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
        # A worker that waits for another does not return to Python. Its
        # children are killed, too.
        send(signal.SIGKILL)
        for worker in workers.values():
            worker.wait()
    return 128 + stopped[0] if stopped else failed


def run_as_workers(command: list[str], workers: int, trusted_network=False):
    """Replaces this process by the launcher of a command on this machine."""
    options = ["--workers", str(workers)]
    options += ["--trusted-network"] * trusted_network
    launcher = [sys.executable, "-m", "tfcap.launch", *options]
    sys.stdout.flush()
    # Only a process of one thread can enter a namespace; TensorFlow has many.
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
    """Prints the output of a worker, its number before every line."""
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
            # Those that wait for a killed worker fail, too.
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
        raise OSError("only Linux has network namespaces")
    import fcntl

    unshare = ctypes.CDLL(None, use_errno=True).unshare
    if unshare(_NEW_NETWORK):
        # Users other than root also need a user namespace, with their own ids.
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
    add("--workers", type=int, help="number of workers, all on this machine")
    add(
        "--trusted-network",
        action="store_true",
        help="use no namespace for --workers: nobody else reaches this machine",
    )
    add("--hosts", help="comma-separated host or host:port of each worker")
    add("--index", type=int, help="number of this host, from 0")
    add("--port", type=int, default=2222, help="port of hosts without one")
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
                "--trusted-network must be given if workers cannot have their "
                "own network namespace: whoever reaches this machine could "
                "read and write files as this user. This system does not allow "
                f"one ({error}). Give it if nobody else reaches this machine."
            )
    hosts = _free_addresses(options.workers)
    return launch(options.command, hosts, range(len(hosts)))


if __name__ == "__main__":
    sys.exit(main())
