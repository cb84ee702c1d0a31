"""Small batches of captions, as words and as ids."""

from types import SimpleNamespace

import numpy as np

from tests import testing
from tfcap.decoding import Rollout
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary

WORDS = tuple("a dog cat two dogs play plays on grass red bus street".split())
VOCABULARY = Vocabulary(WORDS)
EOS = VOCABULARY.eos
#: Words of the longest caption.
LONGEST = 8


def sentence(rng, longest=LONGEST):
    """Words, the first of `WORDS` more often, so that n-grams repeat."""
    size = rng.integers(1, longest + 1)
    return [WORDS[i] for i in np.minimum(rng.zipf(1.5, size) - 1, 11)]


def corpus(documents=30, seed=0):
    """Documents of one to three captions."""
    rng = np.random.default_rng(seed)
    return [
        [sentence(rng) for _ in range(rng.integers(1, 4))]
        for _ in range(documents)
    ]


def frequencies(**arguments):
    return DocumentFrequencies.from_references(
        corpus(), VOCABULARY, **arguments
    )


class Batch:
    """Captions of some images, their references, and both as ids.

    Images have one reference at least and `references` at most; where they
    have fewer, rows of zeros stand in. Of captions with the longest length
    the end token is cut off.
    """

    def __init__(self, images=5, samples=3, references=4, longest=LONGEST):
        rng = np.random.default_rng(1)
        self.captions = [
            [sentence(rng, longest) for _ in range(samples)]
            for _ in range(images)
        ]
        self.references = [
            [sentence(rng, longest) for _ in range(rng.integers(1, references))]
            for _ in range(images)
        ]
        self.references[0] = [self.captions[0][0]]
        self.references[1] = self.references[1][:1] * references
        self.tokens = np.stack([encode(c, longest) for c in self.captions])
        self.human = np.zeros((images, references, longest + 3), "int32")
        for row, captions in zip(self.human, self.references):
            row[: len(captions), : longest + 1] = encode(captions, longest + 1)

    def aligned(self, eos=True):
        """Ids of every caption, and for each the lists of its references."""
        said = [ids(row, eos) for rows in self.tokens for row in rows]
        human = [
            [ids(row, eos) for row in rows if row.any()] for rows in self.human
        ]
        return said, [r for r in human for _ in self.captions[0]]


def encode(captions, length):
    """Ids with end tokens, cut to a length."""
    return VOCABULARY.encode_batch(captions, length, eos=True)[:, :length]


def ids(row, eos=True):
    """What counts of a row of tokens."""
    row = row.tolist()
    if EOS in row:
        row = row[: row.index(EOS) + eos]
    return [i for i in row if i]


def rollout(tokens):
    tokens = np.asarray(tokens, "int32")
    ended = np.cumsum(tokens == EOS, axis=-1) - (tokens == EOS)
    return Rollout(tokens, ((ended == 0) & (tokens > 0)).astype("float32"))


def episode(human=None):
    """What a reward asks an episode for."""
    speaker = SimpleNamespace(eos=EOS, vocabulary_size=VOCABULARY.size)
    inputs = {} if human is None else {"references": human}
    return SimpleNamespace(speaker=speaker, inputs=inputs)


def score(reward, batch):
    """Values of a reward of the captions of a `Batch`."""
    return np.asarray(reward(rollout(batch.tokens), episode(batch.human)))


def unheard():
    """A batch whose third image has no references."""
    batch = Batch()
    batch.human[2] = 0
    return batch


def strings(batch):
    """Captions of a batch, and references of each, as strings."""
    said, human = batch.aligned(eos=False)
    decode = VOCABULARY.decode
    return [*map(decode, said)], [[*map(decode, rows)] for rows in human]


def check(reward, on_host=True):
    """The contract of a reward, of the captions of a `Batch`."""
    batch = Batch()
    testing.check_reward(
        reward,
        rollout(batch.tokens),
        lambda rows: episode(batch.human[rows]),
        on_host,
    )
