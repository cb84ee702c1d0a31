import sys
import threading
import time

import pytest

from tfcap.text import JavaError
from tfcap.text.java.java_process import JavaProcess

ECHO = (
    "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
)


def start(source, timeout=20.0, **options):
    command = [sys.executable, "-S", "-c", source]
    return JavaProcess("THING", command, timeout, **options)


def test_it_answers_line_by_line():
    with start(ECHO) as process:
        assert process.ask(["a", "ü"], 2) == ["A", "Ü"]
        assert process.ask(["b"], 1) == ["B"]


def test_a_program_that_hangs_is_killed_in_time_with_what_it_started(
    tmp_path, gone
):
    script = tmp_path / "java"
    script.write_text(
        f"#!/bin/sh\nsleep 300 &\necho $! > {tmp_path}/pid\nwait\n"
    )
    script.chmod(0o755)
    started = time.monotonic()
    process = JavaProcess("THING", [script], 1.0)
    with pytest.raises(JavaError, match="did not answer for 1 s.*timeout=1"):
        process.ask(["a"], 1)
    assert time.monotonic() - started < 15
    assert gone(tmp_path / "pid")


def test_a_program_that_reads_nothing_cannot_block_the_writer():
    with start("import time; time.sleep(300)", timeout=1.0) as process:
        with pytest.raises(JavaError, match="did not answer"):
            process.ask(["word " * 10**6], 1)


def test_a_program_that_floods_standard_error_does_not_block():
    flood = f"import sys; sys.stderr.write('noise ' * 10**6)\n{ECHO}"
    with start(flood) as process:
        assert process.ask(["a"], 1) == ["A"]


def test_a_death_is_told_with_its_last_words():
    source = (
        "import sys\nsys.stdin.readline()\n"
        "sys.stderr.write('Exception in main\\n\\tat here\\n\\tat there\\n')\n"
        "sys.exit(3)"
    )
    with start(source) as process:
        with pytest.raises(JavaError) as caught:
            process.ask(["a"], 1)
    error = caught.value
    assert error.name == "THING"
    assert "exit status 3; its messages: Exception in main" in error.reason
    assert "there" not in error.reason and error.hint


def test_too_little_memory_has_its_own_cure():
    with start("import sys; sys.exit('java.lang.OutOfMemoryError')") as process:
        with pytest.raises(JavaError, match="Choose another `heap`"):
            process.ask(["a"], 1)


def test_output_that_ends_is_no_answer():
    with start("print('half', end='')") as process:
        with pytest.raises(JavaError, match="exit status 0"):
            process.ask(["a"], 1)


def test_waiting_has_an_end(tmp_path):
    with open(tmp_path / "out", "wb") as out:
        with start("import time; time.sleep(300)", 1.0, stdout=out) as process:
            with pytest.raises(JavaError, match="did not answer for 1 s"):
                process.wait()
        with start("import sys; sys.exit('no')", stdout=out) as process:
            with pytest.raises(JavaError, match="status 1; its messages: no"):
                process.wait()
        with start("print('done')", stdout=out) as process:
            process.wait()
    assert (tmp_path / "out").read_text() == "done\n"


def test_a_program_that_cannot_start_is_told(tmp_path):
    with pytest.raises(JavaError, match="Java did not start"):
        JavaProcess("THING", [tmp_path / "java"], 1.0)


def test_closing_ends_a_call_of_another_thread():
    process = start("import time; time.sleep(300)", timeout=200.0)
    errors = []

    def ask():
        try:
            process.ask(["a"], 1)
        except JavaError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.3)
    process._kill()
    thread.join(20)
    assert len(errors) == 1
    process.close()
