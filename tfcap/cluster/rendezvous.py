"""Meeting of the launchers of a job's hosts, before their workers start.

Each listens where its worker is to listen, and asks all others. So every pair
has two connections, one each way, as the workers will need them. They stay
open until a launcher ends, by which the others learn of it.
"""

import contextlib
import hashlib
import select
import socket
import threading
import time

from tfcap.cluster.hosts import address
from tfcap.cluster.hosts import listen

#: Seconds between two lines that say who has not come.
TELL_EVERY = 30.0
#: Seconds between two attempts to reach a host.
_AGAIN = 1.0
#: Seconds that one may take to accept, and to say who it is.
_PATIENCE = 5.0
#: Seconds between two signs of life: nobody between two hosts must take their
#: connection for one that is forgotten.
_BEAT = 30.0
_ALIVE, _WELL = b".", b"0"
_LONGEST_LINE = 200


class Rendezvous:
    """A launcher's part in the meeting of those of all hosts.

    Args:
        hosts: List of strings `host:port`, of all workers.
        index: Integer, which of them this is.

    Raises:
        ValueError: If it cannot listen on its port.

    Example:

    >>> from tfcap.cluster.hosts import free_ports
    >>> from tfcap.cluster.rendezvous import Rendezvous
    >>> hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    >>> both = [Rendezvous(hosts, index) for index in range(2)]
    >>> [one.wait(60) for one in both]
    [True, True]
    >>> for one in both:
    ...     one.close(well=True)
    """

    def __init__(self, hosts, index):
        self._hosts, self._index = list(hosts), index
        job = hashlib.sha256("\n".join(hosts).encode()).hexdigest()[:16]
        self._prefix = f"tfcap {job}"
        others = [i for i in range(len(hosts)) if i != index]
        self._state = dict.fromkeys(others, "not asked yet")
        # Who answers, who has ended otherwise than well, and connections of
        # those who have asked.
        self._reached, self._ended, self._held = set(), set(), {}
        self._lock = threading.Lock()
        self._met, self._left = threading.Event(), threading.Event()
        self._closed = threading.Event()
        self._server = listen(address(hosts[index])[1])
        for target, rest in [
            (self._serve, ()),
            *((self._ask, (other,)) for other in others),
        ]:
            threading.Thread(target=target, args=rest, daemon=True).start()

    def wait(
        self, seconds, stopped=lambda: False, tell=lambda text: None
    ) -> bool:
        """Waits until all hosts have come. Then the port is free again.

        Args:
            seconds: Float, how long at most.
            tell: Function of a string, called every `TELL_EVERY` seconds with
                a sentence that names who has not answered.
        """
        begun = time.monotonic()
        told = begun
        while not self._all_met():
            now = time.monotonic()
            if stopped() or now >= begun + seconds:
                return False
            if now >= told + TELL_EVERY:
                told += TELL_EVERY
                tell(f"Waiting for {self.missing()}, for {now - begun:.0f} s.")
            time.sleep(0.05)
        self._left.wait()
        return True

    def missing(self):
        """A clause that names the hosts that have not come, and why."""
        with self._lock:
            reasons = {
                i: "answers, but has not reached this machine at "
                f"{self._hosts[self._index]}"
                if i in self._reached
                else state
                for i, state in self._state.items()
                if i not in self._reached & set(self._held)
            }
        named = [f"{self._hosts[i]} ({r})" for i, r in sorted(reasons.items())]
        return f"{len(named)} of {len(self._hosts)} hosts: {', '.join(named)}"

    def ended(self):
        """Sorted list of hosts whose launchers have ended, but not well."""
        with self._lock:
            return sorted(self._ended)

    def close(self, well: bool):
        """Leaves."""
        self._closed.set()
        self._left.wait()
        for connection in self._held.values():
            with contextlib.suppress(OSError), connection:
                connection.send(_WELL if well else b"")

    def _all_met(self):
        with self._lock:
            if set(self._state) == self._reached & set(self._held):
                self._met.set()
            return self._met.is_set()

    def _serve(self):
        """Answers others until all have come, then shows that it is there."""
        with self._server as server:
            while not (self._met.is_set() or self._closed.is_set()):
                if select.select([server], [], [], 0.1)[0]:
                    with contextlib.suppress(OSError):
                        self._answer(server.accept()[0])
                self._forget_gone()
        self._left.set()
        while not self._closed.wait(_BEAT):
            for connection in self._held.values():
                with contextlib.suppress(OSError):
                    connection.send(_ALIVE)

    def _answer(self, connection):
        """Tells one who asks who this is, and notes who that was."""
        with contextlib.ExitStack() as unless_held:
            unless_held.enter_context(connection)
            connection.settimeout(_PATIENCE)
            line = _read_line(connection)
            connection.sendall(f"{self._prefix} {self._index}\n".encode())
            known = {f"{self._prefix} {i}": i for i in self._state}
            # Who does not read the answer has not come.
            if line in known and connection.recv(1) == _ALIVE:
                connection.setblocking(False)
                unless_held.pop_all()
                with self._lock:
                    self._held[known[line]] = connection

    def _forget_gone(self):
        """Forgets who has asked and has ended since: it will ask again."""
        for index, connection in list(self._held.items()):
            # Nobody says more than that.
            with contextlib.suppress(BlockingIOError):
                with contextlib.suppress(ConnectionError, TimeoutError):
                    connection.recv(1)
                with self._lock:
                    if not self._met.is_set():
                        self._held.pop(index).close()

    def _ask(self, other):
        """Asks a host until it answers, and then hears whether it ends."""
        while not self._closed.is_set():
            well = True
            try:
                with socket.create_connection(
                    address(self._hosts[other]), _PATIENCE
                ) as connection:
                    state = self._introduce(connection, other)
                    if state is None:
                        with self._lock:
                            self._reached.add(other)
                        well = _follow(connection)
                        state = "has ended"
            except socket.gaierror as error:
                state = f"its name is not known: {error.strerror}"
            except TimeoutError:
                state = "does not answer"
            except OSError as error:
                state = error.strerror or str(error)
            with self._lock:
                self._state[other] = state
                if self._met.is_set():
                    if not (well or self._closed.is_set()):
                        self._ended.add(other)
                    return
                self._reached.discard(other)
            self._closed.wait(_AGAIN)

    def _introduce(self, connection, other):
        """Says who this is. Returns what is wrong with the answer, if so."""
        connection.sendall(f"{self._prefix} {self._index}\n".encode())
        try:
            line = _read_line(connection)
        except TimeoutError:
            line = ""
        if line == f"{self._prefix} {other}":
            connection.sendall(_ALIVE)
            return None
        prefix, _, number = line.rpartition(" ")
        if prefix == self._prefix:
            return f"is the machine of number {number}"
        if prefix.startswith("tfcap "):
            return "was started with other hosts"
        return (
            "another program answers there, perhaps a worker of an earlier "
            "start"
        )


def _read_line(connection):
    """Reads a line, or as much of it as is expected."""
    content = b""
    while not content.endswith(b"\n") and len(content) < _LONGEST_LINE:
        part = connection.recv(_LONGEST_LINE)
        if not part:
            break
        content += part
    return content.decode("ascii", "replace").removesuffix("\n")


def _follow(connection):
    """Waits for the other's end. Returns whether that is no bad sign."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.settimeout(None)
    try:
        while part := connection.recv(_LONGEST_LINE):
            if _WELL in part:
                return True
    except OSError:
        # The network between the two, of which the workers will tell.
        return True
    return False
