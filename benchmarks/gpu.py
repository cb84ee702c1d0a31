"""Training on JAX's first device, such as a GPU, beside PyTorch there.

python benchmarks/gpu.py check
python benchmarks/gpu.py steps --json results/speed/gpu.json
python benchmarks/gpu.py peers --json results/speed/gpu.json
python benchmarks/gpu.py lm --json results/speed/gpu.json

`check` takes one step of every method on the first device and on the CPU, and
fails if losses or weights differ by more than 1e-4 of the largest; products
are exact to float32 there. `steps` times cross-entropy, SCST, PSST and GRPO:
batches of 64 and 256 images, 20 words, a vocabulary of 10,000, an LSTM of 512
and a transformer of six layers of 512, in float32 (products in TF32, as
JAX's and PyTorch's "high" precision take them) and bfloat16. Of each: median
milliseconds of 30 steps and quartiles, sampled words a second, seconds to
compile, the memory that the compiled step needs, and the share of the
device's product rate that its products reach. `peers` takes the step of SCST
and of cross-entropy with the LSTM in PyTorch, eager and compiled, with the
same reward, which costs next to nothing. `lm` trains Gemma's architecture of
random weights beside `generate()` and a loss in transformers. `--small` is for
a trial on a CPU. A later call measures what the file has not got yet. `profile`
prints the kernels that take the time of a step.
"""

import argparse
import collections
import dataclasses
import functools
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

os.environ["KERAS_BACKEND"] = "jax"

import numpy as np  # noqa: E402

FAR = 1e-4
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of networks and batches."""

    batches: tuple = (64, 256)
    vocabulary: int = 10_000
    words: int = 20
    units: int = 512
    layers: int = 6
    samples: int = 5
    lm_layers: int = 18
    lm_units: int = 640
    lm_vocabulary: int = 20_000
    steps: int = 30


SMALL = Sizes((8,), 500, 6, 32, 2, 3, 2, 64, 500, 3)


def batch_of(rows, sizes):
    """Random images, human captions of full length, and five references."""
    draw = np.random.default_rng(0)
    shape = rows, 5, sizes.words
    captions = draw.integers(4, sizes.vocabulary, shape, dtype="int32")
    return {
        "image": draw.normal(size=(rows, 1, 2048)).astype("float32"),
        "caption": captions[:, :1],
        "references": captions,
    }


def known_words():
    """The share of words that are in the first reference: a cheap reward."""
    from keras import ops

    from tfcap.rewards import Reward

    class KnownWords(Reward):
        def call(self, rollout, episode):
            said, human = rollout.tokens, episode.inputs["references"][:, :1]
            same = ops.equal(said[..., None], human[:, :, None])
            return ops.mean(ops.cast(ops.any(same, -1), "float32"), -1)

    return KnownWords()


def cider(sizes):
    from tfcap.rewards import CIDErD
    from tfcap.text import DocumentFrequencies
    from tfcap.text import Vocabulary

    words = [f"w{i}" for i in range(sizes.vocabulary - 4)]
    corpus = batch_of(500, sizes)["references"]
    table = DocumentFrequencies.from_references(corpus, Vocabulary(words))
    return CIDErD(table)


def speaker_of(kind, sizes, batch):
    """A speaker whose captions are of full length: nobody ends."""
    from tfcap.models import ShowTellSpeaker
    from tfcap.models import TransformerSpeaker

    if kind == "lstm":
        speaker = ShowTellSpeaker(
            sizes.vocabulary, sizes.units, image_at="start", dropout=0.0
        )
    else:
        speaker = TransformerSpeaker(
            sizes.vocabulary,
            sizes.units,
            sizes.layers,
            max_length=sizes.words,
            block_dropout=0.0,
            dropout=0.0,
        )
    speaker(batch)
    bias = np.array(speaker.head.bias)
    bias[speaker.eos] = -1e4
    speaker.head.bias.assign(bias)
    return speaker


def training_of(method, kind, sizes, batch, reward, optimizer):
    """A compiled training model of a method."""
    from tfcap import methods
    from tfcap.models import RetrievalListener

    speaker = speaker_of(kind, sizes, batch)
    given = {"max_length": sizes.words}
    networks = ["speaker"]
    if method == "psst":
        listener = RetrievalListener(sizes.vocabulary, sizes.units, sizes.units)
        listener(batch)
        model = methods.psst(
            speaker, listener, lambda_=0.1, naturalness=reward, **given
        )
        networks.append("listener")
    elif method == "mle":
        model = methods.mle(speaker)
    elif method in ("grpo", "sll_sle", "ppo", "rloo"):
        samples = {"num_samples": sizes.samples}
        model = getattr(methods, method)(speaker, reward, **given, **samples)
    else:
        model = getattr(methods, method)(speaker, reward, **given)
    model.compile({name: optimizer() for name in networks})
    return model


def check(sizes):
    """Prints how far a step on the first device is from the CPU's."""
    import jax
    import keras

    first, host = jax.devices()[0], jax.devices("cpu")[0]
    print(f"{first} and {host}", flush=True)
    batch = batch_of(8, sizes)
    methods = ("mle", "scst", "psst", "grpo", "sll_sle", "rloo")
    cases = [(kind, m) for kind in ("lstm", "transformer") for m in methods]
    found = []
    for device in (first, host):
        with (
            jax.default_device(device),
            jax.default_matmul_precision("highest"),
        ):
            steps = []
            for kind, method in cases:
                keras.utils.set_random_seed(0)
                # The weights move by as much as the gradient.
                sgd = functools.partial(keras.optimizers.SGD, 1.0)
                model = training_of(
                    method, kind, sizes, batch, cider(sizes), sgd
                )
                steps.append(Step(model, batch))
            compile_all(steps)
            found.append([step.moved() for step in steps])
    near = True
    for case, (logs, moved), (other, known) in zip(cases, *found):
        largest = max(np.abs(x).max() for x in known)
        far = max(np.abs(x - y).max() / largest for x, y in zip(moved, known))
        gap = max(
            abs(logs[name] - x) / max(1.0, abs(x)) for name, x in other.items()
        )
        near &= max(far, gap) < FAR
        told = "" if max(far, gap) < FAR else "  TOO FAR"
        print(f"{' '.join(case):20} logs {gap:.1e} weights {far:.1e}{told}")
    return near


