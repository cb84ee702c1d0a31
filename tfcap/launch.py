"""Starts workers that train as one: `python -m tfcap.launch`.

    python -m tfcap.launch --workers 2 -- python examples/visdial_gdis.py
    python -m tfcap.launch --hosts a,b --index 0 -- python train.py

The first form starts all workers, on this machine. The second starts one of
several machines' workers, number `--index` of `--hosts`; run it on each. They
start when all have come; until then a line every 30 seconds names those who
have not, and `--wait` seconds are enough. Each worker finds `TF_CONFIG` in its
environment, what `tfcap.training.open_strategy()` goes by. Its output comes
line by line, with its number in front. When one ends otherwise than well, or
the launcher itself is killed, all are stopped, and the last line says which
one it was and how to go on. Exit status: 0; that of the first that failed; 1
if a host did not come; 2 if an option is not as it should be; 130 after
Ctrl-C.

TensorFlow's servers ask nobody who they are: whoever reaches their ports reads
and writes files as this user, and ends the run. So workers of one machine run
in a network namespace of their own, which nobody else reaches and from which
they reach nobody else: download before. Where the system gives none, or where
they need the network, `--trusted-network` says that nobody else reaches this
machine. Ports of several machines are for you to close to others.
"""

import argparse
import contextlib
import errno
import os
import shutil
import sys

from tfcap.cluster.hosts import address
from tfcap.cluster.hosts import check_hosts
from tfcap.cluster.hosts import free_ports
from tfcap.cluster.hosts import read_hosts
from tfcap.cluster.lines import tell
from tfcap.cluster.network_namespace import NetworkNamespace
from tfcap.cluster.worker_group import STOPS
from tfcap.cluster.worker_group import WorkerGroup

#: Seconds that the launchers of several machines wait for each other.
WAIT = 600.0
_FIRST_PORT = 2222
#: Ports of a namespace, in which nobody else takes any.
_LAST_PORT = 32000


def launch(
    command: list[str],
    hosts,
    indices=None,
    restarts=0,
    trusted_network=False,
    wait=WAIT,
) -> int:
    """Runs workers until all have ended.

    Args:
        hosts: Integer, number of workers of this machine; or a list of
            strings `host:port`, where every worker of the job listens.
        restarts: Integer, how many times to start the workers again after one
            has failed; what they keep on disk is for them to find. Defaults
            to `0`.
        trusted_network: Boolean, whether workers of this machine may listen
            where others reach them, since nobody else does. Defaults to
            `False`: they get a network namespace of their own. A list of
            hosts is taken to be on a trusted network.
        wait: Float, seconds that the launchers of a list of hosts wait for
            each other; 0 to start without. Defaults to `600`.

    Raises:
        ValueError: If there is no worker, a host is none, a port is taken,
            `restarts` is negative, or this system has no network namespace to
            give and its network is not trusted.
        OSError: If there is no such program.
    """
    if shutil.which(command[0]) is None:
        there = os.path.exists(command[0])
        number = errno.EACCES if there else errno.ENOENT
        raise OSError(number, os.strerror(number), command[0])
    if not isinstance(hosts, int):
        check_hosts(hosts)
    elif hosts < 1:
        raise ValueError(
            "`--workers` must be at least 1. Received: "
            f"--workers={hosts}. Leave it out for none."
        )
    if restarts < 0:
        raise ValueError(
            "`--restarts` must be at least 0. Received: "
            f"--restarts={restarts}. Leave it out for none."
        )
    with contextlib.ExitStack() as at_end:
        if isinstance(hosts, int) and not trusted_network:
            namespace = at_end.enter_context(_own_network(hosts))
        else:
            namespace = None
            _tell_of_strangers(hosts)
        for attempt in range(restarts + 1):
            addresses = _addresses(hosts, namespace, attempt)
            run = WorkerGroup(command, addresses, indices, namespace)
            status = run.wait(0 if isinstance(hosts, int) else wait)
            # What a person or a scheduler has stopped stays so.
            stopped = status in (0, *(128 + s for s in STOPS))
            if stopped or not run.started or attempt == restarts:
                break
            more = restarts - attempt - 1
            tell(f"{run.end()} Starting again ({more} more).")
    if status == 2:
        tell(f"{run.end()} Its own lines say what to change.")
    elif status:
        tell(f"{run.end()} To go on, {run.again()}.")
    return status


