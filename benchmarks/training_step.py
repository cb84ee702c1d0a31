"""A training step of each kind, beside PyTorch and the machine's limit.

python benchmarks/training_step.py
python benchmarks/training_step.py --part SCST
python benchmarks/training_step.py --memory
python benchmarks/training_step.py --grow growth.png

64 images of 2,048 features, captions of 16 words, a vocabulary of 9,488, an
LSTM of 512, a listener of 1,024, five references an image; random weights, so
that all captions run to the end; Adam on both sides. Ours is
`JointTraining.train_on_batch()`. The limit is as many products of 1,024 words
with the vocabulary head as have the step's floating-point work, `times` which
the step is the share of the matrix rate that it reaches. "matrix product"
compares the two frameworks' matrix libraries alone: divide by it what is
their doing.

`--memory` prints how much more memory a step needs than that of a batch of 2,
and `--grow` what a step costs as one size grows.
"""

import dataclasses

import step_costs
from paired import Row
from paired import main as compare

DOCUMENTS = 2000


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 64
    length: int = 16
    vocabulary: int = 9488
    units: int = 512
    features: int = 2048
    listener: int = 1024
    references: int = 5
    samples: int = 5


def make_batch(sizes, rng):
    """Images, captions without an end, and references of 7 words and more."""
    import numpy as np
    from sequence_level import random_captions

    shape = (sizes.batch, sizes.references, sizes.length)
    image = rng.normal(size=(sizes.batch, 1, sizes.features))
    caption = rng.integers(4, sizes.vocabulary, (sizes.batch, 1, sizes.length))
    return {
        "image": image.astype("float32"),
        "caption": np.asarray(caption, "int32"),
        "references": random_captions(shape, sizes.vocabulary, rng),
    }


def make_rewards(sizes, batch, rng):
    """CIDEr-D of tfcap, and functions of samples for the peers."""
    import importlib.util

    import numpy as np
    from host_scores import as_text
    from host_scores import cider_of_pairs
    from sequence_level import random_captions

    from tfcap.rewards import CIDErD
    from tfcap.text import DocumentFrequencies
    from tfcap.text import Vocabulary
    from tfcap.text import cider_d

    shape = (DOCUMENTS, sizes.references, sizes.length)
    corpus = random_captions(shape, sizes.vocabulary, rng)
    vocabulary = Vocabulary([f"w{i}" for i in range(sizes.vocabulary - 4)])
    table = DocumentFrequencies.from_references(corpus, vocabulary)
    human = [[c[c > 0].tolist() for c in r] for r in batch["references"]]

    def vectorized(said, samples):
        targets = [r for r in human for _ in range(samples)]
        return cider_d(said.tolist(), targets, table).each

    loops = None
    if importlib.util.find_spec("pycocoevalcap") is not None:
        score = cider_of_pairs([[as_text(c) for c in r] for r in corpus])
        true = [[as_text(c) for c in r] for r in human]

        def loops(said, samples):
            targets = [r for r in true for _ in range(samples)]
            return np.array(score([as_text(c) for c in said], targets))

    return CIDErD(table), vectorized, loops


def work(name, sizes):
    """Floating-point operations that a step cannot do without."""
    words = sizes.batch * sizes.length
    lstm = 2 * words * sizes.units * 8 * sizes.units
    head = 2 * words * sizes.units * sizes.vocabulary
    said = lstm + head
    read = 6 * words * (sizes.units + sizes.listener) * sizes.listener
    return {
        "XE": 3 * said,
        "SCST": 4 * said,
        "SLL": (1 + 3 * sizes.samples) * said,
        "SLE": (1 + 3 * sizes.samples) * said,
        # The tables of both are multiplied with backward, once.
        "ST-Gumbel": 3 * said + 3 * read + 2 * head,
        "PSST": 3 * said + 3 * read + 3 * head,
    }[name]


def limit(operations):
    """A function of nothing but so many floating-point operations."""
    import tensorflow as tf

    rows, units, size = 1024, Sizes.units, Sizes.vocabulary
    words = tf.random.normal((rows, units))
    kernel = tf.random.normal((units, size))
    times = operations / (2 * rows * units * size)
    rest = words[: round((times % 1) * rows)]

    def call():
        for _ in range(int(times)):
            tf.matmul(words, kernel)
        return tf.matmul(rest, kernel)

    return call


def torch_product(sizes):
    import torch

    words = torch.randn(1024, sizes.units)
    kernel = torch.randn(sizes.units, sizes.vocabulary)
    return lambda: words @ kernel


def peers(sizes, batch, vectorized, loops):
    """The steps of PyTorch by name, or nothing where it is absent."""
    import functools
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return {}
    import torch_steps as torch

    data = {"image": batch["image"][:, 0], "caption": batch["caption"][:, 0]}
    task = torch.Task(sizes, data, vectorized)
    partial, several = functools.partial, sizes.samples
    found = {
        "torch XE": partial(torch.cross_entropy, task),
        "torch strong SCST": partial(torch.strong_scst, task),
        "torch strong SCST bf16": partial(torch.strong_scst, task, bf16=True),
        "torch strong SLL": partial(torch.strong_scst, task, several),
        "torch product": partial(torch_product, sizes),
    }
    for name in ("plain_gumbel", "strong_gumbel", "plain_partial"):
        found[f"torch {name}"] = partial(
            torch.speaker_and_listener, task, getattr(torch, name)
        )
    if loops is not None:
        looped = task._replace(reward=loops)
        found["torch SCST"] = partial(torch.plain_scst, looped)
        found["torch SLL"] = partial(torch.plain_scst, looped, several)
    return found