def product_rate(dtype, size=8192):
    """Floating-point operations a second of a large product."""
    import jax
    import jax.numpy as jnp

    a, b = jax.random.normal(jax.random.key(0), (2, size, size), dtype)
    product = jax.jit(jnp.matmul)
    seconds = timed(lambda: jax.block_until_ready(product(a, b)), 10)
    return 2 * size**3 / statistics.median(seconds)


def timed(call, steps, warm=3):
    """Seconds of calls, after some to warm up."""
    for _ in range(warm):
        call()
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


class Record:
    """Rows in a file, to which a later call adds what is missing."""

    def __init__(self, path):
        import jax

        device = jax.devices()[0]
        self.path, self.rows, self.product = path, [], None
        self.device = f"{device.device_kind}, JAX {jax.__version__}"
        if path and os.path.exists(path):
            with open(path) as file:
                kept = json.load(file)
            if kept["device"] != self.device:
                raise SystemExit(
                    f"{path} is of another device: {kept['device']}"
                )
            self.rows, self.product = kept["rows"], kept["product"]

    def has(self, facts):
        """Check whether there is a row of these facts."""
        return any(facts.items() <= row.items() for row in self.rows)

    def keep(self, named, seconds, words, facts):
        """Adds and prints a row: what it is, how fast, and other facts."""
        low, middle, high = statistics.quantiles(
            seconds, n=4, method="inclusive"
        )
        row = {
            **named,
            "ms": round(1e3 * middle, 3),
            "quartiles": [round(1e3 * low, 3), round(1e3 * high, 3)],
            "words_per_second": round(words / middle),
            **{name: round(x, 3) for name, x in facts.items()},
        }
        print(json.dumps(row), flush=True)
        self.rows.append(row)
        if self.path:
            content = {k: v for k, v in vars(self).items() if k != "path"}
            with open(self.path, "w") as file:
                json.dump(content, file, indent=1)