def launch_script(
    script, arguments, workers: int | None, trusted_network=False
) -> int | None:
    """Starts a script as several workers, unless it is one of them.

    Raises:
        ValueError: As `launch()`.
    """
    if not workers or os.environ.get("TF_CONFIG"):
        return None
    arguments = sys.argv[1:] if arguments is None else arguments
    command = [sys.executable, script, *map(str, arguments)]
    return launch(command, workers, trusted_network=trusted_network)


def _own_network(workers):
    """A namespace for workers of this machine, to be closed at the end."""
    try:
        namespace = NetworkNamespace()
    except OSError as error:
        raise ValueError(
            "`--trusted-network` must be given where workers cannot have a "
            "network namespace of their own: TensorFlow's servers ask nobody "
            "who they are, and whoever reaches this machine could read and "
            f"write files as this user. Received: --workers={workers} on a "
            f"system that gives no namespace ({error}). Give it if nobody "
            "else reaches this machine, or allow namespaces."
        ) from error
    tell(
        "The workers have a network namespace of their own: nobody else "
        "reaches them, and they reach nobody else. (Downloads in them need "
        "--trusted-network.)"
    )
    return contextlib.closing(namespace)


def _tell_of_strangers(hosts):
    """Says who gets in where workers can be reached."""
    which = "the workers' ports"
    if not isinstance(hosts, int):
        ports = sorted({address(host)[1] for host in hosts})
        which = f"port {', '.join(map(str, ports))} of the workers' machines"
    tell(
        "TensorFlow's servers ask nobody who they are: whoever reaches "
        f"{which} can read and write files as this user, and end the run. "
        "Close them to all but the workers, by a firewall or a NetworkPolicy "
        "(docs/slurm.md, docs/kubernetes.md)."
    )


def _addresses(hosts, namespace, attempt):
    """Addresses of all workers; free ones of this machine for a number."""
    if not isinstance(hosts, int):
        return hosts
    if namespace is None:
        ports = free_ports(hosts)
    else:
        # Others each time, should a process of an earlier one be left.
        first = _FIRST_PORT + attempt * hosts % (_LAST_PORT - _FIRST_PORT)
        ports = range(first, first + hosts)
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
    add("--port", type=int, default=_FIRST_PORT, help="of hosts without one")
    add("--wait", type=float, default=WAIT, help="seconds for other hosts")
    add("--restarts", type=int, default=0, help="after a failure")
    add("command", nargs=argparse.REMAINDER, help="after --")
    options = parser.parse_args(arguments)
    try:
        return launch(
            *_checked(parser, options),
            options.restarts,
            options.trusted_network,
            options.wait,
        )
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _checked(parser, options):
    """A command, the hosts, and which of them to launch it on."""
    command = options.command
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        parser.error("a command must follow --")
    if options.hosts is None:
        if options.index is not None or (options.workers or 0) < 1:
            parser.error("give --workers, at least 1, or --hosts and --index")
        return command, options.workers, None
    if options.workers is not None:
        parser.error(
            "--workers are of this machine alone: leave it out, --hosts has "
            "one worker each"
        )
    if not options.wait >= 0:
        parser.error("--wait must be a number of seconds, or 0 for no check")
    try:
        hosts = read_hosts(options.hosts, options.port)
    except ValueError as error:
        parser.error(str(error))
    if options.index not in range(len(hosts)):
        parser.error(f"--index must be in 0..{len(hosts) - 1}, one of --hosts")
    return command, hosts, [options.index]


if __name__ == "__main__":
    sys.exit(main())
