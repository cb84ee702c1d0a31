"""A language model that learns from its own words: TRL, KerasHub and ours.

python benchmarks/causal_lm.py --torch-python VENV/bin/python
python benchmarks/causal_lm.py --torch-python VENV/bin/python \\
    --length 16 32 64 128 --json out.json

A Llama of 5.0 million random weights, 8 prompts of 16 words, 4 samples each.

A training step: samples, a reward of strings, advantages over the samples of a
prompt, gradient, clipping, Adam. Ours is `train_on_batch()`; the peer TRL's
`GRPOTrainer` in the environment of `--torch-python` (`python -m venv VENV;
VENV/bin/pip install torch trl transformers datasets peft accelerate`), see
`trl_steps.py`. Two processes of one thread take turns, in an order that
changes, each with an untimed step before a timed one: of several threads,
those of PyTorch wait for each other busily, and what they burn on a machine
that others use says nothing of their work. Counted are the words that were
sampled, as far as the end token. Memory is the most that a process has had,
and how much of it the steps have added.

Sampling: `Sample.decode()` beside KerasHub's `generate()`, the same model in
the same process, as many prompts as above there are samples.

A ratio is ours by the peer's, of words a second: a geometric mean over rounds,
with its 95 % interval.
"""

import argparse
import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys

import lm_task
from paired import THREADS
from paired import measure

FOLDER = os.path.dirname(os.path.abspath(__file__))
ONE_THREAD = dict.fromkeys((*THREADS, "TF_NUM_INTEROP_THREADS"), "1")


