import os
import pathlib
import subprocess
import sys

import pytest

from tests.networks import WITHOUT_ADMINISTRATION
from tests.networks import refusal
from tfcap.cluster import network_namespace
from tfcap.cluster.guard import release
from tfcap.cluster.guard import start_guarded
from tfcap.cluster.network_namespace import NetworkNamespace

ROOT = pathlib.Path(__file__).parents[2]
WORK = """
import os, sys
os.makedirs(sys.argv[1] + "/events")
with open(sys.argv[1] + "/events/file", "x") as file:
    file.write(open(__file__).read()[:1])
spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("net", "user")]
print(*spaces, os.getuid(), os.getgid())
"""


def test_processes_share_it_and_it_is_not_ours():
    if why := refusal():
        pytest.skip(why)
    namespace = NetworkNamespace()
    found = []
    for _ in range(2):
        process, line = start_guarded(
            ["readlink", "/proc/self/ns/net"],
            namespace,
            stdout=subprocess.PIPE,
            text=True,
        )
        found.append(process.communicate()[0].strip())
        assert process.returncode == 0
        release(line)
    before = namespace.descriptors
    namespace.close()
    assert len(set(found)) == 1
    assert found[0] != os.readlink("/proc/self/ns/net")
    for descriptor in before:
        with pytest.raises(OSError):
            os.fstat(descriptor)


def test_who_is_not_root_writes_files_that_are_their_own(tmp_path):
    """Root without its right to administrate takes the same way."""
    (tmp_path / "work.py").write_text(WORK)
    work = [sys.executable, "-S", str(tmp_path / "work.py"), str(tmp_path)]
    launcher = [sys.executable, "-m", "tfcap.launch", "--workers", "1", "--"]
    done = subprocess.run(
        [*WITHOUT_ADMINISTRATION, *launcher, *work],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if "--trusted-network` must be given" in done.stderr:
        pytest.skip("this system gives users no network namespace")
    assert done.returncode == 0, done.stdout + done.stderr
    _, network, users, *who = done.stdout.split()
    assert network != os.readlink("/proc/self/ns/net")
    assert users != os.readlink("/proc/self/ns/user")
    assert who == [str(os.getuid()), str(os.getgid())]
    written = (tmp_path / "events" / "file").stat()
    assert (written.st_uid, written.st_gid) == (os.getuid(), os.getgid())


def test_a_system_without_is_told_why(monkeypatch):
    monkeypatch.setattr(network_namespace.sys, "platform", "darwin")
    with pytest.raises(OSError, match="are Linux's"):
        NetworkNamespace()
    monkeypatch.undo()
    monkeypatch.setattr(network_namespace, "__file__", "/no/such/file")
    with pytest.raises(OSError, match="ended early"):
        NetworkNamespace()
