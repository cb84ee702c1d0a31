"""Addresses of the workers of a job, `host:port`."""

import errno
import re
import socket

#: A name or an IPv4 address, or an IPv6 address in brackets, and a port.
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s:/\[\]]+):([0-9]{1,5})")


def read_hosts(text: str, port: int):
    """Addresses of a list with commas.

    Raises:
        ValueError: As `check_hosts()`.

    Example:

    >>> from tfcap.cluster.hosts import read_hosts
    >>> read_hosts("a,b:77,[::1]", 2222)
    ['a:2222', 'b:77', '[::1]:2222']
    """
    hosts = [
        host
        if not host or re.search(r"[^:\]]:[^\]]*$|\]:", host)
        else f"{host}:{port}"
        for host in map(str.strip, text.split(","))
    ]
    check_hosts(hosts, "--hosts", text)
    return hosts


def check_hosts(hosts, name: str = "hosts", received=None):
    """Refuses addresses at which no worker could ever be.

    Raises:
        ValueError: If one is empty, is there twice, or is none.

    Example:

    >>> from tfcap.cluster.hosts import check_hosts
    >>> check_hosts(["a:2222", "b:2222"])
    """
    received = hosts if received is None else received
    for place, host in enumerate(hosts):
        found = isinstance(host, str) and _ADDRESS.fullmatch(host)
        if not found or not 1 <= int(found[2]) <= 65535:
            raise ValueError(
                f"`{name}` must name hosts as host or host:port, with a port "
                "in 1..65535, and IPv6 addresses in brackets. Received: "
                f"{name}={received!r}, of which number {place} is {host!r}. "
                "See that it is written right."
            )
    plain = [(host.lower(), port) for host, port in map(address, hosts)]
    for place, one in enumerate(plain):
        if one in plain[:place]:
            raise ValueError(
                f"`{name}` must name every worker once. Received: "
                f"{name}={received!r}, in which {hosts[place]!r} is number "
                f"{plain.index(one)} and number {place}. Give each worker a "
                "host, or a port, of its own."
            )


def address(host: str):
    """Name and port of a host, as sockets take them.

    Example:

    >>> from tfcap.cluster.hosts import address
    >>> address("[::1]:77")
    ('::1', 77)
    """
    name, _, port = host.rpartition(":")
    return name.strip("[]"), int(port)


def listen(port: int):
    """Server on a port of all interfaces, as TensorFlow's.

    Raises:
        ValueError: If another program listens there, or this user may not.

    Example:

    >>> from tfcap.cluster.hosts import listen
    >>> with listen(0) as server:
    ...     server.getsockname()[1] > 0
    True
    """
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        return socket.create_server(
            ("", port), family=family, dualstack_ipv6=both
        )
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        taken = error.errno == errno.EADDRINUSE
        why = (
            "where another program listens, perhaps a worker of an earlier "
            "start. End that program, or choose another port."
            if taken
            else "which is closed to this user. Choose one above 1023."
        )
        raise ValueError(
            "`port` must be one on which this machine's worker can listen. "
            f"Received: port={port}, {why}"
        ) from error


def free_ports(number: int) -> list[int]:
    """Ports of this machine on which nobody listens.

    Example:

    >>> from tfcap.cluster.hosts import free_ports
    >>> len(set(free_ports(3)))
    3
    """
    servers = [listen(0) for _ in range(number)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports
