"""Runs a Java program so that its caller never hangs."""

import os
import signal
import subprocess
import tempfile
import threading

from tfcap.text.java.runtime import JavaError


class JavaProcess:
    """A Java program in a process of its own, with an end to every wait.

    Standard error goes to a file: an unread pipe fills up, and then
    the program waits forever. When time is up the whole process group is
    killed, so that a `java` which is a shell script leaves nothing behind.

    Args:
        name: String, what the program computes, for error messages.
        timeout: Float, seconds that one wait may last.
        folder: Path to run in, optional.
        stdin: File to read from, optional. Defaults to a pipe, see `ask()`.
        stdout: File to write to, optional. Defaults to a pipe.

    Raises:
        JavaError: If the program does not start; by all methods if it dies
            or does not answer in time. It is then closed.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        timeout: float,
        folder=None,
        stdin=None,
        stdout=None,
    ):
        self.name = name
        self.timeout = timeout
        self._late = False
        self._stderr = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                [os.fspath(part) for part in command],
                cwd=folder,
                stdin=subprocess.PIPE if stdin is None else stdin,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=self._stderr,
                # A group of its own, which can be killed as a whole.
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise JavaError(
                name,
                f"Java did not start ({error})",
                "See that the `java` in use can be run.",
            ) from error

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def ask(self, lines: list[str], answers: int) -> list:
        """Writes some lines and reads some.

        Args:
            lines: List of strings, each one line. What the program answers
                to all but the last must fit into the buffer of a pipe.
        """
        text = "".join(f"{line}\n" for line in lines).encode()
        timer = threading.Timer(self.timeout, self._expire)
        timer.daemon = True
        timer.start()
        output = []
        try:
            self._process.stdin.write(text)
            self._process.stdin.flush()
            for _ in range(answers):
                output.append(self._process.stdout.readline())
                if not output[-1].endswith(b"\n"):
                    raise EOFError("the output ended")
        except (OSError, EOFError) as error:
            raise self.failure(self._reason()) from error
        finally:
            timer.cancel()
        return [line.decode("utf-8", "replace").strip() for line in output]

    def wait(self):
        """Waits for the end of the program.

        Raises:
            JavaError: Also if its exit status is not 0.
        """
        try:
            status = self._process.wait(self.timeout)
        except subprocess.TimeoutExpired as error:
            self._late = True
            raise self.failure(self._reason()) from error
        if status:
            raise self.failure(self._reason())

    def failure(self, reason: str):
        """Closes the process and makes the error for it."""
        messages = self._last_words()
        self.close()
        if messages:
            reason = f"{reason}; its messages: {messages}"
        if "OutOfMemoryError" in messages or "reserve enough space" in messages:
            hint = "Choose another `heap`, such as heap='4G'."
        elif self._late:
            hint = (
                f"Give it more time (timeout={self.timeout:g} seconds now), "
                "or see what keeps the machine busy."
            )
        else:
            hint = "See that the `java` in use works, and try again."
        return JavaError(self.name, reason, hint)

    def close(self):
        """Kills the program, if it still runs, and frees what it held."""
        if self._process.returncode is None:
            self._kill()
            self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._stderr):
            try:
                if file is not None:
                    file.close()
            except OSError:
                pass  # what was still to be written has no reader any more

    def _expire(self):
        self._late = True
        self._kill()

    def _kill(self):
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        except ProcessLookupError:
            pass  # it was quicker

    def _reason(self):
        if self._late:
            return f"its Java program did not answer for {self.timeout:g} s"
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return "its Java program closed its output"
        return f"its Java program died with exit status {status}"

    def _last_words(self):
        """The lines of standard error that say what happened."""
        if self._stderr.closed:
            return ""
        # The process writes through the same offset: leave it where it is.
        size = os.fstat(self._stderr.fileno()).st_size
        start = max(0, size - 8000)
        if hasattr(os, "pread"):
            data = os.pread(self._stderr.fileno(), 8000, start)
        else:
            self._stderr.seek(start)
            data = self._stderr.read()
        lines = data.decode("utf-8", "replace").splitlines()
        messages = [
            line.strip()
            for line in lines
            if line.strip() and not line.startswith("\tat ")
        ]
        return " | ".join(messages[-4:])[:600]
