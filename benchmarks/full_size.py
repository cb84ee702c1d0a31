"""COCO and VisDial in full: the start of a run, its memory, and its disk.

    python benchmarks/full_size.py --root DIR           # 25 GB, then removed
    python benchmarks/full_size.py --root DIR --share 0.01

Writes synthetic files of the published sizes (`full_size_files.py`), runs the
command lines on them up to the end of the first step, twice, and prints when
that step began and ended, and the peak of resident memory: the second time,
mean and deviation of COCO's features are known. Then prints what a spinning
disk would take to feed a step, modelled by the reads that the step makes: 8 ms
a seek, 120 MB/s.
"""

import argparse
import json
import os
import pathlib
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
import time

from full_size_files import write_coco
from full_size_files import write_visdial

ROOT = pathlib.Path(__file__).parents[1]
#: What writes the files of a data set, and the command line of its run.
RUNS = {
    "coco": (
        write_coco,
        "examples/tradeoff_curve.py --data published --methods psst_multinomial"
        " --lambdas 0.001",
    ),
    "visdial": (
        write_visdial,
        "examples/visdial_gdis.py --data visdial --norm 8 --rows hciae_g_mle",
    ),
}
_FOUND = "first step: "
_SEEK, _RATE = 8e-3, 120e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--root", type=pathlib.Path, required=True, help="folder for the files")
    add("--share", type=float, default=1.0, help="of images and dialogs")
    add("--only", choices=RUNS, help="default: both")
    add("--keep", action="store_true", help="the files, for another time")
    options = parser.parse_args()
    for name in [options.only] if options.only else RUNS:
        folder = options.root / name
        try:
            measure(name, folder, options.share)
        finally:
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)


def measure(name, folder, share):
    """Prints what a run of one data set costs."""
    write, command = RUNS[name]
    if not (folder / "written").exists():
        write(folder, share)
        (folder / "written").touch()
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
    print(f"{name}: {size:.1f} GB in files")
    with tempfile.TemporaryDirectory() as work:
        for start in ("first", "second"):
            out = os.path.join(work, start)
            found = run_first_step(command, folder, out, work)
            print(
                f"{name}, {start} start: first step begun after "
                f"{found['begun']:.0f} s ({found['cpu']:.0f} s of processors), "
                f"ended after {found['ended']:.0f} s, peak "
                f"{found['gigabytes']:.1f} GB",
                flush=True,
            )
    reader = training_features(folder)
    for window in ("auto", None):
        seeks, seconds = spinning_disk(reader, window)
        order = "in windows" if window else "over all images"
        print(
            f"{name}, shuffled {order}: a step of 128 images is {seeks:.0f} "
            f"seeks and {seconds:.2f} s of a spinning disk",
            flush=True,
        )


def run_first_step(command, folder, out, cache):
    """Runs a command line up to the end of its first step.

    Args:
        command: String, the script and its options.
        folder: Path of the data.
        out: String, folder for what the run writes.
        cache: String, folder for what is kept between runs.

    Returns:
        Dict of seconds `begun` and `ended`, of the `cpu` seconds until it
        began, and of `gigabytes`.
    """
    script, *options = command.split()
    options = [*options, "--root", str(folder), "--out", out]
    child = [sys.executable, __file__, _FOUND, str(ROOT / script), *options]
    about = {
        **os.environ,
        "TFCAP_CACHE": cache,
        "TFCAP_STARTED": str(time.time()),
    }
    told = subprocess.run(
        child, env=about, stdout=subprocess.PIPE, text=True, check=False
    ).stdout
    lines = [line for line in told.splitlines() if line.startswith(_FOUND)]
    if not lines:
        raise RuntimeError(f"{command} ended without a step:\n{told}")
    return json.loads(lines[-1].removeprefix(_FOUND))


def probe(script, *options):
    """Runs a script in this process, and ends it after its first step."""
    import keras

    started, found = float(os.environ["TFCAP_STARTED"]), {}

    def begin(self, batch, logs=None):
        used = resource.getrusage(resource.RUSAGE_SELF)
        found["begun"] = time.time() - started
        found["cpu"] = used.ru_utime + used.ru_stime

    def end(self, batch, logs=None):
        used = resource.getrusage(resource.RUSAGE_SELF)
        found["ended"] = time.time() - started
        found["gigabytes"] = used.ru_maxrss * 1024 / 1e9
        print(_FOUND + json.dumps(found), flush=True)
        os._exit(0)

    keras.callbacks.CallbackList.on_train_batch_begin = begin
    keras.callbacks.CallbackList.on_train_batch_end = end
    sys.argv = [script, *options]
    runpy.run_path(script, run_name="__main__")


def training_features(folder):
    """Features of the images that are learned from, as a run opens them."""
    from tfcap.data import load_captions
    from tfcap.data import load_features

    (path,) = folder.glob("*.h5")
    captions = folder / "dataset_coco.json"
    ids = None
    if captions.exists():
        ids = load_captions(captions, "train").image_ids
    return load_features(path, ids, lazy=True)


def spinning_disk(reader, window, steps=40, batch_size=128):
    """Seeks and seconds of a step, by the reads that steps cause.

    Args:
        reader: What `training_features()` returns.
        window: As `shuffle_window` of `tfcap.data.CaptionBatches`.
        steps: Integer, steps from the first on. Defaults to 40.
        batch_size: Integer, B. Defaults to 128.

    Returns:
        Tuple of floats, of one step.
    """
    import numpy as np

    from tfcap.data import hdf5_file
    from tfcap.data.mapped_features import stored_bytes
    from tfcap.data.window_reader import draw_windows
    from tfcap.data.window_reader import window_size

    places, size, reads = reader.stored_rows, stored_bytes(reader), []
    rng = np.random.default_rng(0)
    batch_size = min(batch_size, len(places))
    steps = min(steps, len(places) // batch_size)
    window = window_size(window, reader, batch_size)
    if window is None:
        order = rng.permutation(len(places))
        groups = order[: steps * batch_size].reshape(steps, batch_size)
    else:
        count = -(-steps * batch_size // window)
        groups = draw_windows(places, window, rng)[:count]
        steps = sum(map(len, groups)) / batch_size
    for rows in groups:
        rows = np.unique(places[rows])
        for start, stop in hdf5_file._reads(rows, size):
            reads.append(int(rows[stop - 1] - rows[start]) + 1)
    seconds = len(reads) * _SEEK + sum(reads) * size / _RATE
    return len(reads) / steps, seconds / steps


if __name__ == "__main__":
    if sys.argv[1:2] == [_FOUND]:
        probe(*sys.argv[2:])
    else:
        main()