class Step:
    """A training step that is compiled ahead of its calls."""

    def __init__(self, model, batch):
        import jax

        groups = (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
        self.state = tuple([v.value for v in group] for group in groups)
        self.data = (jax.device_put(batch),)
        start = time.perf_counter()
        step = jax.jit(model.train_step, donate_argnums=0)
        self.traced = step.lower(self.state, self.data)
        self.facts = {"trace_s": time.perf_counter() - start}

    def compile(self):
        start = time.perf_counter()
        self.step = self.traced.compile()
        self.facts["compile_s"] = time.perf_counter() - start
        memory = self.step.memory_analysis()
        self.facts["mb"] = (
            memory.temp_size_in_bytes
            + memory.argument_size_in_bytes
            + memory.output_size_in_bytes
            - memory.alias_size_in_bytes
        ) / 2**20

    def __call__(self):
        logs, self.state = self.step(self.state, self.data)
        # As `fit()` does, which stops at what is not finite.
        np.asarray(logs.pop("not finite"))
        return logs

    def moved(self):
        """Logs of a step, and by how much it moves the weights."""
        before = [np.array(x) for x in self.state[0]]
        logs = {name: float(x) for name, x in self().items()}
        after = [np.array(x) for x in self.state[0]]
        return logs, [y - x for x, y in zip(before, after)]


def compile_all(steps):
    """Compiles several at once: it is one core's work for each."""
    with ThreadPoolExecutor(os.cpu_count() // 2) as pool:
        list(pool.map(Step.compile, steps))


def flops(method, kind, rows, sizes):
    """Operations of a step's products: reading is three times a forward."""
    units = sizes.units
    word = 2 * units * sizes.vocabulary
    word += 16 * units**2 if kind == "lstm" else 24 * sizes.layers * units**2
    passes = {"mle": 3, "scst": 5, "grpo": 4 * sizes.samples}.get(method)
    return passes and passes * rows * sizes.words * word


def steps(sizes, record):
    """Times methods of both speakers."""
    rates = {d: product_rate(d) for d in ("float32", "bfloat16")}
    record.product = {d: f"{r / 1e12:.0f} TFLOP/s" for d, r in rates.items()}
    cases = [
        (kind, dtype, rows, method)
        for kind in ("lstm", "transformer")
        for dtype in rates
        for rows in sizes.batches
        for method in ("mle", "scst", "psst", "grpo")
    ]
    for kind, dtype, rows, method in cases:
        facts = {"part": "steps", "network": kind, "method": method}
        facts |= {"dtype": dtype, "rows": rows}
        if record.has(facts):
            continue
        batch, reward = batch_of(rows, sizes), cider(sizes)
        step = adam_step(method, kind, dtype, sizes, batch, reward)
        step.compile()
        seconds = timed(step, sizes.steps)
        words = rows * sizes.words * (sizes.samples if method == "grpo" else 1)
        work = flops(method, kind, rows, sizes)
        if work:
            share = work / statistics.median(seconds) / rates[dtype]
            step.facts["share_of_product_rate"] = share
        record.keep(facts, seconds, words, step.facts)


def adam_step(method, kind, dtype, sizes, batch, reward):
    """A `Step` of a method in this dtype."""
    import keras

    keras.config.set_dtype_policy(POLICIES[dtype])
    adam = functools.partial(keras.optimizers.Adam, 1e-7)
    model = training_of(method, kind, sizes, batch, reward, adam)
    keras.config.set_dtype_policy("float32")
    return Step(model, batch)


def profile(sizes, record):
    """Prints which kernels take the time of steps."""
    import glob
    import tempfile

    import jax

    rows = sizes.batches[-1]
    for kind in ("lstm", "transformer"):
        for method in ("mle", "scst"):
            given = sizes, batch_of(rows, sizes), cider(sizes)
            step = adam_step(method, kind, "float32", *given)
            step.compile()
            timed(step, 3)
            with tempfile.TemporaryDirectory() as folder:
                with jax.profiler.trace(folder):
                    timed(step, 10, warm=0)
                (file,) = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
                total, calls = kernels(file)
            whole = sum(total.values()) / 10
            print(f"{kind} {method}: {whole:.2f} ms of kernels a step")
            for name, ms in total.most_common(20):
                count = calls[name] / 10
                print(f"  {ms / 10:7.3f} ms {count:6.1f} calls  {name[:90]}")


def kernels(file):
    """Milliseconds and calls by the name of a kernel, of a trace."""
    import jax

    total, calls = collections.Counter(), collections.Counter()
    planes = jax.profiler.ProfileData.from_file(file).planes
    lines = (x for plane in planes if "GPU" in plane.name for x in plane.lines)
    for line in lines:
        for event in line.events if "Stream" in line.name else ():
            total[event.name] += event.duration_ns / 1e6
            calls[event.name] += 1
    return total, calls


def peers(sizes, record):
    """Times PyTorch's step of SCST and of cross-entropy beside ours."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    cases = [
        (dtype, rows, method)
        for dtype in POLICIES
        for rows in sizes.batches
        for method in ("mle", "scst")
    ]
    for dtype, rows, method in cases:
        facts = {"part": "peers", "dtype": dtype, "rows": rows}
        facts |= {"method": method}
        # Only words that are drawn wait for Python.
        modes = ["eager", "compile"] + ["graph"] * (method == "scst")
        if record.has({**facts, "by": f"PyTorch, {modes[-1]}"}):
            continue
        words, batch = rows * sizes.words, batch_of(rows, sizes)
        given = sizes, batch, known_words()
        step = adam_step(method, "lstm", dtype, *given)
        step.compile()
        seconds = timed(step, sizes.steps)
        record.keep({**facts, "by": "tfcap"}, seconds, words, step.facts)
        for mode in modes:
            step = torch_step(method, sizes, batch, device, dtype, mode)
            found = timed_torch(step, sizes.steps)
            record.keep(
                {**facts, "by": f"PyTorch, {mode}"}, words=words, **found
            )


def timed_torch(step, steps):
    """Seconds of a step in PyTorch; of the first one, and the memory."""
    import torch

    start = time.perf_counter()
    step()
    facts = {"compile_s": time.perf_counter() - start}
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    seconds = timed(step, steps)
    if cuda:
        facts["mb"] = torch.cuda.max_memory_allocated() / 2**20
    return {"seconds": seconds, "facts": facts}


def torch_step(method, sizes, batch, device, dtype, mode):
    """The step in PyTorch: words drawn by a cell, read again by an LSTM."""
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    torch.manual_seed(0)
    half = torch.autocast(device, torch.bfloat16, enabled=dtype == "bfloat16")
    units, vocabulary = sizes.units, sizes.vocabulary
    net = nn.ModuleDict(
        {
            "look": nn.Linear(2048, units),
            "embed": nn.Embedding(vocabulary, units),
            "lstm": nn.LSTM(units, units, batch_first=True),
            "head": nn.Linear(units, vocabulary),
        }
    ).to(device)
    with torch.no_grad():
        net["head"].bias[:4] = -1e4
    adam = torch.optim.Adam(net.parameters(), 1e-7, fused=True)
    image = torch.from_numpy(batch["image"][:, 0]).to(device)
    human = torch.from_numpy(batch["caption"][:, 0]).long().to(device)
    known = torch.from_numpy(batch["references"][:, 0]).long().to(device)
    rows = len(image)

    def cell(x, h, c):
        lstm = net["lstm"]
        gates = nn.functional.linear(x, lstm.weight_ih_l0, lstm.bias_ih_l0)
        gates = gates + nn.functional.linear(
            h.to(gates.dtype), lstm.weight_hh_l0, lstm.bias_hh_l0
        )
        i, f, g, o = gates.float().chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def say(image):
        """Sampled and greedy words, in one rollout."""
        x = net["look"](image)
        h = c = torch.zeros(2 * rows, units, device=device)
        h, c = cell(torch.cat([x, x]), h, c)
        words = torch.full((2 * rows,), 1, device=device)
        said = []
        for _ in range(sizes.words):
            h, c = cell(net["embed"](words), h, c)
            logits = net["head"](h).float()
            noise = torch.empty_like(logits[:rows]).exponential_()
            drawn = (logits[:rows].softmax(-1) / noise).argmax(-1)
            words = torch.cat([drawn, logits[rows:].argmax(-1)])
            said.append(words)
        return torch.stack(said, 1)

    def loss_of(said, weights):
        x = net["look"](image)[:, None]
        first = torch.ones_like(said[:, :1])
        read = net["embed"](torch.cat([first, said[:, :-1]], 1))
        states = net["lstm"](torch.cat([x.to(read.dtype), read], 1))[0]
        logits = net["head"](states[:, 1:]).float().flatten(0, 1)
        each = cross_entropy(logits, said.flatten(), reduction="none")
        return (each.view(said.shape) * weights).mean()

    if mode == "compile":
        torch._dynamo.config.allow_rnn = True
        say = torch.compile(say)
        loss_of = torch.compile(loss_of)
    if mode == "graph" and device == "cuda":
        say = captured(say, image, half)

    def step():
        adam.zero_grad(set_to_none=True)
        with half:
            said, weights = human, torch.ones(rows, 1, device=device)
            if method == "scst":
                with torch.no_grad():
                    words = say(image).clone()
                both = known.repeat(2, 1)[:, None]
                same = (words[:, :, None] == both).any(-1)
                reward = same.float().mean(-1)
                said, greedy = words[:rows], reward[rows:]
                weights = (reward[:rows] - greedy)[:, None]
            loss = loss_of(said, weights)
        loss.backward()
        adam.step()
        return float(loss)

    return step


def captured(function, image, context):
    """A function of an image as one CUDA graph: no launch waits for Python."""
    import torch

    with torch.no_grad(), context:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            function(image)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            said = function(image)

    def replay(image):
        graph.replay()
        return said

    return replay


LM = {"part": "lm", "dtype": "bfloat16", "prompts": 16, "samples": 4}
PROMPT = 16


def lm(sizes, record):
    """Times a step of group-relative REINFORCE with Gemma's architecture."""
    import torch
    import transformers

    words = LM["prompts"] * LM["samples"] * sizes.words
    versions = f"torch {torch.__version__}, {transformers.__version__}"
    if not record.has({**LM, "by": "tfcap"}):
        step = our_lm(sizes)
        step.compile()
        seconds = timed(step, sizes.steps)
        record.keep({**LM, "by": "tfcap"}, seconds, words, step.facts)
    for mode in ("eager", "compile"):
        named = {**LM, "by": f"transformers, {mode}"}
        if not record.has(named):
            found = timed_torch(torch_lm(sizes, mode), sizes.steps)
            record.keep(named, words=words, **found)
    print(versions)


def lm_prompts(sizes):
    draw = np.random.default_rng(0)
    return draw.integers(4, sizes.lm_vocabulary, (LM["prompts"], PROMPT))


def our_lm(sizes):
    import keras
    import keras_hub

    import tfcap
    from tfcap.rewards import Reward

    class EvenWords(Reward):
        def call(self, rollout, episode):
            even = rollout.tokens % 2 == 0
            return keras.ops.mean(keras.ops.cast(even, "float32"), -1)

    keras.config.set_dtype_policy("bfloat16")
    backbone = keras_hub.models.Gemma3Backbone(
        vocabulary_size=sizes.lm_vocabulary,
        image_size=None,
        num_layers=sizes.lm_layers,
        num_query_heads=4,
        num_key_value_heads=1,
        hidden_dim=sizes.lm_units,
        intermediate_dim=2048,
        head_dim=256,
        use_query_key_norm=True,
        vision_encoder=None,
    )
    model = keras_hub.models.Gemma3CausalLM(
        backbone=backbone, preprocessor=None
    )
    speaker = tfcap.models.CausalLMSpeaker(model, bos=1, eos=2, pad=0)
    training = tfcap.methods.grpo(
        speaker,
        EvenWords(),
        num_samples=LM["samples"],
        max_length=sizes.words,
    )
    training.compile(keras.optimizers.AdamW(1e-6, weight_decay=0.0))
    batch = {
        "prompt": lm_prompts(sizes).astype("int32"),
        "caption": np.full((LM["prompts"], 1, 1), 4, "int32"),
    }
    keras.config.set_dtype_policy("float32")
    return Step(training, batch)


def torch_lm(sizes, mode):
    import torch
    import transformers

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    config = transformers.Gemma3TextConfig(
        vocab_size=sizes.lm_vocabulary,
        hidden_size=sizes.lm_units,
        num_hidden_layers=sizes.lm_layers,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=256,
        intermediate_size=2048,
    )
    model = transformers.Gemma3ForCausalLM(config).to(device, torch.bfloat16)
    adam = torch.optim.AdamW(
        model.parameters(), 1e-6, weight_decay=0.0, fused=True
    )
    prompts = torch.from_numpy(lm_prompts(sizes)).to(device)
    prompts = prompts.repeat_interleave(LM["samples"], 0)
    options = {
        "max_new_tokens": sizes.words,
        "min_new_tokens": sizes.words,
        "do_sample": True,
        "top_k": 0,
        "pad_token_id": 0,
    }
    if mode == "compile":
        options["cache_implementation"] = "static"
    score = torch.compile(model) if mode == "compile" else model

    def step():
        adam.zero_grad(set_to_none=True)
        with torch.no_grad():
            ones = torch.ones_like(prompts)
            read = model.generate(prompts, attention_mask=ones, **options)
        said = read[:, PROMPT:]
        reward = (said % 2 == 0).float().mean(-1).view(-1, LM["samples"])
        deviation = reward.std(1, keepdim=True) + 1e-4
        weights = (
            (reward - reward.mean(1, keepdim=True)) / deviation
        ).flatten()
        logits = score(read, use_cache=False).logits
        logits = logits[:, PROMPT - 1 : -1].float()
        each = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), said.flatten(), reduction="none"
        )
        loss = (each.view(said.shape) * weights[:, None]).mean()
        loss.backward()
        adam.step()
        return float(loss)

    return step


PARTS = {"steps": steps, "peers": peers, "lm": lm, "profile": profile}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=("check", *PARTS))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", help="file that rows are added to")
    options = parser.parse_args()
    sizes = SMALL if options.small else Sizes()
    if options.part == "check":
        raise SystemExit(not check(SMALL))
    PARTS[options.part](sizes, Record(options.json))


if __name__ == "__main__":
    main()
