"""Files with something wrong are read rightly, or refused by name.

    TFCAP_MUTATIONS=10000 python -m pytest tests/faults/test_mutated_files.py

reads as many in all; without it, a few hundred.
"""

import contextlib
import os
import random
import signal
import warnings

import pytest

from tests.faults.mutations import damage
from tests.faults.readers import READERS
from tests.faults.readers import written

TOTAL = int(os.environ.get("TFCAP_MUTATIONS", 400))
#: Seconds of work for one file of a few hundred bytes.
PATIENCE = 20


@contextlib.contextmanager
def patience():
    """Ends what works on and on; time alone may pass on a busy machine."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(reader, path):
    """What a reader makes of a file: what it holds, or what it says."""
    with patience(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return reader.read(path), None
        except ValueError as error:
            # Not a kind of it, such as of a text that is not UTF-8.
            assert type(error) is ValueError
            text = str(error)
            assert path.name in text and len(text) < 3000, text
            return None, text


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_something_wrong_is_read_rightly_or_refused(name):
    reader = READERS[name]
    with written(reader.data, reader.ending) as path:
        assert outcome(reader, path)[1] is None
        right_or_refused(reader, path, reader.data)
    for seed in range(-(-TOTAL // len(READERS))):
        data = reader.mutate(reader.data, random.Random(f"{name} {seed}"))
        with written(data, reader.ending) as path:
            right_or_refused(reader, path, data)


@pytest.mark.parametrize(
    "name", [n for n, r in READERS.items() if r.ending in (".npz", ".npy")]
)
def test_a_file_of_arrays_that_is_damaged_is_read_rightly_or_refused(name):
    reader = READERS[name]
    with written(reader.data, reader.ending) as path:
        for data in damage(path, step=max(1, 3000 // TOTAL)):
            right_or_refused(reader, path, data)


def right_or_refused(reader, path, data):
    try:
        found, refusal = outcome(reader, path)
        if refusal is None and reader.plain is not None:
            # A plain reading fails where the file should have been refused.
            assert found == reader.plain(data)
    except BaseException as error:
        error.add_note(f"{data[:1000]!r}")
        raise
