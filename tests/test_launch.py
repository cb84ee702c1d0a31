import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tfcap.launch import main
from tfcap.launch import tf_config

ROOT = pathlib.Path(__file__).parents[1]
TELL = """
    import json, os
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
    assert main(["--workers", "3", "--", *command]) == 0
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == [f"[{i}] 3 worker 127.0.0.1:" for i in range(3)]


def test_a_machine_starts_its_own_worker_of_several(program, capsys):
    command = program("print(os.environ['TF_CONFIG'])")
    where = ["--hosts", "a,b:77", "--index", "1", "--port", "99"]
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
    assert main(["--workers", "2", "--", *command]) == 7
    assert time.monotonic() - begun < 60
    told = capsys.readouterr()
    assert told.err.splitlines() == [
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
    launcher = [sys.executable, "-m", "tfcap.launch", "--workers", "3"]
    done = subprocess.run(
        [*launcher, "--", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 128 + signal.SIGKILL
    lines = done.stdout.splitlines()
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
    launcher = [sys.executable, "-u", "-m", "tfcap.launch", "--workers", "4"]
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
    where = ["--hosts", "a,b", "--index", "1"]
    assert main([*where, "--", *command]) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert "Worker 1 ended with status 3. To go on, run" in last
    assert "again on every machine" in last


def test_one_that_does_not_end_is_ended(program, tmp_path, monkeypatch, gone):
    monkeypatch.setattr("tfcap.launch.GRACE", 0.2)
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
    assert main(["--workers", "2", "--", *command]) == 128 + signal.SIGKILL
    assert gone(tmp_path / "pid") and gone(tmp_path / "child")


def test_workers_are_started_again_as_often_as_wanted(program, capsys):
    command = program("""
        import sys
        with open(f"{sys.argv[1]}/{index}", "a") as file:
            file.write("x")
        sys.exit(os.path.getsize(f"{sys.argv[1]}/{index}") < 3)
    """)
    again = ["--workers", "1", "--restarts"]
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
    whole = [sys.executable, "-m", "tfcap.launch", "--workers", "2"]
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


@pytest.mark.parametrize(
    "options, words",
    [
        (["--workers", "2"], "a command must follow"),
        (["--", "true"], "give --workers"),
        (["--workers", "0", "--", "true"], "give --workers"),
        (["--hosts", "a,b", "--", "true"], "must be in 0..1"),
        (["--hosts", "a,b", "--index", "2", "--", "true"], "must be in 0..1"),
    ],
)
def test_wrong_options_are_refused_in_words(options, words, capsys):
    with pytest.raises(SystemExit) as error:
        main(options)
    assert error.value.code == 2
    assert words in capsys.readouterr().err


def test_a_program_that_is_not_there_is_named(capsys):
    assert main(["--workers", "1", "--", "no-such-program"]) == 2
    assert "no-such-program" in capsys.readouterr().err


def test_a_worker_that_refuses_its_options_is_not_to_be_run_again(
    program, capsys
):
    assert main(["--workers", "1", "--", *program("raise SystemExit(2)")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "Worker 0 ended with status 2. Its own lines say" in last
