import errno
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from tfcap import launch

ROOT = pathlib.Path(__file__).parents[1]
TELL = """
    import json, os, signal, sys, time
    config = json.loads(os.environ["TF_CONFIG"])
    index, folder = config["task"]["index"], sys.argv[1]
    hosts = config["cluster"]["worker"]
    def here():
        open(f"{folder}/part_{index}", "w").close()
        os.rename(f"{folder}/part_{index}", f"{folder}/here_{index}")
"""
TRUSTED = "--trusted-network"


@pytest.fixture
def started(tmp_path):
    """Function from options and Python source to a launcher that runs it."""

    def start(options, source):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(TELL) + textwrap.dedent(source))
        launcher = [sys.executable, "-m", "tfcap.launch", *options.split()]
        return subprocess.Popen(
            [*launcher, "--", sys.executable, "-S", path, tmp_path],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def ended(process):
    said, told = process.communicate(timeout=60)
    return process.returncode, sorted(said.splitlines()), told


def wait_for(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def test_workers_know_each_other_and_say_who_speaks(started):
    process = started(
        f"{TRUSTED} --workers 3",
        'print(len(set(hosts)), config["task"]["type"], hosts[index][:10])',
    )
    lines = [f"[{i}] 3 worker 127.0.0.1:" for i in range(3)]
    assert ended(process) == (0, lines, "")


def test_a_machine_starts_its_own_worker_of_several(started):
    process = started(
        "--hosts a,b:77 --index 1 --port 99", "print(json.dumps(config))"
    )
    status, (line,), _ = ended(process)
    assert status == 0 and json.loads(line.removeprefix("[1] ")) == {
        "cluster": {"worker": ["a:99", "b:77"]},
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.parametrize("how", ["sys.exit(7)", "os.kill(os.getpid(), 9)"])
def test_one_that_fails_ends_all_with_its_status(started, how):
    process = started(
        f"{TRUSTED} --workers 2",
        f"""
        if index:
            while not os.path.exists(folder + "/here_0"):
                time.sleep(0.01)
            {how}
        signal.signal(signal.SIGTERM, lambda *_: (print("bye"), sys.exit(9)))
        here()
        time.sleep(600)
        """,
    )
    status, lines, told = ended(process)
    assert status == (7 if "exit" in how else 128 + 9) and lines == ["[0] bye"]
    assert "Worker 1 ended with status" in told
    assert "Run the same command again" in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_passed_on_and_leaves_time_to_save(
    started, tmp_path, number
):
    process = started(
        f"{TRUSTED} --workers 2",
        f"""
        def save(*_):
            time.sleep(0.3)
            print("saved", flush=True)
            sys.exit(143)
        signal.signal({int(number)}, save)
        here()
        time.sleep(600)
        """,
    )
    wait_for(lambda: len([*tmp_path.glob("here_*")]) == 2)
    process.send_signal(number)
    status, lines, _ = ended(process)
    assert (status, lines) == (128 + number, ["[0] saved", "[1] saved"])


def test_workers_that_do_not_end_are_killed_with_what_they_started(
    tmp_path, monkeypatch, gone
):
    monkeypatch.setattr(launch, "GRACE", 0.2)
    monkeypatch.setattr(launch.signal, "signal", lambda *_: None)
    stubborn = "trap '' TERM; echo $$ >pid.part; mv pid.part pid; sleep 600"
    source = (
        "case $TF_CONFIG in *'\"index\": 0'*) until [ -e pid ]; do sleep 0.1; "
        f"done; exit 3;; esac; {stubborn}"
    )
    monkeypatch.chdir(tmp_path)
    options = [TRUSTED, "--workers", "2"]
    assert launch.main([*options, "--", "sh", "-c", source]) == 3
    assert gone(tmp_path / "pid")


@pytest.mark.parametrize(
    "options, words",
    [
        (["--workers", "2"], "the following arguments are required: command"),
        (["--", "true"], "give --workers"),
        (["--workers", "0", "--", "true"], "give --workers"),
        (["--hosts", "a,b", "--", "true"], "--index must be the number"),
        (["--hosts", "a,b", "--index", "2", "--", "true"], "--index must be"),
    ],
)
def test_wrong_options_are_refused_in_words(options, words, capsys):
    with pytest.raises(SystemExit) as error:
        launch.main(options)
    assert error.value.code == 2
    assert words in capsys.readouterr().err


def test_without_a_namespace_or_trust_no_worker_starts(monkeypatch, capsys):
    def refuse():
        raise OSError("none today")

    monkeypatch.setattr(launch, "_own_network", refuse)
    with pytest.raises(SystemExit):
        launch.main(["--workers", "2", "--", "no-such-program"])
    told = capsys.readouterr().err
    assert "--trusted-network must be given" in told and "none today" in told


LISTEN = """
    import socket
    port = int(hosts[index].rpartition(":")[2])
    # On all interfaces, as TensorFlow's server.
    server = socket.create_server(("", port))
    socket.create_connection(("127.0.0.1", port)).close()
    with open(f"{folder}/port_{index}", "w") as file:
        file.write(str(port))
    here()
    while not os.path.exists(folder + "/done"):
        time.sleep(0.01)
"""


@pytest.mark.parametrize("option", ["", TRUSTED])
def test_nobody_else_reaches_workers_in_their_namespace(
    started, tmp_path, option
):
    process = started(f"{option} --workers 2", LISTEN)
    wait_for(lambda: len([*tmp_path.glob("here_*")]) == 2 or process.poll())
    found = set()
    for path in tmp_path.glob("port_*"):
        with socket.socket() as stranger:
            place = "127.0.0.1", int(path.read_text())
            found.add(stranger.connect_ex(place))
    (tmp_path / "done").touch()
    status, _, told = ended(process)
    if status == 2 and "--trusted-network must be given" in told:
        pytest.skip("this system gives no network namespace")
    assert status == 0, told
    # By the second one sees that the first could fail.
    assert found == {0 if option else errno.ECONNREFUSED}
