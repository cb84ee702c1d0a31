import errno
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from tests.networks import own_network_options
from tests.networks import refusal
from tfcap.cluster.hosts import free_ports
from tfcap.cluster.tf_config import tf_config
from tfcap.launch import launch_script
from tfcap.launch import main

ROOT = pathlib.Path(__file__).parents[1]
#: Before the number of workers, where namespaces are and where they are not.
HERE = [*own_network_options(), "--workers"]
TELL = """
    import json, os, sys
    config = json.loads(os.environ["TF_CONFIG"])
    index = config["task"]["index"]
"""


@pytest.fixture
def program(tmp_path):
    """Function from Python source to the command that runs it."""

    def make(source):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(TELL) + textwrap.dedent(source))
        return [sys.executable, "-S", str(path), str(tmp_path)]

    return make


def numbers(folder):
    return sorted(path.name for path in folder.glob("here_*"))


def wait_for(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def test_workers_know_each_other_and_say_who_speaks(program, capsys):
    command = program("""
        hosts = config["cluster"]["worker"]
        print(len(set(hosts)), config["task"]["type"], hosts[index][:10])
    """)
    assert main([*HERE, "3", "--", *command]) == 0
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == [f"[{i}] 3 worker 127.0.0.1:" for i in range(3)]


def test_a_machine_starts_its_own_worker_of_several(program, capsys):
    command = program("print(os.environ['TF_CONFIG'])")
    where = ["--hosts", "a,b:77", "--index", "1", "--port", "99", "--wait=0"]
    assert main([*where, "--", *command]) == 0
    said = capsys.readouterr().out.removeprefix("[1] ")
    assert said.strip() == tf_config(["a:99", "b:77"], 1)
    found = json.loads(said)
    assert found["cluster"] == {"worker": ["a:99", "b:77"]}
    assert found["task"] == {"type": "worker", "index": 1}


def test_one_that_fails_ends_all_with_its_status(program, tmp_path, capsys):
    command = program("""
        import signal, sys, time
        if index:
            while not os.path.exists(sys.argv[1] + "/ready"):
                time.sleep(0.01)
            sys.exit(7)
        signal.signal(signal.SIGTERM, lambda *_: (print("bye"), sys.exit(0)))
        open(sys.argv[1] + "/ready", "w").close()
        time.sleep(600)
    """)
    begun = time.monotonic()
    assert main([*HERE, "2", "--", *command]) == 7
    assert time.monotonic() - begun < 60
    told = capsys.readouterr()
    assert told.err.splitlines()[1:] == [
        "tfcap.launch: Worker 1 ended with status 7.",
        "tfcap.launch: Worker 1 ended with status 7, and the others were "
        "stopped. To go on, run the same command again: what was kept is used.",
    ]
    assert told.out == "[0] bye\n"


def test_what_others_say_of_a_worker_that_died_is_not_the_last_line(program):
    """As TensorFlow's workers do, which lose the connection."""
    command = program("""
        import signal, sys, time
        def lost(*_):
            print("UnavailableError: Socket closed", flush=True)
            sys.exit(9)
        signal.signal(signal.SIGTERM, lost)
        there = sys.argv[1] + "/here_"
        open(there + str(index), "w").close()
        while not all(os.path.exists(there + i) for i in "012"):
            time.sleep(0.01)
        if index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)
    """)
    launcher = [sys.executable, "-m", "tfcap.launch", *HERE, "3"]
    done = subprocess.run(
        [*launcher, "--", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 128 + signal.SIGKILL
    lines = done.stdout.splitlines()[1:]
    assert sorted(lines[1:3]) == [
        f"[{i}] UnavailableError: Socket closed" for i in (0, 2)
    ]
    assert lines[3:] == [
        "tfcap.launch: Worker 1 was ended by signal 9 (SIGKILL), as where "
        "memory runs out, and the others were stopped. To go on, run the same "
        "command again: what was kept is used."
    ]


def test_lines_of_several_workers_are_written_whole(program):
    """Also those that are written in parts, and by writers that do not wait."""
    command = program("""
        import sys, time
        for line in range(200):
            for part in (f"{line}:", "ab", "cd", "\\n"):
                os.write(1 + (line + index) % 2, part.encode())
        os.write(1, b"no end of line")
    """)
    # Unbuffered, every write to the stream is one to the file.
    launcher = [sys.executable, "-u", "-m", "tfcap.launch", *HERE, "4"]
    said = subprocess.run(
        [*launcher, "--", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    lines = said.splitlines()
    for index in range(4):
        own = [line for line in lines if line.startswith(f"[{index}] ")]
        wanted = [f"{line}:abcd" for line in range(200)] + ["no end of line"]
        assert own == [f"[{index}] {text}" for text in wanted]
    assert len(lines) == 4 * 201


def test_a_worker_of_several_machines_tells_where_to_start_again(
    program, capsys
):
    command = program("raise SystemExit(3)")
    where = ["--hosts", "a,b", "--index", "1", "--wait", "0"]
    assert main([*where, "--", *command]) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert "Worker 1 ended with status 3. To go on, run" in last
    assert "again on every machine" in last


def test_one_that_does_not_end_is_ended(program, tmp_path, monkeypatch, gone):
    monkeypatch.setattr("tfcap.cluster.worker_group.GRACE", 0.2)
    command = program("""
        import signal, subprocess, sys, time
        if index:
            # What it has started holds its output open.
            child = subprocess.Popen(["sleep", "600"])
            with open(sys.argv[1] + "/child", "w") as file:
                file.write(str(child.pid))
            while not os.path.exists(sys.argv[1] + "/pid"):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(sys.argv[1] + "/part", "w") as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[1] + "/part", sys.argv[1] + "/pid")
        time.sleep(600)
    """)
    assert main([*HERE, "2", "--", *command]) == 128 + signal.SIGKILL
    assert gone(tmp_path / "pid") and gone(tmp_path / "child")


def test_workers_are_started_again_as_often_as_wanted(program, capsys):
    command = program("""
        import sys
        with open(f"{sys.argv[1]}/{index}", "a") as file:
            file.write("x")
        sys.exit(os.path.getsize(f"{sys.argv[1]}/{index}") < 3)
    """)
    again = [*HERE, "1", "--restarts"]
    assert main([*again, "1", "--", *command]) == 1
    assert main([*again, "5", "--", *command]) == 0
    told = capsys.readouterr().err
    assert told.count("Starting again") == 1
    assert "Worker 0 ended with status 1. Starting again (0 more)." in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all(program, tmp_path, number):
    command = program("""
        import signal, sys, time
        def stop(number, frame):
            print("stopped", flush=True)
            sys.exit(130)
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)
        open(f"{sys.argv[1]}/here_{index}", "w").close()
        time.sleep(600)
    """)
    whole = [sys.executable, "-m", "tfcap.launch", *HERE, "2"]
    process = subprocess.Popen(
        [*whole, "--restarts", "3", "--", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(numbers(tmp_path)) == 2)
    process.send_signal(number)
    said, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert sorted(said.splitlines()) == ["[0] stopped", "[1] stopped"]
    stopped = f"Stopped by signal {number} ({signal.Signals(number).name})."
    assert told.splitlines()[-1].startswith(f"tfcap.launch: {stopped} To go")


def test_a_scheduler_s_notice_leaves_time_to_save(
    program, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("tfcap.cluster.worker_group.GRACE", 0.0)
    command = program("""
        import signal, sys, time
        def save(*_):
            time.sleep(0.3)
            print("saved", flush=True)
            sys.exit(143)
        signal.signal(signal.SIGTERM, save)
        os.kill(int(sys.argv[2]), signal.SIGTERM)
        time.sleep(600)
    """)
    assert main([*HERE, "1", "--", *command, str(os.getpid())]) == 143
    assert capsys.readouterr().out == "[0] saved\n"


@pytest.mark.parametrize(
    "options, words",
    [
        (["--workers", "2"], "a command must follow"),
        (["--", "true"], "give --workers"),
        (["--workers", "0", "--", "true"], "give --workers"),
        (["--hosts", "a,b", "--", "true"], "must be in 0..1"),
        (["--hosts", "a,b", "--index", "2", "--", "true"], "must be in 0..1"),
        (
            ["--hosts", "a,b", "--index", "0", "--workers", "2", "--", "true"],
            "--workers are of this machine alone",
        ),
        (["--hosts", "a,,b", "--index", "0", "--", "true"], "number 1 is ''"),
        (["--hosts", "a,b", "--port", "0", "--", "true"], "a port in 1..65535"),
        (["--hosts", "a,b", "--wait", "-1", "--", "true"], "--wait must be"),
    ],
)
def test_wrong_options_are_refused_in_words(options, words, capsys):
    with pytest.raises(SystemExit) as error:
        main(options)
    assert error.value.code == 2
    assert words in capsys.readouterr().err


def test_a_negative_number_of_restarts_is_refused(capsys):
    assert main([*HERE, "1", "--restarts", "-1", "--", "true"]) == 2
    assert "`--restarts` must be at least 0" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_named(capsys):
    assert main([*HERE, "1", "--", "no-such-program"]) == 2
    assert "no-such-program" in capsys.readouterr().err


def test_a_worker_that_refuses_its_options_is_not_to_be_run_again(
    program, capsys
):
    assert main([*HERE, "1", "--", *program("raise SystemExit(2)")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "Worker 0 ended with status 2. Its own lines say" in last


def test_a_program_that_cannot_be_run_is_told(tmp_path, capsys):
    path = tmp_path / "program"
    path.write_text("no program\n")
    assert main([*HERE, "1", "--", str(path)]) == 2
    assert "Permission denied" in capsys.readouterr().err
    path.chmod(0o755)
    path.write_bytes(b"\x7fELF but no more")
    assert main([*HERE, "1", "--", str(path)]) == 2
    assert f"[0] error: {path}: Exec format" in capsys.readouterr().out


def test_a_launcher_that_is_killed_takes_its_workers_with_it(
    program, tmp_path, gone
):
    command = program("""
        import subprocess, time
        child = subprocess.Popen(["sleep", "600"])
        for name, number in (("worker", os.getpid()), ("child", child.pid)):
            with open(f"{sys.argv[1]}/part_{index}", "w") as file:
                file.write(str(number))
            os.rename(file.name, f"{sys.argv[1]}/here_{index}_{name}")
        time.sleep(600)
    """)
    whole = [sys.executable, "-m", "tfcap.launch", *HERE, "2", "--", *command]
    process = subprocess.Popen(
        whole, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    wait_for(lambda: len(numbers(tmp_path)) == 4)
    process.kill()
    process.wait()
    assert all(gone(tmp_path / name) for name in numbers(tmp_path))


LISTEN = """
    import socket, time
    ports = [int(h.rpartition(":")[2]) for h in config["cluster"]["worker"]]
    # On all interfaces, as TensorFlow's server.
    server = socket.create_server(("", ports[index]))
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        try:
            socket.create_connection(("127.0.0.1", ports[1 - index])).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    else:
        sys.exit("the other one cannot be reached")
    part = f"{sys.argv[1]}/part_{index}"
    with open(part, "w") as file:
        file.write(str(ports[index]))
    os.rename(part, f"{sys.argv[1]}/here_{index}")
    while not os.path.exists(sys.argv[1] + "/done"):
        time.sleep(0.01)
"""


def outcome_of_strangers(program, folder, *options):
    """What who connects to the workers' ports from here meets with."""
    whole = [sys.executable, "-m", "tfcap.launch", *options, "--workers", "2"]
    process = subprocess.Popen(
        [*whole, "--", *program(LISTEN)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(numbers(folder)) == 2 or process.poll())
    found = []
    for name in numbers(folder):
        port = int((folder / name).read_text())
        with socket.socket() as stranger:
            found.append(stranger.connect_ex(("127.0.0.1", port)))
    (folder / "done").touch()
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 0, told
    return found, told


def test_nobody_else_reaches_workers_in_their_namespace(program, tmp_path):
    if why := refusal():
        pytest.skip(why)
    found, told = outcome_of_strangers(program, tmp_path)
    assert found == [errno.ECONNREFUSED] * 2
    assert "have a network namespace of their own" in told.splitlines()[0]


def test_on_a_network_that_is_trusted_anybody_does(program, tmp_path):
    """By which one sees that the test before could fail."""
    found, told = outcome_of_strangers(program, tmp_path, "--trusted-network")
    assert found == [0, 0]
    assert "whoever reaches the workers' ports" in told.splitlines()[0]


def test_without_a_namespace_or_trust_no_worker_starts(program, tmp_path):
    launcher = [sys.executable, "-m", "tfcap.launch", "--workers", "2"]
    command = [*launcher, "--", *program("print('started')")]
    if not refusal():
        # There, somebody forbids it.
        if shutil.which("unshare") is None:
            pytest.skip("needs `unshare` to forbid namespaces")
        forbid = "echo 0 >/proc/sys/user/max_net_namespaces && "
        command = [
            *("unshare", "--user", "--map-root-user", "sh", "-c"),
            f'{forbid} exec "$@"',
            *("sh", *command),
        ]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("error: `--trusted-network` must be given")
    assert len(done.stderr.splitlines()) == 1


def test_an_example_passes_trust_on(program, monkeypatch, capfd, tmp_path):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    script = program("print('started')")[-2]
    asked = []

    class Namespace:
        def __init__(self):
            asked.append(self)
            raise OSError("none today")

    monkeypatch.setattr("tfcap.launch.NetworkNamespace", Namespace)
    with pytest.raises(ValueError, match="`--trusted-network` must be given"):
        launch_script(script, [str(tmp_path)], 2)
    assert len(asked) == 1
    assert launch_script(script, [str(tmp_path)], 2, True) == 0
    assert len(asked) == 1
    assert capfd.readouterr().out.count("started") == 2


def test_hosts_say_who_gets_in_before_all_else(program):
    launcher = [sys.executable, "-u", "-m", "tfcap.launch", "--wait", "0"]
    where = ["--hosts", "a:71,b:72", "--index", "0"]
    done = subprocess.run(
        [*launcher, *where, "--", *program("print('started')")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert "ask nobody who they are" in first and "port 71, 72" in first
    assert "firewall" in first and "NetworkPolicy" in first
    assert second == "[0] started"


def on_hosts(hosts, index, *command, options=()):
    where = ["--hosts", ",".join(hosts), "--index", str(index), *options]
    return subprocess.Popen(
        [sys.executable, "-m", "tfcap.launch", *where, "--", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_workers_of_several_hosts_start_when_all_have_come(program, tmp_path):
    command = program("""
        # The port is TensorFlow's again.
        import socket
        socket.create_server(("", int(config["cluster"]["worker"][index][10:])))
        print("started")
    """)
    hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    first = on_hosts(hosts, 0, *command)
    time.sleep(0.5)
    assert first.poll() is None
    both = [first, on_hosts(hosts, 1, *command)]
    for index, process in enumerate(both):
        said, told = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, f"[{index}] started\n"), told


def test_a_host_whose_launcher_ends_ends_the_others(program, tmp_path):
    """Also where TensorFlow would wait for it, for an hour."""
    command = program("""
        import time
        open(f"{sys.argv[1]}/here_{index}", "w").close()
        time.sleep(600)
    """)
    hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    both = [on_hosts(hosts, index, *command) for index in range(2)]
    wait_for(lambda: len(numbers(tmp_path)) == 2)
    both[1].kill()
    told = both[0].communicate(timeout=60)[1]
    both[1].communicate()
    assert both[0].returncode == 1
    last = told.splitlines()[-1]
    assert f"Worker 1, at {hosts[1]}, has ended, and the others" in last


def test_hosts_start_again_together(program, tmp_path):
    command = program("""
        import time
        with open(f"{sys.argv[1]}/here_{index}", "a") as file:
            file.write("x")
        again = os.path.getsize(file.name) > 1
        while not again and index:
            time.sleep(1)
        while not os.path.exists(f"{sys.argv[1]}/here_1"):
            time.sleep(0.01)
        sys.exit(not again)
    """)
    hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    both = [
        on_hosts(hosts, index, *command, options=["--restarts", "1"])
        for index in range(2)
    ]
    told = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert "Worker 0 ended with status 1, and" in told[0]
    assert f"Worker 0, at {hosts[0]}, has ended, and" in told[1]
    assert all("Starting again (0 more)." in text for text in told)


def test_a_host_that_never_comes_is_named_and_not_waited_for(
    program, capsys, monkeypatch
):
    monkeypatch.setattr("tfcap.cluster.rendezvous.TELL_EVERY", 0.2)
    hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    where = ["--hosts", ",".join(hosts), "--index", "0", "--wait", "0.7"]
    restarts = ["--restarts", "3"]
    command = program("print('started')")
    assert main([*where, *restarts, "--", *command]) == 1
    told = capsys.readouterr()
    assert not told.out
    first, *waiting, last = told.err.splitlines()
    absent = f"1 of 2 hosts: {hosts[1]} (Connection refused)"
    assert waiting and all("Waiting for 1 of 2 hosts" in w for w in waiting)
    assert absent in waiting[-1]
    assert f"No worker was started: after 0.7 seconds without {absent}" in last


def test_a_wait_for_hosts_can_be_stopped(program, tmp_path):
    hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    process = on_hosts(hosts, 0, *program("print('started')"))
    assert "ask nobody" in process.stderr.readline()
    wait_for(lambda: _listens(int(hosts[0][10:])))
    process.send_signal(signal.SIGINT)
    said, told = process.communicate(timeout=60)
    assert process.returncode == 130 and not said
    assert "Stopped by signal 2 (SIGINT)." in told


def _listens(port):
    with socket.socket() as one:
        return not one.connect_ex(("127.0.0.1", port))


def test_a_port_that_is_taken_is_told(program, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        where = ["--hosts", f"127.0.0.1:{port},127.0.0.1:1", "--index", "0"]
        assert main([*where, "--", *program("print('started')")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: `port` must be one on which")
    assert f"port={port}, where another program listens" in last
