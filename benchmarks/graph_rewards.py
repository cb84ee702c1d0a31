"""CIDEr-D and pairwise BLEU as rewards inside of a graph.

python benchmarks/graph_rewards.py
TFCAP_CAPTIONS=captions.jsonl.gz python benchmarks/graph_rewards.py

64 images, 5 samples and 5 references each, 16 tokens with the end token, on
the captions of `host_scores.py`. The peer is the loop that self-critical
training calls, with document frequencies counted before; pycocoevalcap counts
those of the batch. "jit" compiles the whole call, "in a step" is the reward
as it is used, inside of a graph that is not compiled, and "graph" goes
operation by operation. The limit is a compiled call that does nothing.
"""

from host_scores import BATCH
from host_scores import REFERENCES
from host_scores import SAMPLES
from host_scores import cached_cider
from host_scores import raw_captions
from host_scores import reward_batch
from host_scores import split
from paired import Row
from paired import main


def padded(rows, shape):
    """Ids of captions as an array, padded with 0."""
    import numpy as np

    ids = np.zeros((len(rows), shape[-1]), "int32")
    for row, caption in zip(ids, rows):
        row[: len(caption)] = caption
    return ids.reshape(shape)


def graphs(name, reward, arrays, episode, jit=True):
    """The calls of one reward: compiled as a whole or not at all."""
    import tensorflow as tf

    from tfcap.decoding import Rollout

    tensors = [tf.constant(x) for x in arrays]

    def call(tokens, mask, human):
        return reward(Rollout(tokens, mask), episode(human))

    graph = tf.function(call, jit_compile=jit, autograph=False)
    return {name: lambda: graph(*tensors).numpy()}


def empty_call():
    import tensorflow as tf

    graph = tf.function(lambda x: x + 1.0, jit_compile=True)
    one = tf.zeros((BATCH, SAMPLES))
    return lambda: graph(one).numpy()


def bleu_peer(samples):
    """BLEU-1..4 of every sample with each other one of its image, in Python."""
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer

    texts = [" ".join(map(str, ids)) for ids in samples]
    pairs = [
        (text, [other])
        for first in range(0, len(texts), SAMPLES)
        for text in texts[first : first + SAMPLES]
        for other in texts[first : first + SAMPLES]
        if other is not text
    ]

    def call():
        scorer = BleuScorer(n=4)
        for pair in pairs:
            scorer += pair
        return scorer.compute_score(option="closest", verbose=0)[1]

    return call


def sets_of_ngrams(references, eos):
    """Document frequencies of ids as prepro_ngrams.py counts them."""
    import collections

    def call():
        counts = collections.Counter()
        for captions in references:
            held = set()
            for caption in captions:
                ids = [*caption, eos]
                for n in range(1, 5):
                    for i in range(len(ids) - n + 1):
                        held.add(tuple(ids[i : i + n]))
            counts.update(held)
        return counts

    return call


def captions_of_words():
    """Candidate captions and references, as lists of words."""
    from tfcap.text import caption_tokenize

    texts = split(raw_captions())
    references = [[caption_tokenize(c) for c in r] for r in texts[1]]
    return [caption_tokenize(c) for c in texts[0]], references


def arrays_of_ids(samples, targets, vocabulary):
    """Samples `(B, S, T)`, their mask, and references `(B, R, T)`."""
    from tfcap._ops import sequence_mask

    tokens = padded(samples, (BATCH, SAMPLES, 16))
    # Captions of COCO are five to an image, of which one is scored.
    rows = [(r + [[]] * REFERENCES)[:REFERENCES] for r in targets[::SAMPLES]]
    human = padded(sum(rows, []), (BATCH, REFERENCES, 16))
    return tokens, sequence_mask(tokens, vocabulary.eos), human


def episodes(vocabulary):
    """A function from references to what a reward is told beside samples."""
    from types import SimpleNamespace

    speaker = SimpleNamespace(eos=2, vocabulary_size=vocabulary.size)

    def episode(human):
        inputs = {"references": human}
        return SimpleNamespace(speaker=speaker, inputs=inputs)

    return episode


def contestants():
    import numpy as np

    from tfcap.rewards import CIDErD
    from tfcap.rewards import PairwiseDiversity
    from tfcap.text import DocumentFrequencies

    candidates, references = captions_of_words()
    samples, targets, table, vocabulary = reward_batch(candidates, references)
    arrays = arrays_of_ids(samples, targets, vocabulary)
    episode = episodes(vocabulary)
    corpus = [[vocabulary.encode(c) for c in r] for r in references]
    plain = {"jit_compile": False}
    found = {
        "an empty call": empty_call(),
        "cached CiderD": cached_cider(samples, targets, references, vocabulary),
        "BLEU of pairs": bleu_peer(samples),
        "sets of n-grams": sets_of_ngrams(corpus, vocabulary.eos),
        "table": lambda: DocumentFrequencies.from_references(
            corpus, vocabulary
        ),
    }
    for name, reward, jit in (
        ("CIDEr-D, jit", CIDErD(table), True),
        ("CIDEr-D in a step", CIDErD(table), False),
        ("CIDEr-D, graph", CIDErD(table, **plain), False),
        ("pairwise BLEU, jit", PairwiseDiversity(), True),
        ("pairwise BLEU, graph", PairwiseDiversity(**plain), False),
    ):
        found.update(graphs(name, reward, arrays, episode, jit))
    np.testing.assert_allclose(
        found["CIDEr-D, jit"]().ravel(),
        found["cached CiderD"](),
        rtol=1e-5,
        atol=1e-6,
    )
    return found


SIZE = f"{BATCH} x {SAMPLES} x {REFERENCES}"
EMPTY = "an empty call"
ROWS = [
    Row(f"{ours}, {SIZE}", ours, "cached CiderD", EMPTY, floor, goal)
    for ours, floor, goal in (
        ("CIDEr-D, jit", 50, 110),
        ("CIDEr-D in a step", 50, None),
        ("CIDEr-D, graph", 12, 30),
    )
] + [
    *(
        Row(name, name, "BLEU of pairs", EMPTY, floor, goal)
        for name, floor, goal in (
            ("pairwise BLEU, jit", 25, 50),
            ("pairwise BLEU, graph", 8, 15),
        )
    ),
    Row("document frequencies", "table", "sets of n-grams", None, 4, 6),
]

if __name__ == "__main__":
    main(contestants, ROWS)
