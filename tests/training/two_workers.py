"""Training on two workers ends in the weights of one process.

Run by a test as two processes, each of which exits with 0 if all is well.
"""

import json
import os
import pathlib
import sys
import time

import keras
import numpy as np
import tensorflow as tf

from reproduce.sweep import Sweep
from tests import tiny
from tests.eager import run_eagerly
from tests.training import stopped
from tests.training import two_replicas
from tests.training.resumed import fit
from tfcap.data import DatasetBatches
from tfcap.data.step_pipeline import row_pipeline
from tfcap.data.step_pipeline import step_pipeline
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import from_chief
from tfcap.training import is_chief
from tfcap.training import open_strategy
from tfcap.training._tensorflow import MultiWorkerStrategy


def check(found, what):
    if not found:
        raise SystemExit(f"WRONG: {what}")


def decides():
    worker = strategy.cluster_resolver.task_id
    check(is_chief() == (worker == 0), "chief")
    said = {"epoch": worker, "names": [f"é{worker}"]}
    check(from_chief(said) == {"epoch": 0, "names": ["é0"]}, "JSON")
    array = np.array([[worker, np.nan]], "float64")
    found = from_chief(array)
    check(found.dtype == "float64" and found.tobytes() != b"", "array")
    np.testing.assert_array_equal(found, [[0, np.nan]])


def spreads():
    """Every row is read by one worker, in the order of one process."""
    for dataset, parts in (
        (step_pipeline(lambda s: np.arange(5) + 5 * s, range(3)), (3, 2)),
        (row_pipeline(lambda rows: rows, 7, 3), (2, 1)),
    ):
        whole = [tf.nest.flatten(x)[0].numpy() for x in dataset]
        shared = strategy.experimental_distribute_dataset(dataset)
        rows = [
            np.concatenate(strategy.experimental_local_results(part))
            for part in (tf.nest.flatten(x)[0] for x in shared)
        ]
        check(len(rows) == len(whole), "number of batches")
        for own, batch in zip(rows, whole):
            start = parts[0] * strategy.cluster_resolver.task_id
            mine = batch[start : start + parts[1 if start else 0]]
            np.testing.assert_array_equal(own, mine)


def refuses():
    # Of so many, no two orders are the same by chance.
    other = tf.data.Dataset.range(40).shuffle(40).batch(20)
    try:
        strategy.experimental_distribute_dataset(other)
        told = "nothing"
    except ValueError as error:
        told = str(error)
    check("must be the same on all workers" in told, told)


def sweeps(folder):
    """Both work at every point; the first one claims and writes it down."""

    def run(settings, place):
        pathlib.Path(place, str(task)).touch()
        return {"found": settings["seed"], "worker": task}

    sweep = Sweep(folder, run, {"seed": [3, 4]}, measures=["found"])
    check(sweep.work() == 0, "sweep")
    records = [(r["seed"], r["worker"]) for r in sweep.records()]
    check(records == [(3, 0), (4, 0)], f"points: {records}")
    for place in pathlib.Path(folder, "points").iterdir():
        check({"0", "1"} <= {x.name for x in place.iterdir()}, f"at {place}")


def stock():
    """A model of Keras' own, with what it fits, evaluates and predicts."""
    x = np.random.default_rng(0).normal(size=(14, 4)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(4)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(data, verbose=0).history
    told = model.evaluate(data, return_dict=True, verbose=0)
    said = model.predict(data.map(lambda x, y: x), verbose=0)
    numbers = [*history["mae"], told["loss"], told["mae"]]
    return [*model.get_weights(), said, np.array(numbers)]


def numbers(step):
    x = np.random.default_rng(step).normal(size=(4, 4)).astype("float32")
    return x, x[:, :1]


def sentences(step):
    words = np.random.default_rng(step).integers(2, 5, (4, 1, 3))
    rows = np.zeros((4, 1), "float32")
    return {"rows": rows, "references": words.astype("int32")}


def plain():
    """A model of Keras' own, not built."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "mse", run_eagerly=True)
    return model


def objective():
    model = JointTraining(tiny.MemorySpeaker(), TeacherForcing())
    model.compile("adam", run_eagerly=True)
    return model


def resumes(folder):
    """A user's models go on from what the first worker has on its disk."""
    for name, make, batches in (
        ("unbuilt", plain, DatasetBatches(numbers, 2)),
        ("objective", objective, DatasetBatches(sentences, 2)),
    ):
        ends = []
        for parts in ([2], [1, 2]):
            place = folder / name / str(len(parts))
            for epochs in parts:
                keras.utils.set_random_seed(1)
                model = make()
                fit(model, batches, epochs, place, verbose=0)
            found = [*model.variables, *model.optimizer.variables]
            ends.append(list(map(keras.ops.convert_to_numpy, found)))
        for a, b in zip(*ends):
            np.testing.assert_array_equal(a, b)
        check(model.optimizer.iterations.numpy() == 4, f"{name}: steps")
    # None waits for ever for one that cannot go on.
    try:
        batches = DatasetBatches(sentences, 2)
        fit(objective(), batches, 2, folder / "unbuilt" / "1")
        told = "nothing"
    except ValueError as error:
        told = str(error)
    check("must hold a checkpoint of this model" in told, told)


def compare(train, tolerance=2e-6):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        found = expected = train()
    if task == 0:
        keras.utils.set_random_seed(1)
        with run_eagerly():
            expected = train()
    with strategy.scope():
        expected = [from_chief(array) for array in expected]
    gap = max(np.abs(a - b).max() for a, b in zip(expected, found))
    check(gap < tolerance, f"{train.__name__} differs by {gap}")


if __name__ == "__main__":
    # It takes longer to improve a graph than to run it these few times.
    options = {"disable_meta_optimizer": True}
    tf.config.optimizer.set_experimental_options(options)
    strategy = open_strategy()
    check(isinstance(strategy, MultiWorkerStrategy), type(strategy))
    check(strategy.num_replicas_in_sync == 2, "replicas")
    task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    own = pathlib.Path(sys.argv[1], str(task))
    own.mkdir(exist_ok=True)
    with strategy.scope():
        decides()
        refuses()
        sweeps(own.parent / "sweep")
        resumes(own)
        stopped.goes_on(own.parent, hears=task == 1)
    spreads()
    compare(stock)
    compare(two_replicas.cooperative)
    # None ends before the others have all that it has sent.
    (own / "done").touch()
    while not all((own.parent / x / "done").exists() for x in "01"):
        time.sleep(0.1)
