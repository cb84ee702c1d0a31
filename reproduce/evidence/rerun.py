"""Runs of the register, made again in a folder of their own."""

import os
import subprocess
import sys

from reproduce.evidence.records import ROOT
from reproduce.evidence.register import Run


def command_of(run: Run, out, root: str | None) -> list[list[str]]:
    """Arguments of `python -m reproduce` that make a run's part again."""
    commands = []
    for again in run.again:
        words = [*again.split(), "--out", str(out)]
        if run.needs:
            words += ["--root", root or "DIR"]
        commands.append(words)
    return commands


def shown(words: list[str]) -> str:
    """A command as a user would type it."""
    return " ".join(["python -m reproduce", *words])


def why_not(run: Run, minutes: float, root: str | None) -> str:
    """Reason for which a run is not made again here, `""` for none.

    Args:
        minutes: Float, the most CPU minutes that one may take.
        root: Folder that may hold a folder of data named as `run.needs`.
    """
    if not run.again:
        return run.why or "no part of it is registered to be run again"
    if run.minutes > minutes:
        return f"takes some {run.minutes:g} CPU minutes"
    if run.needs and not data_of(run, root):
        return (
            f"needs the data of {run.needs}: --root FOLDER, with {run.needs}/"
        )
    return ""


def data_of(run: Run, root: str | None) -> str | None:
    """The folder of a run's data, where it is there."""
    folder = os.path.join(root or "", run.needs)
    return folder if root and os.path.isdir(folder) else None


def run_again(run: Run, out, root: str | None) -> int:
    """Trains what is missing of a run's part. Returns the exit status.

    What is done is kept in `out`, and the same call goes on after Ctrl-C.
    """
    for words in command_of(run, out, data_of(run, root)):
        print(f"\n{shown(words)}", flush=True)
        # A process of its own: TensorFlow's memory goes with it.
        process = subprocess.Popen(
            [sys.executable, "-m", "reproduce", *words],
            env={**os.environ, "PYTHONPATH": _paths()},
        )
        try:
            status = process.wait()
        except KeyboardInterrupt:
            # It has had Ctrl-C, too, and keeps what is done.
            process.wait()
            raise
        if status:
            return status
    return 0


def _paths():
    paths = [str(ROOT), os.environ.get("PYTHONPATH")]
    return os.pathsep.join(filter(None, paths))
