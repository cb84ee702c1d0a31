import contextlib
import socket
import threading
import time

import pytest

from tfcap.cluster import rendezvous
from tfcap.cluster.hosts import free_ports
from tfcap.cluster.rendezvous import Rendezvous


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(rendezvous, "_AGAIN", 0.05)


@pytest.fixture
def hosts():
    return [f"127.0.0.1:{port}" for port in free_ports(3)]


@pytest.fixture
def come():
    """Function that makes one, which is closed in the end."""
    with contextlib.ExitStack() as at_end:

        def make(hosts, index):
            one = Rendezvous(hosts, index)
            at_end.callback(one.close, well=True)
            return one

        yield make


def together(meetings, seconds=60):
    """What all of them find, who wait at the same time."""
    found = {}

    def wait(index, one):
        found[index] = one.wait(seconds)

    threads = [
        threading.Thread(target=wait, args=item) for item in enumerate(meetings)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[index] for index in range(len(meetings))]


def eventually(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def port(host):
    return int(host.rpartition(":")[2])


def test_all_who_come_meet_and_their_ports_are_free(hosts, come):
    meetings = [come(hosts, index) for index in range(3)]
    assert together(meetings) == [True] * 3
    # TensorFlow's server shares ports with whoever lets it.
    for host in hosts:
        with socket.create_server(("", port(host)), reuse_port=True):
            pass
    assert [one.ended() for one in meetings] == [[]] * 3


def test_one_that_came_alone_is_nobody(come):
    (single,) = free_ports(1)
    assert come([f"127.0.0.1:{single}"], 0).wait(60)


def test_who_has_not_come_is_named(hosts, come, monkeypatch):
    monkeypatch.setattr(rendezvous, "TELL_EVERY", 0.1)
    first, second = (come(hosts, index) for index in (0, 1))
    absent = f"1 of 3 hosts: {hosts[2]} (Connection refused)"
    eventually(lambda: first.missing() == second.missing() == absent)
    lines = []
    assert first.wait(0.35, tell=lines.append) is False
    assert lines and len(lines) <= 3
    for line in lines:
        assert line.startswith(f"Waiting for {absent}, for ")


def test_a_name_that_nobody_knows_is_said_to_be_none(hosts, come, monkeypatch):
    known = socket.getaddrinfo

    def look_up(host, *rest, **options):
        if host == "misspelt":
            raise socket.gaierror(socket.EAI_NONAME, "Name not known")
        return known(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    one = come([hosts[0], "misspelt:77"], 0)
    wanted = "1 of 2 hosts: misspelt:77 (its name is not known: Name not known)"
    eventually(lambda: one.missing() == wanted)


@pytest.mark.parametrize("speech", [b"", b"\x00\x00\x18\x04" * 9, b"220 x\r\n"])
def test_another_program_has_not_come(hosts, come, speech, monkeypatch):
    monkeypatch.setattr(rendezvous, "_PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", port(hosts[1]))) as server:

        def speak():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    held.append(connection)
                    connection.sendall(speech)

        held = []
        thread = threading.Thread(target=speak, daemon=True)
        thread.start()
        one = come(hosts[:2], 0)
        eventually(lambda: "another program answers there" in one.missing())
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


def test_one_of_another_job_or_of_another_number_has_not_come(hosts, come):
    one = come(hosts[:2], 0)
    other = come(hosts[1::-1], 0)
    eventually(lambda: "was started with other hosts" in one.missing())
    other.close(well=True)
    # Two names of one machine: that of number 1 is a third's.
    alias = [hosts[0], f"localhost:{port(hosts[0])}"]
    one.close(well=True)
    one = come(alias, 0)
    eventually(lambda: "is the machine of number 0" in one.missing())


def test_one_who_reaches_others_but_is_not_reached_waits(hosts, come):
    """As behind a firewall: TensorFlow's workers would hang."""
    one = come(hosts[:2], 0)
    with socket.create_server(("127.0.0.1", port(hosts[1]))) as server:
        connection, _ = server.accept()
        line = rendezvous._read_line(connection)
        connection.sendall(line[:-1].encode() + b"1\n")
        eventually(lambda: "has not reached this machine" in one.missing())
        assert f"at {hosts[0]}" in one.missing()
        assert one.wait(0) is False
        connection.close()


def test_who_went_away_before_all_met_is_waited_for_again(hosts, come):
    first, second = (come(hosts, index) for index in (0, 1))
    eventually(lambda: "1 of 3 hosts" in first.missing())
    second.close(well=False)
    eventually(lambda: "2 of 3 hosts" in first.missing())
    again = [first, come(hosts, 1), come(hosts, 2)]
    assert together(again) == [True] * 3


def test_who_ends_well_is_not_missed_and_who_does_not_is(hosts, come):
    meetings = [come(hosts, index) for index in range(3)]
    assert together(meetings) == [True] * 3
    meetings[1].close(well=True)
    meetings[2].close(well=False)
    eventually(lambda: meetings[0].ended() == [2])
    time.sleep(0.1)
    assert meetings[0].ended() == [2]


def test_strangers_do_not_come_between(hosts, come):
    one = come(hosts[:2], 0)
    rest = [b"GET / HTTP/1.1\r\n\r\n", b"x" * 5000, b"\xff\xfe\n", b""]
    for content in rest:
        with socket.create_connection(("127.0.0.1", port(hosts[0]))) as other:
            with contextlib.suppress(ConnectionError):
                other.sendall(content)
    assert together([one, come(hosts[:2], 1)]) == [True, True]
