"""Trials of runs that are killed, whose operations fail, or lose the power.

What a run leaves in the end must be what one leaves that nobody disturbed.
"""

import errno
import functools
import hashlib
import pathlib
import re
import shutil
import tempfile

import numpy as np

from tests.faults.disk_model import Disk
from tests.faults.file_operations import ALL
from tests.faults.file_operations import CHANGES
from tests.faults.file_operations import KINDS
from tests.faults.file_operations import Disturbance
from tests.faults.file_operations import attempt
from tests.faults.file_operations import read_record
from tests.faults.power import write_state
from tests.faults.workloads import WORKLOADS
from tests.faults.workloads import patient

#: Kinds of operations that may end with an error, by its name.
FAILURES = {
    "ENOSPC": ("open", "write", "sync", "rename", "mkdir", "truncate")
    + ("close", "link"),
    "EIO": ("open", "write", "sync", "rename", "unlink", "mkdir", "read")
    + ("stat", "truncate", "rmdir", "close", "list", "chmod", "link"),
    "ESTALE": ("open", "write", "sync", "rename", "unlink", "read", "stat")
    + ("list", "close", "chmod", "link"),
    "EACCES": ("open", "rename", "unlink", "mkdir", "stat", "rmdir", "list"),
    "EPERM": ("open", "rename", "unlink", "mkdir", "chmod", "link"),
    "EROFS": ("open", "rename", "unlink", "mkdir", "rmdir", "chmod"),
    "EMFILE": ("open", "list"),
    "EINTR": ("open", "write", "sync", "read", "truncate"),
    "EDQUOT": ("open", "write", "sync", "mkdir", "truncate", "close"),
    "EOPNOTSUPP": ("truncate", "chmod", "link"),
}
#: Those of which an error may come though the operation was done.
ANSWERED = ("open", "write", "sync", "rename", "unlink", "mkdir", "truncate")
ANSWERED += ("link",)
FOR_EVER = 10**9
#: How a run may end that was asked to.
_STOPPED = ("done", "signal 9", "signal 15", "exit 143")


def only(names):
    """Leaves these runs alone to be disturbed."""
    for name in WORKLOADS.keys() - set(names):
        del WORKLOADS[name]


def pick(rng):
    names = [*WORKLOADS]
    weights = [WORKLOADS[name].weight for name in names]
    return rng.choices(names, weights)[0]


@functools.cache
def undisturbed(name):
    """Digests of what a run leaves, and its operations by kind."""
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root).resolve() / "whole"
        folder.mkdir()
        record = folder.parent / "record"
        WORKLOADS[name].prepare(folder)
        outcome = attempt(patient(WORKLOADS[name].run), folder, record=record)
        if outcome.status != "done":
            raise RuntimeError(f"{name}: {outcome}")
        counts = dict.fromkeys(KINDS, 0)
        for kind, *_ in read_record(record):
            counts[kind] += 1
        # Of what changes nothing there is no record.
        counts["all"] = outcome.count
        for kind, part in (("read", 3), ("stat", 3), ("close", 6)):
            counts[kind] = outcome.count // part
        found = attempt(functools.partial(digests, name), folder)
        if found.status != "done" or not found.value:
            raise RuntimeError(f"{name}: {found}")
        return found.value, counts


def digests(name, folder):
    """What a run has left, as digests by name."""
    found = {}
    for key, value in WORKLOADS[name].look(folder).items():
        value = value if isinstance(value, np.ndarray) else np.array(str(value))
        text = f"{value.dtype} {value.shape}".encode() + value.tobytes()
        key = str(key).replace(str(folder), "")
        found[key] = hashlib.sha256(text).hexdigest()[:16]
    return found


def operations(name, mask):
    """About how many operations of some kinds a run does."""
    _, counts = undisturbed(name)
    if mask == ALL:
        return counts["all"]
    return max(1, sum(counts[kind] for kind in KINDS if mask & KINDS[kind]))


def kill(rng, folder):
    """Kills a run one to three times, at counted operations."""
    name = pick(rng)
    tried = {"what": name, "how": []}
    WORKLOADS[name].prepare(folder)
    for _ in range(rng.choice((1, 1, 2, 3))):
        action = rng.choice(("kill", "kill", "torn", "terminate"))
        mask = rng.choice((ALL, CHANGES, CHANGES, KINDS["write"]))
        mask = KINDS["write"] if action == "torn" else mask
        first = rng.randint(1, operations(name, mask))
        outcome = attempt(
            patient(WORKLOADS[name].run),
            folder,
            Disturbance(action, first, mask=mask),
        )
        tried["how"].append([action, mask, first, outcome.status])
        if outcome.status not in _STOPPED:
            return tried, f"a run that was killed ended oddly: {outcome}"
    tried["parts"] = len(tried["how"])
    return tried, ends_well(name, folder)


def fail(rng, folder):
    """Lets operations fail once, some times, or from there on."""
    name = pick(rng)
    tried = {"what": name, "how": []}
    WORKLOADS[name].prepare(folder)
    for _ in range(rng.choice((1, 1, 2))):
        disturbance, how = failure(rng, name)
        outcome = attempt(patient(WORKLOADS[name].run), folder, disturbance)
        tried["how"].append([*how, outcome.status, outcome.text[:300]])
        problem = not_told(outcome, folder)
        if problem:
            return tried, f"{problem}: {outcome}"
        if outcome.status == "done":
            problem = differences(name, folder)
            if problem:
                return tried, f"it ended well and is wrong: {problem}"
    tried["parts"] = len(tried["how"])
    return tried, ends_well(name, folder)


