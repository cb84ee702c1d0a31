"""The task of `causal_lm.py`, and how its processes take turns.

The standard library alone: interpreters of two environments import it.
"""

import dataclasses
import json
import os
import random
import sys
import time

SPECIAL = PAD, BOS, EOS, UNKNOWN = range(4)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of a Llama with tied embeddings, and of a batch."""

    layers: int = 4
    units: int = 256
    heads: int = 8
    key_heads: int = 4
    inner: int = 1024
    vocabulary: int = 4096
    prompts: int = 8
    samples: int = 4
    prompt: int = 16
    length: int = 32


def prompt_ids(sizes, rows):
    """Lists of ids, as many as a prompt has words."""
    draw = random.Random(0)
    return [
        draw.choices(range(len(SPECIAL), sizes.vocabulary), k=sizes.prompt)
        for _ in range(rows)
    ]


def word(i):
    """The word of an id."""
    return f"w{i}"


def even_words(completions, **columns):
    """The share of words with an even number: a reward of strings."""
    shares = []
    for text in completions:
        # A special token ends in no digit.
        even = [x[-1] in "02468" for x in text.split()]
        shares.append(sum(even) / max(1, len(even)))
    return shares


def peak():
    """The most memory that this process has had, in MB."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) / 1024


class Turns:
    """A process that takes a step for every line that it reads.

    For each it writes a line of costs; libraries that print write to stderr.
    """

    def __init__(self):
        self.answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self.begun = None

    def ready(self, **facts):
        """Tells that steps may be asked for."""
        self._answer(facts)

    def asked(self):
        """Waits; true for another step, which begins now."""
        asked = sys.stdin.readline().strip() == "step"
        self.begun = time.perf_counter(), time.process_time()
        return asked

    def taken(self, **facts):
        """Tells of a step that has ended."""
        wall, cpu = self.begun
        facts["wall"] = time.perf_counter() - wall
        facts["cpu"] = time.process_time() - cpu
        self._answer(facts)

    def _answer(self, facts):
        print(json.dumps({**facts, "peak": peak()}), file=self.answers)
        self.answers.flush()