def dialogs(batch, rng):
    """Functions that make the contestants of G-DIS, of about as many words."""
    import functools
    import importlib.util

    import dialog_steps

    sizes = dialog_steps.DialogSizes(max(1, batch * 20 // 64))
    batch = dialog_steps.make_batch(sizes, rng)
    needed = dialog_steps.work(sizes, batch)
    found = {
        "G-DIS": functools.partial(dialog_steps.step, sizes, batch),
        "limit of G-DIS": functools.partial(limit, needed),
    }
    if importlib.util.find_spec("torch") is not None:
        import torch_dialogs
        from torch_steps import stepper_of

        found["torch G-DIS"] = functools.partial(
            torch_dialogs.g_dis, sizes, batch, stepper_of
        )
    return found


OURS = ("XE", "SCST", "SLL", "SLE", "ST-Gumbel", "PSST")


def makers(sizes):
    """Functions that make the contestants, by name."""
    import functools

    import numpy as np
    import our_steps
    import tensorflow as tf

    rng = np.random.default_rng(0)
    batch = make_batch(sizes, rng)
    reward, vectorized, loops = make_rewards(sizes, batch, rng)
    found = dict.fromkeys(row.peer for row in ROWS)
    found.update(peers(sizes, batch, vectorized, loops))
    for name in OURS:
        for suffix, dtype in (("", "float32"), (" bf16", "mixed_bfloat16")):
            found[name + suffix] = functools.partial(
                our_steps.step, name, sizes, batch, reward, dtype
            )
        needed = work(name, sizes)
        found[f"limit of {name}"] = functools.partial(limit, needed)
    found.update(dialogs(sizes.batch, rng))
    words = tf.random.normal((1024, sizes.units))
    kernel = tf.random.normal((sizes.units, sizes.vocabulary))
    found["product"] = lambda: lambda: tf.matmul(words, kernel)
    return found


def contestants(names, **sizes):
    """Those of a few names: all of them need 20 GB."""
    return {
        name: make and make()
        for name, make in makers(Sizes(**sizes)).items()
        if name in names
    }


def _row(name, peer, floor=None, goal=None, suffix=""):
    of = f"limit of {name}"
    return Row(name + suffix, name + suffix, peer, of, floor, goal)


ROWS = [
    Row("matrix product", "product", "torch product"),
    _row("SCST", "torch SCST", 2.5, 3.5),
    _row("SCST", "torch strong SCST", 1.5),
    _row("SCST", "limit of SCST", 0.5, 0.7),
    _row("SCST", "torch SCST", 4.5, 7, " bf16"),
    _row("SCST", "torch strong SCST bf16", suffix=" bf16"),
    _row("SLL", "torch SLL", 2.3, 3.2),
    _row("SLL", "torch strong SLL"),
    _row("SLL", "torch SLL", 4, 6, " bf16"),
    _row("SLE", "SLL", 1 / 1.02),
    _row("ST-Gumbel", "torch plain_gumbel", 1.5, 2),
    _row("ST-Gumbel", "torch strong_gumbel"),
    _row("ST-Gumbel", "limit of ST-Gumbel"),
    _row("ST-Gumbel", "torch plain_gumbel", 2.2, 3, " bf16"),
    _row("PSST", "torch plain_partial", 1.5, 2),
    _row("PSST", "limit of PSST"),
    _row("G-DIS", "torch G-DIS"),
    _row("G-DIS", "limit of G-DIS"),
    _row("XE", "torch XE", 0.85, 1.05),
    _row("XE", "limit of XE"),
]

MEMORY = [
    *("torch SCST", "torch strong SCST", "SCST", "SCST bf16"),
    *("torch SLL", "SLL", "torch plain_gumbel", "torch strong_gumbel"),
    *("ST-Gumbel", "ST-Gumbel bf16", "torch plain_partial", "PSST"),
    *("torch XE", "XE", "torch G-DIS", "G-DIS"),
]


#: Sizes that grow, and to what.
GROWTH = {
    "vocabulary": (2000, 5000, 9488, 20000),
    "length": (8, 16, 24, 32),
    "samples": (1, 2, 5, 10),
    "batch": (16, 32, 64, 128),
}
GROWING = {
    "samples": ("SLL", "torch SLL"),
    None: ("SCST", "torch SCST", "ST-Gumbel", "torch plain_gumbel"),
}


if __name__ == "__main__":
    small, growing = {"batch": 2}, (GROWTH, GROWING)
    if not step_costs.main(contestants, MEMORY, small, growing):
        compare(contestants, ROWS, part=lambda row: row.name.split()[0])
