"""Numbers of a tiny training of three rows, to compare with those kept.

    PYTHONPATH=. python tests/reproduce/golden.py           # compares
    PYTHONPATH=. python tests/reproduce/golden.py --write   # writes them anew

With names of points, either does those alone.

`golden.json` was written before the rows became dicts over `tfcap.methods`;
the comparison prints what differs and exits with 1 if something does. All
steps run eagerly on one machine: another one may differ in the last digits.
"""

import hashlib
import json
import math
import pathlib
import sys
import tempfile

import numpy as np
import tensorflow as tf

from tests.reproduce.psst import tiny_study as psst
from tests.reproduce.sle import tiny_study as sle
from tests.reproduce.wtf_rl import tiny_study as wtf_rl

PATH = pathlib.Path(__file__).with_name("golden.json")
#: The sizes of the kept numbers.
SIZES = {"max_length": 6}
MIXED = {**SIZES, "mixer_delta": 3, "num_samples": 2}


def weights(network):
    values = network.get_weights()
    data = b"".join(np.ascontiguousarray(v).tobytes() for v in values)
    squares = sum(float((v.astype("float64") ** 2).sum()) for v in values)
    digest = hashlib.sha256(data).hexdigest()
    return {"sha256": digest, "norm": math.sqrt(squares)}


def points(folder):
    """Names of rows, and functions that train and evaluate them."""

    def point(experiment, row, **numbers):
        def found():
            scores = experiment.result(row, **numbers)
            networks = experiment.trained(row, **numbers)
            kept = {k: weights(network) for k, network in networks.items()}
            return {"scores": scores, "weights": kept}

        return found

    made = psst.study(folder / "psst", **SIZES)
    row = "psst_multinomial"
    yield f"psst/{row}/0.01", point(made, row, lambda_=1e-2)
    made = sle.study(folder / "sle", **MIXED)
    yield "sle/sll_sle", point(made, "sll_sle")
    made = wtf_rl.study(folder / "wtf_rl", **SIZES)
    yield "wtf_rl/wtf_rl", point(made, "wtf_rl")


def differences(kept, found):
    """Names of numbers that differ, and by how much."""
    for name, value in kept["scores"].items():
        now = found["scores"].get(name)
        if now != value:
            yield f"{name}: {value!r}, now {now!r}"
    for role, value in kept["weights"].items():
        now = found["weights"].get(role, {})
        if now != value:
            yield f"{role}: norm {value['norm']!r}, now {now.get('norm')!r}"


def main(names, write):
    tf.config.run_functions_eagerly(True)
    kept = json.loads(PATH.read_text()) if names or not write else {}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, find in points(pathlib.Path(folder)):
            if names and name not in names:
                continue
            found = find()
            if write:
                kept[name] = found
                continue
            lines = list(differences(kept[name], found))
            wrong += bool(lines)
            print(f"{name}: {len(lines) or 'nothing'} differs", *lines[:4])
    if write:
        rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in kept.items())
        PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return int(bool(wrong))


if __name__ == "__main__":
    named = [name for name in sys.argv[1:] if not name.startswith("-")]
    raise SystemExit(main(named, "--write" in sys.argv))
