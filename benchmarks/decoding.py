"""Both ways to decode, as sentences may grow: first step, step, memory.

python benchmarks/decoding.py
python benchmarks/decoding.py --json decoding.json --figure decoding.png
python benchmarks/decoding.py --lengths 16 64 256 --unrolled 64
python benchmarks/decoding.py --ends 22 --lengths 32 64 256 1024

REINFORCE with a leave-one-out baseline, `JointTraining.train_on_batch()`: a
`TransformerSpeaker` of 3 layers of 128 units, 4 images, 4 samples, 1,000 words.
Its weights are random: sentences hardly end early, and the loop runs to the
last word. Each point is a process of its own: CPU seconds of the first step
and of a later one, and how much the process has grown meanwhile, in MB.

With `--ends`, every caption ends at that word, as most do long before
`max_length`: what longer captions may cost that nobody says. SCST, in a loop,
of that speaker and of a `CausalLMSpeaker` of the same size, with a prompt of
16 words.
"""

import argparse
import json
import subprocess
import sys
import time

LENGTHS = 8, 16, 32, 64, 128, 256
WAYS = "unrolled", "loop"
SPEAKERS = "TransformerSpeaker", "CausalLMSpeaker"
WORDS, PAD, BOS, EOS = 1000, 0, 1, 2


def main():
    """Prints, and keeps, the costs of both ways at every length."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument(
        "--unrolled", type=int, default=32, help="up to which length"
    )
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--ends", type=int, help="word that ends captions")
    parser.add_argument("--json")
    parser.add_argument("--figure")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        way, length = options.point
        costs = measured(way, int(length), options.steps, options.ends)
        print(json.dumps(costs))
        return
    found = {way: {} for way in (SPEAKERS if options.ends else WAYS)}
    print(f"{'':>18} {'T':>4} {'first s':>8} {'step s':>8} {'MB':>6}")
    for way, points in found.items():
        for length in options.lengths:
            if way == "unrolled" and length > options.unrolled:
                continue
            points[length] = costs = point(way, length, options)
            print(
                f"{way:>18} {length:>4} {costs['first']:8.1f} "
                f"{costs['step']:8.3f} {costs['memory']:6.0f}",
                flush=True,
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)
    if options.figure:
        draw(found, options.figure)


def point(way, length, options):
    """The costs of a way at a length, in a process of its own."""
    command = [sys.executable, __file__, "--point", way, str(length)]
    command += ["--steps", str(options.steps)]
    command += ["--ends", str(options.ends)] if options.ends else []
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measured(way, length, steps, ends):
    """CPU seconds of the first step and of a later one, and MB."""
    model, batch = made(way, length, ends)
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


def made(way, length, ends):
    """A compiled model, and its batch."""
    import keras
    import numpy as np

    from tfcap.decoding import Decoder
    from tfcap.decoding import Greedy
    from tfcap.decoding import Sample
    from tfcap.objectives import DecoderBaseline
    from tfcap.objectives import LeaveOneOutBaseline
    from tfcap.objectives import ScoreFunction
    from tfcap.rewards import Reward
    from tfcap.training import JointTraining

    class Even(Reward):
        """The share of words whose id is even."""

        def call(self, rollout, episode):
            even = keras.ops.cast(rollout.tokens % 2 == 0, "float32")
            return keras.ops.mean(even * rollout.mask, axis=-1)

    class Ends(type(Decoder.logits_processors)):
        """Says the end token at the last word, and not before."""

        def apply(self, logits, tokens=None, places=0):
            logits = super().apply(logits, tokens, places)
            last = keras.ops.cast(places + 1 >= ends, "float32")[..., None]
            return logits + 50 * (2 * last - 1) * keras.ops.one_hot(EOS, WORDS)

    keras.utils.set_random_seed(0)
    speaker = (causal_lm if way == SPEAKERS[1] else transformer)(length)
    sample = Sample(num_samples=4, max_length=length, unroll=way == WAYS[0])
    baseline = LeaveOneOutBaseline()
    if ends:
        greedy = Greedy(length)
        for decoder in (sample, greedy):
            decoder.logits_processors = Ends()
        baseline = DecoderBaseline(Even(), greedy)
    model = JointTraining(speaker, ScoreFunction(Even(), sample, baseline))
    model.compile(keras.optimizers.Adam(1e-4))
    rng = np.random.default_rng(0)
    return model, {
        "image": rng.normal(size=(4, 16, 64)).astype("float32"),
        "prompt": rng.integers(3, WORDS, (4, 16)).astype("int32"),
        "caption": rng.integers(3, WORDS, (4, 1, length)).astype("int32"),
    }


def transformer(length):
    """Ours, of 3 layers."""
    from tfcap.models import TransformerSpeaker

    speaker = TransformerSpeaker(WORDS, units=128, layers=3, max_length=length)
    speaker.build({"image": (None, 16, 64)})
    return speaker


def causal_lm(length):
    """KerasHub's GPT-2 of 3 layers, of random weights."""
    import keras_hub

    from tfcap.models import CausalLMSpeaker

    backbone = keras_hub.models.GPT2Backbone(
        WORDS,
        num_layers=3,
        num_heads=8,
        hidden_dim=128,
        intermediate_dim=512,
        max_sequence_length=length + 16,
    )
    model = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    return CausalLMSpeaker(model, bos=BOS, eos=EOS, pad=PAD)


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
        panel.set(xlabel="words at most", ylabel=label, ylim=(0, None))
        panel.set_xscale("log", base=2)
        lengths = [*max(found.values(), key=len)]
        panel.set_xticks(lengths, lengths)
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