def main(arguments=None):
    """Prints, and keeps, both comparisons at every length."""
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(lm_task.Sizes):
        many = "+" if field.name == "length" else None
        default = [field.default] if many else field.default
        parser.add_argument(
            f"--{field.name}", type=int, nargs=many, default=default
        )
    parser.add_argument("--torch-python", help="interpreter that has TRL")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json")
    parser.add_argument("--ours", choices=OURS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = [field.name for field in dataclasses.fields(lm_task.Sizes)]
    sizes = lm_task.Sizes(**{name: getattr(options, name) for name in names})
    if options.ours:
        one = dataclasses.replace(sizes, length=sizes.length[0])
        return OURS[options.ours](one, options.rounds)
    found = []
    for length in options.length:
        size = dataclasses.replace(sizes, length=length)
        found.append(compared(size, options.torch_python, options.rounds))
        print(table(found[-1:]), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


def compared(sizes, torch_python, rounds):
    """Both comparisons, as a dict that JSON can hold."""
    commands = {"ours": our_command(sizes, "steps")}
    if torch_python:
        script = os.path.join(FOLDER, "trl_steps.py")
        given = json.dumps(dataclasses.asdict(sizes))
        commands["TRL"] = [torch_python, script, given]
    steps = turns(commands, rounds)
    command = our_command(sizes, "sampling") + ["--rounds", str(rounds)]
    done = subprocess.run(
        command,
        env={**os.environ, **ONE_THREAD},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    sampling = json.loads(done.stdout.splitlines()[-1])
    return {
        "sizes": dataclasses.asdict(sizes),
        "step": with_ratios(steps, "TRL"),
        "sampling": with_ratios(sampling, "generate()"),
    }


def our_command(sizes, part):
    options = [f"--{k}={v}" for k, v in dataclasses.asdict(sizes).items()]
    return [sys.executable, os.path.abspath(__file__), "--ours", part, *options]


def turns(commands, rounds, environment=ONE_THREAD):
    """Costs of steps by name: processes that take turns."""
    workers = {n: Worker(c, environment) for n, c in commands.items()}
    weights = {name: w.facts["weights"] for name, w in workers.items()}
    if len(set(weights.values())) > 1:
        for worker in workers.values():
            worker.close()
        raise SystemExit(f"The models differ in their weights: {weights}.")
    costs = {name: [] for name in workers}
    # The first traces, and plans.
    first = {name: w.step()["cpu"] for name, w in workers.items()}
    for worker in workers.values():
        worker.step()
    for i in range(rounds):
        for name in sorted(workers, reverse=i % 2):
            workers[name].step()
            costs[name].append(workers[name].step())
    facts = {name: worker.close() for name, worker in workers.items()}
    return {
        name: {
            "versions": facts[name]["versions"],
            "weights": weights[name],
            "words": [cost.get("tokens", 1) for cost in rows],
            "first": first[name],
            "wall": [cost["wall"] for cost in rows],
            "cpu": [cost["cpu"] for cost in rows],
            "peak": rows[-1]["peak"],
            "grown": rows[-1]["peak"] - facts[name]["peak"],
        }
        for name, rows in costs.items()
    }


class Worker:
    """A process that takes a step when it is asked for, see `Turns`."""

    def __init__(self, command, environment):
        # Other interpreters need not have tfcap.
        path = FOLDER, os.path.dirname(FOLDER), os.environ.get("PYTHONPATH")
        path = os.pathsep.join(filter(None, path))
        self.process = subprocess.Popen(
            command,
            env=os.environ | environment | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.facts = self._answer()

    def step(self):
        """Costs of a step."""
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        """Ends the process; what it told at its start."""
        self.process.stdin.close(), self.process.stdout.close()
        self.process.wait()
        return self.facts

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"Ended early: {' '.join(self.process.args)}")
        return json.loads(line)


def with_ratios(costs, peer):
    """Adds ratios to the peer, of words a second, by the clock and the CPU."""
    from tfcap.curves import mean_interval

    if peer not in costs:
        return costs
    ratios = {}
    for clock in "wall", "cpu":
        speeds = {
            name: [n / max(s, 1e-9) for n, s in zip(row["words"], row[clock])]
            for name, row in costs.items()
        }
        logs = [math.log(a / b) for a, b in zip(speeds["ours"], speeds[peer])]
        ratio = [math.exp(x) for x in mean_interval(logs)]
        ratios[f"{clock}_ratio"] = ratio
    return costs | ratios


def table(found):
    """The results as text."""
    lines = []
    for row in found:
        length = row["sizes"]["length"]
        for part in "step", "sampling":
            costs = row[part]
            for name in [n for n in costs if not n.endswith("_ratio")]:
                line = f"{length:4} words  {part:8}  {name:10}"
                line += f"  {speed(costs[name], 'wall'):7.0f} words/s"
                line += f"  {speed(costs[name]):7.0f} words/CPU s"
                if "peak" in costs[name]:
                    line += f"  peak {costs[name]['peak']:5.0f} MB"
                    line += f"  grown {costs[name]['grown']:5.0f} MB"
                lines.append(line)
            for clock in "wall", "cpu":
                if f"{clock}_ratio" in costs:
                    mean, low, high = costs[f"{clock}_ratio"]
                    lines.append(
                        f"{length:4} words  {part:8}  ratio by {clock}: "
                        f"{mean:.2f} ({low:.2f} to {high:.2f})"
                    )
    return "\n".join(lines)


def speed(costs, clock="cpu"):
    """Words a second, of the median round."""
    pairs = zip(costs["words"], costs[clock])
    return statistics.median(words / seconds for words, seconds in pairs)


def our_speaker(sizes):
    """KerasHub's Llama of these sizes as a speaker."""
    import keras
    import keras_hub

    import tfcap

    keras.utils.set_random_seed(0)
    backbone = keras_hub.models.Llama3Backbone(
        vocabulary_size=sizes.vocabulary,
        num_layers=sizes.layers,
        num_query_heads=sizes.heads,
        num_key_value_heads=sizes.key_heads,
        hidden_dim=sizes.units,
        intermediate_dim=sizes.inner,
        tie_word_embeddings=True,
    )
    model = keras_hub.models.Llama3CausalLM(backbone, preprocessor=None)
    return tfcap.models.CausalLMSpeaker(
        model, bos=lm_task.BOS, eos=lm_task.EOS, pad=lm_task.PAD
    )


def our_steps(sizes, rounds):
    """Takes steps of `train_on_batch()` when asked for them."""
    turns = lm_task.Turns()
    import keras
    import keras_hub
    import numpy as np
    import tensorflow as tf

    from tfcap.decoding import Sample
    from tfcap.objectives import SampleMeanBaseline
    from tfcap.objectives import ScoreFunction
    from tfcap.rewards import TextReward
    from tfcap.text import Vocabulary
    from tfcap.training import JointTraining
    from tfcap.training import Learner

    speaker, first = our_speaker(sizes), len(lm_task.SPECIAL)
    words = [lm_task.word(i) for i in range(first, sizes.vocabulary)]
    reward = TextReward(lm_task.even_words, Vocabulary(words))
    objective = ScoreFunction(
        reward,
        Sample(num_samples=sizes.samples, max_length=sizes.length),
        SampleMeanBaseline(),
        standardize=True,
        normalize="token",
    )
    learner = Learner(speaker, objective, global_clipnorm=1.0)
    model = JointTraining(speaker, {"speaker": learner})
    model.compile(keras.optimizers.AdamW(1e-6, weight_decay=0.0))
    prompts = np.array(lm_task.prompt_ids(sizes, 8 * sizes.prompts))
    prompts = prompts.reshape(8, sizes.prompts, -1)
    turns.ready(
        weights=speaker.count_params(),
        versions={
            module.__name__: module.__version__
            for module in (keras, keras_hub, tf)
        },
    )
    step, rows = 0, sizes.prompts * sizes.samples
    while turns.asked():
        model.reset_metrics()
        prompt = prompts[step % len(prompts)]
        # A human caption, which nothing reads: rows without one are absent.
        batch = {"prompt": prompt, "caption": np.full((len(prompt), 1, 1), 4)}
        logs = model.train_on_batch(batch, return_dict=True)
        length = float(logs[f"{reward.name}/mean_length"])
        turns.taken(tokens=round(length * rows))
        step += 1


def our_sampling(sizes, rounds):
    """Prints costs of sampling by `Sample` and by `generate()`."""
    import keras_hub
    import numpy as np
    import tensorflow as tf

    from tfcap.decoding import Sample

    rows = sizes.prompts * sizes.samples
    speaker = our_speaker(sizes)
    prompts = np.array(lm_task.prompt_ids(sizes, rows))
    decoder = Sample(max_length=sizes.length)

    @tf.function
    def decoded(prompt):
        state = speaker.begin({"prompt": prompt})
        rollout = decoder.decode(speaker, state)
        return rollout.tokens, rollout.mask

    model = speaker.causal_lm
    model.compile(sampler=keras_hub.samplers.RandomSampler())
    blank = np.zeros((rows, sizes.length), prompts.dtype)
    token_ids = np.concatenate([prompts, blank], axis=1)
    inputs = {
        "token_ids": token_ids,
        "padding_mask": np.arange(token_ids.shape[1]) < sizes.prompt,
    }
    inputs["padding_mask"] = np.tile(inputs["padding_mask"], (rows, 1))
    counts = {"ours": [], "generate()": []}

    def ours():
        tokens, mask = decoded(prompts)
        counts["ours"].append(int(mask.numpy().sum()))
        return tokens.numpy()

    def generate():
        said = model.generate(inputs, stop_token_ids=(lm_task.EOS,))
        mask = said["padding_mask"][:, sizes.prompt :]
        counts["generate()"].append(int(mask.sum()))
        return said["token_ids"]

    contestants = {"ours": ours, "generate()": generate}
    wall, cpu = measure(contestants, rounds, least=0)
    costs = {
        # Every second call is timed, after two that begin.
        name: {
            "words": counts[name][3::2],
            "wall": wall[name],
            "cpu": cpu[name],
        }
        for name in contestants
    }
    print(json.dumps(costs))


OURS = {"steps": our_steps, "sampling": our_sampling}

if __name__ == "__main__":
    main()
