"""A speaker and a listener so small that all captions can be listed."""

import itertools
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import take_rows
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import embed_words
from tfcap.rewards import Reward

BOS, EOS, FIRST = 1, 2, 3
#: Size of the listener's state.
UNITS = 4


@dataclass(frozen=True)
class World:
    """Speakers and listeners, one of each a seed.

    A speaker has a table of logits of the next word, by the last word. A
    listener reads words by a recurrence, and its last state gives the reward:

    ```
    state[t] = tanh(W state[t - 1] + E words[t]),  reward = u . state[last]
    ```

    Args:
        words: Integer, words of the vocabulary beside the end token.
        length: Integer `T`, most words of a caption, its end included.
        ends: Boolean, whether captions may be shorter; otherwise all have `T`
            words, and none has the end token.
        seeds: Integer, number of speakers and listeners.
    """

    words: int = 4
    length: int = 3
    ends: bool = True
    seeds: int = 20

    @property
    def vocabulary_size(self) -> int:
        return FIRST + self.words

    def inputs(self, rows: int = 1) -> dict:
        """A batch of `rows` rows for each seed."""
        size = self.vocabulary_size
        shapes = {
            "table": (size, size),
            "embedding": (size, UNITS),
            "recurrent": (UNITS, UNITS),
            "worth": (UNITS, 1),
        }
        drawn = {name: [] for name in shapes}
        for seed in range(self.seeds):
            rng = np.random.default_rng(seed)
            for name, shape in shapes.items():
                drawn[name].append(rng.normal(size=shape))
        drawn["seed"] = np.eye(self.seeds)
        return {
            name: np.repeat(np.float32(arrays), rows, axis=0)
            for name, arrays in drawn.items()
        }

    @property
    def state_units(self) -> int:
        """Size of a speaker's state, as critics read it."""
        return self.seeds * self.vocabulary_size * self.length

    def captions(self) -> np.ndarray:
        """All captions, `(N, T)`, padded with 0."""
        first = EOS if self.ends else FIRST
        found = {}
        choices = range(first, self.vocabulary_size)
        for words in itertools.product(choices, repeat=self.length):
            end = words.index(EOS) + 1 if EOS in words else self.length
            found[words[:end] + (0,) * (self.length - end)] = None
        return np.array(list(found), "int32")


class RowSpeaker:
    """A speaker whose table is in the batch, so that each row has its own.

    The gradient of the tables is then the estimate of each row. Critics read a
    one-hot vector of the seed, the last word and the position.
    """

    bos, eos = BOS, EOS

    def __init__(self, world: World):
        self.vocabulary_size = world.vocabulary_size
        self.length = world.length
        silent = [0, BOS] if world.ends else [0, BOS, EOS]
        self.suppressed_ids = tuple(silent)
        self.offset = np.zeros(self.vocabulary_size, "float32")
        self.offset[silent] = -1e9

    def begin(self, inputs: Any, training: bool = False) -> Any:
        table = inputs["table"]
        places = ops.zeros_like(table[:, 0, :1]) - 1.0
        return [table, inputs["seed"], table[:, 0], places]

    def step(self, words: Any, state: Any, training: bool = False) -> Any:
        if len(words.shape) == 1:
            words = ops.one_hot(words, self.vocabulary_size)
        table, seed, _, places = state
        logits = ops.einsum("nv,nvw->nw", words, table)
        return logits + self.offset, [table, seed, words, places + 1.0]

    def state_vector(self, state: Any) -> Any:
        _, seed, words, places = state
        places = ops.one_hot(ops.cast(places[:, 0], "int32"), self.length)
        vector = ops.einsum("ns,nv,nt->nsvt", seed, words, places)
        return ops.reshape(vector, (ops.shape(vector)[0], -1))

    def log_probs(self, state: Any, tokens: Any, training: bool = False) -> Any:
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs: Any) -> Any:
        return ops.full((ops.shape(inputs["table"])[0], 1, 1), EOS, "int32")


class SharedSpeaker(RowSpeaker):
    """A speaker of any size with one table of two factors, to measure costs.

    ```
    logits = (embedding of the last word) @ head
    ```
    """

    def __init__(self, world: World, embedding: Any, head: Any):
        super().__init__(world)
        self.embedding = embedding
        self.head = head

    def begin(self, inputs: Any, training: bool = False) -> Any:
        return [inputs["rows"]]

    def state_vector(self, state: Any) -> Any:
        return state[0]

    def step(self, words: Any, state: Any, training: bool = False) -> Any:
        read = _embedded(words, self.embedding)
        return ops.matmul(read, self.head) + self.offset, state

    def references(self, inputs: Any) -> Any:
        return ops.full((ops.shape(inputs["rows"])[0], 1, 1), EOS, "int32")


class Heard(Reward):
    """Reward of a caption by a listener of the world."""

    differentiable = True
    name = "heard"

    def call(self, rollout, episode):
        inputs, mask = episode.inputs, rollout.mask[..., None]
        read = _embedded(rollout.listener_inputs, inputs["embedding"])
        read = read * mask
        state = ops.zeros_like(read[:, :, 0])
        for t in range(read.shape[2]):
            kept = ops.matmul(state, inputs["recurrent"])
            new = ops.tanh(kept + read[:, :, t])
            state = ops.where(mask[:, :, t] > 0, new, state)
        return ops.matmul(state, inputs["worth"])[..., 0]


def _embedded(words, table):
    """Embeds ids or vectors by a table of all rows, or of each."""
    ids = "int" in keras.backend.standardize_dtype(words.dtype)
    if len(table.shape) == 2:
        return take_rows(table, words) if ids else embed_words(words, table)
    if ids:
        words = ops.one_hot(words, table.shape[1])
    return ops.einsum("bstv,bvd->bstd", words, table)
