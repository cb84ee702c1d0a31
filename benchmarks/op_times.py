"""Where the time of a training step goes: milliseconds by operation.

python benchmarks/op_times.py ST-Gumbel
python benchmarks/op_times.py XE --dtype bfloat16

A step of `our_steps.py` on one thread, by TensorFlow's profiler: what is spent
in operations of a kind and not in those that they call, and how many there are.
"update" is all that optimizers do.
"""

import argparse
import collections
import glob
import os
import tempfile

import causal_lm

#: Kinds that are said in one row.
KINDS = {
    "_MklMatMul": "products",
    "_MklNativeFusedMatMul": "products",
    "MatMul": "products",
    "Einsum": "products",
    "BatchMatMulV2": "products",
}


def events(folder):
    """Names and own picoseconds of what the host did."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    (path,) = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
    with open(path, "rb") as file:
        space = xplane_pb2.XSpace.FromString(file.read())
    plane = next(x for x in space.planes if x.name == "/host:CPU")
    for line in plane.lines:
        ordered = sorted(
            line.events, key=lambda e: (e.offset_ps, -e.duration_ps)
        )
        own = [e.duration_ps for e in ordered]
        # Indices and ends of the events around the current one.
        around = []
        for i, event in enumerate(ordered):
            while around and around[-1][1] <= event.offset_ps:
                around.pop()
            if around:
                own[around[-1][0]] -= event.duration_ps
            around.append((i, event.offset_ps + event.duration_ps))
        for event, time in zip(ordered, own):
            yield plane.event_metadata[event.metadata_id].name, time


def row_of(name):
    """The row of an event; operations are "name:type"."""
    path, _, kind = name.rpartition(":")
    if "adam" in path.lower():
        return "update"
    return KINDS.get(kind, kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "name", help="step: XE, SCST, SLL, ST-Gumbel, PSST, G-DIS"
    )
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    os.environ.update(causal_lm.ONE_THREAD)
    import our_steps
    import tensorflow as tf

    step = our_steps.step(options.name, options.dtype)
    for _ in range(3):
        step()
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            for _ in range(options.steps):
                step()
        spent, count = collections.Counter(), collections.Counter()
        for name, time in events(folder):
            row = row_of(name)
            # A thread waits in it for the operations.
            if row != "Run":
                spent[row] += time / options.steps / 1e9
                count[row] += 1
    total = sum(spent.values())
    for name, time in spent.most_common(12):
        print(
            f"{name:26}{time:8.1f} ms {100 * time / total:5.1f} %"
            f"{count[name] // options.steps:6}"
        )
    print(f"{'all':26}{total:8.1f} ms")


if __name__ == "__main__":
    main()
