"""Tasks of `peers.py`, and a process that takes their steps.

NumPy alone: interpreters of two environments import it.
"""

import dataclasses
import importlib
import json
import sys

import numpy as np
from lm_task import Turns

DOCUMENTS = 2000


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of a speaker, a listener and a batch."""

    batch: int = 64
    length: int = 16
    vocabulary: int = 9488
    units: int = 512
    features: int = 2048
    listener: int = 1024
    references: int = 5
    samples: int = 5


@dataclasses.dataclass(frozen=True)
class DialogSizes:
    """Of a generator, its critic and a batch, of about as many words."""

    batch: int = 20
    rounds: int = 10
    vocabulary: int = 8846
    units: int = 512
    embedding: int = 300
    features: int = 512
    positions: int = 49
    question: int = 16
    history: int = 24
    length: int = 9


SMALL = {
    "captions": Sizes(4, 3, 48, 5, 6, 7, samples=2),
    "dialogs": DialogSizes(2, 3, 48, 5, 4, 6, 9, 4, 5, 3),
}


def sizes_of(name, small=False):
    """The sizes of a task."""
    dialogs = name == "G-DIS"
    if small:
        return SMALL["dialogs" if dialogs else "captions"]
    return DialogSizes() if dialogs else Sizes()


def random_captions(shape, size, rng):
    """Ids of captions of 7 words and more, with end tokens, padded with 0."""
    length = shape[-1]
    ids = rng.zipf(1.2, shape) % (size - 4) + 4
    words = rng.integers(min(7, length - 1), length, (*shape[:-1], 1))
    places = np.arange(length)
    ids = np.where(places < words, ids, np.where(places == words, 2, 0))
    return ids.astype("int32")


def batch_of(sizes):
    """Arrays that both sides learn from."""
    rng = np.random.default_rng(0)

    def words(*shape):
        return random_captions(shape, sizes.vocabulary, rng)

    if isinstance(sizes, DialogSizes):
        shape = sizes.batch, sizes.positions, sizes.features
        turns = sizes.batch, sizes.rounds
        found = {
            name: words(*turns, getattr(sizes, name))
            for name in ("question", "history")
        }
        found["answer"] = words(*turns, sizes.length)
    else:
        shape = sizes.batch, 1, sizes.features
        human = sizes.batch, 1, sizes.length
        found = {
            "caption": rng.integers(4, sizes.vocabulary, human).astype("int32"),
            "references": words(sizes.batch, sizes.references, sizes.length),
        }
    return {"image": rng.normal(size=shape).astype("float32"), **found}


def corpus_of(sizes):
    """References by which words are weighed."""
    shape = DOCUMENTS, sizes.references, sizes.length
    return random_captions(shape, sizes.vocabulary, np.random.default_rng(1))


def frequencies_of(sizes):
    from tfcap.text import DocumentFrequencies
    from tfcap.text import Vocabulary

    vocabulary = Vocabulary([f"w{i}" for i in range(sizes.vocabulary - 4)])
    return DocumentFrequencies.from_references(corpus_of(sizes), vocabulary)


def reward_of(sizes, batch, loops=False):
    """CIDEr-D of samples, image by image, and greedy captions after them.

    By `tfcap.text`, or by the loops that self-critical training has, whose
    document frequencies are counted before.
    """
    human = [[c[c > 0].tolist() for c in r] for r in batch["references"]]
    if loops:
        from host_scores import as_text
        from host_scores import cider_of_pairs

        corpus = corpus_of(sizes)
        score = cider_of_pairs([[as_text(c) for c in r] for r in corpus])
        human = [[as_text(c) for c in r] for r in human]
    else:
        from tfcap.text import cider_d

        table = frequencies_of(sizes)

    def reward(said):
        samples = len(said) // len(human) - 1
        targets = [r for r in human for _ in range(samples)] + human
        if loops:
            return np.array(score([as_text(c) for c in said], targets))
        return cider_d(said.tolist(), targets, table).each

    return reward


def work(name, sizes):
    """Floating-point operations of products that a step cannot do without."""
    head = 2 * sizes.units * sizes.vocabulary
    if name == "G-DIS":
        batch = batch_of(sizes)
        read, answers = (
            sum(int((batch[key] > 0).sum()) for key in keys)
            for keys in (("question", "history"), ("answer",))
        )
        lstm = 8 * sizes.units * (sizes.units + sizes.embedding)
        said = sizes.batch * sizes.rounds * sizes.length
        generator = 3 * (read * lstm + (answers + said) * (lstm + head))
        critic = (read + answers + 2 * said) * lstm
        return (
            generator + critic + 2 * said * sizes.embedding * sizes.vocabulary
        )
    words = sizes.batch * sizes.length
    said = words * (16 * sizes.units**2 + head)
    read = 6 * words * (sizes.units + sizes.listener) * sizes.listener
    return {
        "XE": 3 * said,
        "SCST": 4 * said,
        "SLL": (1 + 3 * sizes.samples) * said,
        # The tables of both are multiplied with backward, once.
        "ST-Gumbel": 3 * said + 3 * read + 2 * words * head,
        # A quarter of the words are distributions forward, and to the tables.
        "PSST": 3 * said + 3 * read + 3 * words * head,
    }[name]


def main():
    """Takes a step, of the library and the task named, whenever asked."""
    wanted, turns = json.loads(sys.argv[1]), Turns()
    steps = importlib.import_module(wanted.pop("library"))
    step = steps.step(**wanted)
    turns.ready(weights=None, versions=steps.versions())
    while turns.asked():
        step()
        turns.taken()


if __name__ == "__main__":
    main()
