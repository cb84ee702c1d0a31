"""A network of their own for the workers of one machine.

TensorFlow's servers listen on all interfaces and ask nobody who they are. In a
network namespace of Linux they have a loopback interface alone, which nothing
outside reaches. The namespace is opened by a process of its own, which has one
thread as the system demands, and this file is what that process runs.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


class NetworkNamespace:
    """A new network namespace, in which processes can be started.

    Root takes a namespace of the network alone, others one of users, too, in
    which they are who they are: what they write belongs to them.

    Raises:
        OSError: If this system does not allow it.

    Attributes:
        descriptors: Tuple of integers, the open files of the namespaces in
            the order in which a process must join them.

    Example:

    >>> from tfcap.cluster.network_namespace import NetworkNamespace
    >>> try:
    ...     NetworkNamespace().close()
    ... except OSError:
    ...     pass  # This system has none to give.
    """

    def __init__(self):
        if not sys.platform.startswith("linux"):
            raise OSError("network namespaces are Linux's")
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                opener = subprocess.Popen(
                    [
                        sys.executable,
                        "-I",
                        "-S",
                        __file__,
                        str(theirs.fileno()),
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            said, found, _, _ = socket.recv_fds(ours, 1000, 2)
        self.descriptors = tuple(found)
        if opener.wait() or not found:
            self.close()
            raise OSError(said.decode() or "its process ended early")

    def close(self):
        """Forgets the namespace, which lasts as long as its processes."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()


def _open():
    """Moves this process into a new namespace. Returns its open files."""
    names = ["net"]
    try:
        _call("unshare", _CLONE_NEWNET)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)
        _write("setgroups", "deny")
        _write("uid_map", f"{user} {user} 1")
        _write("gid_map", f"{group} {group} 1")
        # Who joins the network must have joined its users before.
        names.insert(0, "user")
    _bring_up("lo")
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
    return [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in names]


def _bring_up(interface):
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        # struct ifreq: a name of 16 bytes, flags, and room for addresses.
        request = struct.pack("16sh14x", interface.encode(), 0)
        request = fcntl.ioctl(control, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("h", request, 16)
        request = struct.pack("16sh14x", interface.encode(), flags | _IFF_UP)
        fcntl.ioctl(control, _SIOCSIFFLAGS, request)


def _write(name, text):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)


def _call(name, *arguments):
    """Calls a function of the C library, of integers."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _main(descriptor):
    """Opens a namespace and hands its files, or says why not."""
    with socket.socket(fileno=descriptor) as channel:
        try:
            socket.send_fds(channel, [b"open"], _open())
        except (OSError, AttributeError) as error:
            text = getattr(error, "strerror", None) or str(error)
            channel.sendall(text.encode()[:1000])
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(int(sys.argv[1])))
