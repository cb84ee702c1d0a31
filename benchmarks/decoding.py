"""Both ways to decode, as sentences grow: first step, step, memory.

python benchmarks/decoding.py
python benchmarks/decoding.py --json decoding.json --figure decoding.png
python benchmarks/decoding.py --lengths 16 64 256 --unrolled 64

REINFORCE with a leave-one-out baseline, `JointTraining.train_on_batch()`: a
`TransformerSpeaker` of 3 layers of 128 units, 4 images, 4 samples, 1,000 words.
Its weights are random: sentences hardly end early, and the loop runs to the
last word. Each point is a process of its own: CPU seconds of the first step
and of a later one, and how much the process has grown meanwhile, in MB.
"""

import argparse
import json
import subprocess
import sys
import time

LENGTHS = 8, 16, 32, 64, 128, 256
WAYS = {"unrolled": True, "loop": False}


def main():
    """Prints, and keeps, the costs of both ways at every length."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument(
        "--unrolled", type=int, default=32, help="up to which length"
    )
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--figure")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        way, length = options.point
        costs = measured(WAYS[way], int(length), options.steps)
        print(json.dumps(costs))
        return
    found = {way: {} for way in WAYS}
    print(f"{'':>9} {'T':>4} {'first s':>8} {'step s':>8} {'MB':>6}")
    for way, points in found.items():
        for length in options.lengths:
            if way == "unrolled" and length > options.unrolled:
                continue
            points[length] = costs = point(way, length, options.steps)
            print(
                f"{way:>9} {length:>4} {costs['first']:8.1f} "
                f"{costs['step']:8.3f} {costs['memory']:6.0f}",
                flush=True,
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)
    if options.figure:
        draw(found, options.figure)


def point(way, length, steps):
    """The costs of a way at a length, in a process of its own."""
    command = [sys.executable, __file__, "--point", way, str(length)]
    done = subprocess.run(
        [*command, "--steps", str(steps)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measured(unroll, length, steps):
    """CPU seconds of the first step and of a later one, and MB."""
    model, batch = made(unroll, length)
    before, start = peak(), time.process_time()
    model.train_on_batch(batch)
    first, start = time.process_time() - start, time.process_time()
    for _ in range(steps):
        model.train_on_batch(batch)
    return {
        "first": first,
        "step": (time.process_time() - start) / steps,
        "memory": peak() - before,
    }


def made(unroll, length):
    """A compiled model, and its batch."""
    import keras
    import numpy as np

    from tfcap.decoding import Sample
    from tfcap.models import TransformerSpeaker
    from tfcap.objectives import LeaveOneOutBaseline
    from tfcap.objectives import ScoreFunction
    from tfcap.rewards import Reward
    from tfcap.training import JointTraining

    class Even(Reward):
        """The share of words whose id is even."""

        def call(self, rollout, episode):
            even = keras.ops.cast(rollout.tokens % 2 == 0, "float32")
            return keras.ops.mean(even * rollout.mask, axis=-1)

    keras.utils.set_random_seed(0)
    speaker = TransformerSpeaker(1000, units=128, layers=3, max_length=length)
    speaker.build({"image": (None, 16, 64)})
    sample = Sample(num_samples=4, max_length=length, unroll=unroll)
    model = JointTraining(
        speaker, ScoreFunction(Even(), sample, LeaveOneOutBaseline())
    )
    model.compile(keras.optimizers.Adam(1e-4))
    rng = np.random.default_rng(0)
    return model, {
        "image": rng.normal(size=(4, 16, 64)).astype("float32"),
        "caption": rng.integers(3, 1000, (4, 1, length)).astype("int32"),
    }


def peak():
    """The most memory that this process has had, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def draw(found, path):
    """A panel each of first steps, steps and memory."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = {
        "first": "first step, CPU seconds",
        "step": "step, CPU seconds",
        "memory": "memory, MB",
    }
    figure, panels = pyplot.subplots(1, len(names), figsize=(12, 3.5))
    for panel, (key, label) in zip(panels, names.items()):
        for way, points in found.items():
            costs = [costs[key] for costs in points.values()]
            panel.plot(list(points), costs, "o-", label=way)
        panel.set(xlabel="words", ylabel=label, ylim=(0, None))
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
