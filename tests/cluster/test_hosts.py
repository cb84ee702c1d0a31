import socket

import pytest

from tfcap.cluster.hosts import address
from tfcap.cluster.hosts import check_hosts
from tfcap.cluster.hosts import listen
from tfcap.cluster.hosts import read_hosts


def test_hosts_without_a_port_get_that_of_all():
    found = read_hosts(" a, b.c-d:77,10.0.0.1,[fe80::1%eth0],[::1]:65535", 9)
    assert found == [
        "a:9",
        "b.c-d:77",
        "10.0.0.1:9",
        "[fe80::1%eth0]:9",
        "[::1]:65535",
    ]
    assert [address(host) for host in found[2:]] == [
        ("10.0.0.1", 9),
        ("fe80::1%eth0", 9),
        ("::1", 65535),
    ]


@pytest.mark.parametrize(
    "text, place",
    [
        ("", 0),
        ("a,,b", 1),
        ("a,b,", 2),
        ("a:0", 0),
        ("a,b:65536", 1),
        ("a:x", 0),
        ("a:-1", 0),
        ("a:", 0),
        (":77", 0),
        ("::1", 0),
        ("a b", 0),
        ("http://a:77", 0),
        ("a:1:2", 0),
    ],
)
def test_what_is_no_host_is_refused_and_numbered(text, place):
    wanted = f"`--hosts` must name.*Received.*{text!r}, of which number {place}"
    with pytest.raises(ValueError, match=wanted):
        read_hosts(text, 2222)


@pytest.mark.parametrize("text", ["a,b,a", "a,A", "a:7,b,a:007"])
def test_a_host_that_is_there_twice_is_refused(text):
    with pytest.raises(ValueError, match="must name every worker once.*number"):
        read_hosts(text, 2222)


def test_one_host_may_have_several_workers_and_lists_hold_strings():
    check_hosts(["a:1", "a:2"])
    for wrong in ("a", 7, None):
        with pytest.raises(ValueError, match="`hosts` must name hosts"):
            check_hosts(["b:1", wrong])


def test_a_port_is_taken_also_by_one_who_would_share_it():
    """As TensorFlow's servers, two of which would answer by turns."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ValueError, match=f"port={port}, where another"):
            listen(port)
    listen(port).close()