def failure(rng, name):
    """A disturbance, and what it is in words."""
    code = rng.choice([*FAILURES, "short", "answer", "answer"])
    kinds = {"short": ("write", "read"), "answer": ANSWERED}.get(code)
    kinds = kinds or FAILURES[code]
    kinds = rng.choice([kinds, (rng.choice(kinds),)])
    mask = sum(KINDS[kind] for kind in kinds)
    times = rng.choice((1, 1, 3, FOR_EVER))
    # Who is interrupted for ever may try for ever.
    times = min(times, 3) if code == "EINTR" else times
    first = rng.randint(1, operations(name, mask))
    action, number = "fail", getattr(errno, code, 0)
    if code == "short":
        action = "short"
    if code == "answer":
        action, number = "after", rng.choice((errno.EIO, errno.ESTALE))
    disturbance = Disturbance(action, first, times, mask, number)
    return disturbance, [code, "+".join(kinds), first, times]


def not_told(outcome, folder):
    """What is wrong with how a run tells of an error; empty if nothing."""
    if "Traceback" in outcome.said:
        return "there is a traceback in what it printed"
    if outcome.status == "done":
        return ""
    if outcome.status == "exit 2":
        lines = [x for x in outcome.said.splitlines() if x.startswith("error:")]
        return "" if lines and str(folder) in lines[-1] else "no sentence"
    if outcome.status != "error":
        return "it ended oddly"
    if outcome.code is None and outcome.error != "ValueError":
        return "an error of another kind"
    names = re.findall(r"[\w./-]+", outcome.text)
    if not any(str(folder) in name for name in names):
        return "the file is not named"
    return ""


def power_cut(rng, folder):
    """Lets the power fail at any time of a run, once or twice."""
    name = pick(rng)
    tried = {"what": name, "how": [], "parts": 0}
    WORKLOADS[name].prepare(folder)
    begun, record = state_of(folder), folder.parent / "record"
    outcome = attempt(patient(WORKLOADS[name].run), folder, record=record)
    if outcome.status != "done":
        return tried, f"the run ended oddly: {outcome}"
    lacking = unrecorded(folder, begun, record)
    if lacking:
        return tried, f"the record lacks {lacking}"
    for _ in range(4):
        states = [begun]
        log = record
        for cut in range(rng.choice((1, 1, 2))):
            time, disk = after(folder, states[-1], log, rng)
            states.append(disk.state(rng))
            tried["how"].append([cut, time, disk.mark])
            tried["parts"] += 1
            shutil.rmtree(folder)
            folder.mkdir()
            write_state(states[-1], folder)
            problem = taken_back(name, folder, disk.mark)
            if problem:
                return tried, problem + told(states[-1])
            # To look at what is there may change it.
            shutil.rmtree(folder)
            folder.mkdir()
            write_state(states[-1], folder)
            log = folder.parent / "again"
            problem = ends_well(name, folder, log)
            if problem:
                return tried, problem + told(states[-1])
    return tried, ""


def after(folder, state, log, rng):
    """The disk after some of a record's operations, and how many."""
    disk = Disk(folder, state)
    steps = list(read_record(log))
    time = rng.randint(0, len(steps))
    for step in steps[:time]:
        disk.do(*step)
    return time, disk


def state_of(folder):
    """What is in a folder, as of `Disk.state()`."""
    return {
        str(path.relative_to(folder)): None
        if path.is_dir()
        else path.read_bytes()
        for path in folder.rglob("*")
    }


def unrecorded(folder, begun, record):
    """Names of what a record's operations do not explain."""
    disk = Disk(folder, begun)
    for step in read_record(record):
        disk.do(*step)
    model, found = disk.state(), state_of(folder)
    wrong = {
        name
        for name in found.keys() | model.keys()
        if found.get(name, 0) != model.get(name, 0)
    }
    # Of C's own streams there is no record.
    return sorted(name for name in wrong if "tfevents" not in name)


def told(state):
    """A disk's files in a few words."""
    sizes = {k: None if v is None else len(v) for k, v in state.items()}
    return f"\non the disk: {sizes}"


def taken_back(name, folder, marked):
    """What is wrong with how much the power has taken back."""
    progress = WORKLOADS[name].progress
    if progress is None:
        return ""
    outcome = attempt(patient_progress(progress), folder)
    if outcome.status != "done":
        return f"what is left cannot be read: {outcome}"
    if outcome.value < marked:
        return f"{marked} were done, {outcome.value} are left"
    return ""


def patient_progress(progress):
    def work(folder):
        value = []
        patient(lambda place: value.append(int(progress(place))))(folder)
        return value[0]

    return work


def ends_well(name, folder, record=None):
    """Does a run again. Returns what is wrong in the end, or nothing."""
    outcome = attempt(patient(WORKLOADS[name].run), folder, record=record)
    if outcome.status != "done":
        return f"the next run ended with {outcome}"
    return differences(name, folder)


def differences(name, folder):
    """What a run has left that another would not."""
    wanted, _ = undisturbed(name)
    outcome = attempt(functools.partial(digests, name), folder)
    if outcome.status != "done":
        return f"what it left cannot be read: {outcome}"
    found = outcome.value
    wrong = sorted(found.items() ^ wanted.items())
    return f"it differs in {wrong}" if wrong else ""
