"""Rows of recipes on two replicas end in the weights of one.

Run by a test as a process of its own; exits with 0 if all is well. As a
command, it compares the rows that are named, or `all` that need no Java:
`PYTHONPATH=. python tests/reproduce/two_replicas.py wtf_rl pg_cider`.

Words are drawn with noise that is a function of their distribution, the same
on one replica and on two; and steps are plain gradient descent, since Adam
steps where a gradient is 0 but for float error.
"""

import dataclasses
import functools
import json
import pathlib
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from reproduce.psst.paper import PSST
from reproduce.sle.paper import SLE
from reproduce.spider.paper import SPIDER
from reproduce.visdial import ROWS as VISDIAL
from reproduce.visdial import rows as visdial_rows
from reproduce.wtf_rl.paper import WTF_RL
from reproduce.wtf_rl.retrievers import NETWORKS
from tests.eager import run_eagerly
from tests.reproduce.psst import tiny_study as captioning
from tests.reproduce.sle import tiny_study as sequence_level
from tests.reproduce.visdial import tiny_study as visdial
from tests.reproduce.wtf_rl import tiny_study as distinctive
from tfcap.layers.word_channel import WordChannel
from tfcap.models import DualEncoder
from tfcap.training import ClippedAdam

JAVA = ("meteor", "bcmr", "spice", "spider", "spacy")
ROWS = {
    sequence_level: [
        row for row in (*SLE.rows, *SPIDER.rows) if not row.endswith(JAVA)
    ],
    distinctive: [*WTF_RL.rows],
    captioning: [*PSST.rows],
    visdial: [*VISDIAL],
}


def even(settings):
    """Settings without dropout, and batches that two replicas can share."""
    changes = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = even(value)
        elif field.name.endswith("dropout") and value:
            changes[field.name] = type(value)(0)
        elif field.name in ("batch_size", "reward_batch_size"):
            changes[field.name] = 4
    return dataclasses.replace(settings, **changes)


def sample(self, probabilities, noise=None):
    """Words that the distributions alone decide."""
    probabilities = ops.stop_gradient(probabilities)
    weights = 50 * np.sin(9.0 * np.arange(probabilities.shape[-1]))
    noise = ops.sum(probabilities * weights.astype("float32"), axis=-1)
    noise = noise - ops.floor(noise)
    below = ops.cumsum(probabilities, axis=-1) < noise[..., None]
    last = probabilities.shape[-1] - 1
    ids = ops.minimum(ops.sum(ops.cast(below, "int32"), axis=-1), last)
    return self.one_hot(ids, probabilities)


def plain():
    """What is drawn and stepped differently on two replicas, made alike."""
    WordChannel.sample = sample
    WordChannel.uniform = lambda self, shape, minval=0.0: ops.full(shape, 0.4)
    keras.optimizers.Adam = lambda *_, **__: keras.optimizers.SGD(0.1)
    # This one clips; with such an epsilon it hardly steps there.
    visdial_rows.ClippedAdam = lambda rate, **options: ClippedAdam(
        0.1, epsilon=1.0, **options
    )
    # Its blocks have a dropout that no setting holds.
    NETWORKS["dual_encoder"] = functools.partial(DualEncoder, block_dropout=0.0)
    for kind in ROWS:
        kind.TINY = even(kind.TINY)


def train(kind, rows, folder):
    for row in rows:
        if kind is visdial:
            kind.study(folder).networks(row)
            continue
        options = {"paper": SPIDER} if row in SPIDER.rows else {}
        study = kind.study(folder, **options)
        point = {"lambda_": 0.01} if kind is captioning else {}
        study.trained(row, **point)


def networks(folder):
    """Weights of all that a folder keeps, by name."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("networks.json")):
        for role in json.loads(path.read_text()):
            network = keras.saving.load_model(path.with_name(f"{role}.keras"))
            name = f"{path.parent.relative_to(folder)}/{role}"
            found[name] = network.get_weights()
    return found


def difference(a, b):
    """The largest difference, of weights above 1 in parts of the largest."""
    return np.abs(a - b).max() / max(1.0, np.abs(a).max())


def compare(kind, rows, folder, strategy):
    one, two = (pathlib.Path(folder, kind.__name__, x) for x in "12")
    with run_eagerly():
        train(kind, rows, one)
    with strategy.scope():
        train(kind, rows, two)
    expected, found = networks(one), networks(two)
    if expected.keys() != found.keys() or len(found) < len(rows):
        raise SystemExit(f"{sorted(expected)} and {sorted(found)}")
    gaps = {
        name: max(map(difference, weights, found[name]))
        for name, weights in expected.items()
    }
    for name, gap in gaps.items():
        print(f"{name}: largest difference of a weight {gap:.1e}", flush=True)
    if not max(gaps.values()) < 1e-5:
        raise SystemExit("weights differ")


if __name__ == "__main__":
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    plain()
    with tempfile.TemporaryDirectory() as folder:
        for kind, every in ROWS.items():
            rows = [r for r in every if {r, "all"} & set(sys.argv)]
            if rows:
                compare(kind, rows, folder, strategy)
