"""BLEU, ROUGE-L and CIDEr-D on the host, beside pycocoevalcap.

python benchmarks/host_scores.py
TFCAP_CAPTIONS=captions.jsonl.gz python benchmarks/host_scores.py

The captions are those of 5,000 scenes of the synthetic world, or of the first
5,000 lines of a gzipped file of JSON objects with `"captions"`.
"""

import pathlib
import sys

from paired import Row
from paired import main

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

IMAGES, REFERENCES = 5000, 5
BATCH, SAMPLES, WORDS = 64, 5, 15


def raw_captions():
    """Lists of captions, as text."""
    import gzip
    import json
    import os

    import numpy as np

    from reproduce.world.captions import describe
    from reproduce.world.scenes import sample_scene

    path = os.environ.get("TFCAP_CAPTIONS")
    if not path:
        rng = np.random.default_rng(0)
        return [
            describe(sample_scene(rng), rng, REFERENCES + 1)
            for _ in range(IMAGES)
        ]
    with gzip.open(path, "rt") as file:
        sets = [json.loads(line)["captions"] for line in file]
    return [captions[: REFERENCES + 1] for captions in sets[:IMAGES]]


def split(sets):
    """Candidates, of which half belong to another image, and references."""
    candidates = [captions[0] for captions in sets]
    candidates[::2] = candidates[::2][::-1]
    return candidates, [captions[1:] for captions in sets]


def pycocoevalcap_scores(candidates, references):
    """Functions that score joined captions, and all of them together."""
    import contextlib
    import io

    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    said = {i: [" ".join(c)] for i, c in enumerate(candidates)}
    true = {i: [" ".join(c) for c in r] for i, r in enumerate(references)}

    def quietly(scorer):
        with contextlib.redirect_stdout(io.StringIO()):
            return scorer.compute_score(true, said)

    return {
        "pycocoevalcap Bleu": lambda: quietly(Bleu(4)),
        "pycocoevalcap Rouge": lambda: quietly(Rouge()),
        "pycocoevalcap Cider": lambda: quietly(Cider()),
        "pycocoevalcap, no Java": lambda: [
            quietly(scorer) for scorer in (Bleu(4), Rouge(), Cider())
        ],
    }


def reward_batch(candidates, references):
    """Ids of a batch of samples and of their references, and a table."""
    import collections

    import numpy as np

    from tfcap.text import DocumentFrequencies
    from tfcap.text import Vocabulary

    counts = collections.Counter(w for r in references for c in r for w in c)
    vocabulary = Vocabulary.from_counts(counts, min_count=1)
    rng = np.random.default_rng(0)
    samples, targets = [], []
    for i in range(BATCH):
        known = [vocabulary.encode(c, WORDS, eos=True) for c in references[i]]
        other = references[rng.integers(len(references))]
        pool = known + [vocabulary.encode(c, WORDS, eos=True) for c in other]
        for _ in range(SAMPLES):
            said = list(pool[rng.integers(len(pool))])
            said[rng.integers(len(said))] = said[0]
            samples.append(said)
            targets.append(known)
    table = DocumentFrequencies.from_references(references, vocabulary)
    return samples, targets, table, vocabulary


def cider_of_pairs(corpus):
    """The reference's loops, with document frequencies counted before.

    Its Cider and the CiderD of self-critical training run the same loops.

    Args:
        corpus: List of lists of captions, ids as text.

    Returns:
        Function from captions and lists of their references, ids as text, to
        a list of scores.
    """
    import math

    from pycocoevalcap.cider.cider_scorer import CiderScorer

    class Cached(CiderScorer):
        # The number of documents counted, not of those that are scored.
        ref_len = property(
            lambda self: math.log(len(corpus)), lambda self, value: None
        )

    counted = CiderScorer()
    for captions in corpus:
        counted += (None, captions)
    counted.compute_doc_freq()

    def call(samples, targets):
        scorer = Cached()
        scorer.document_frequency = counted.document_frequency
        for pair in zip(samples, targets):
            scorer += pair
        return scorer.compute_cider()

    return call


def cached_cider(samples, targets, references, vocabulary):
    """The same of one batch."""
    corpus = [
        [as_text(vocabulary.encode(c, eos=True)) for c in captions]
        for captions in references
    ]
    score = cider_of_pairs(corpus)
    said = [as_text(c) for c in samples]
    true = [[as_text(r) for r in captions] for captions in targets]
    return lambda: score(said, true)


def as_text(ids):
    """Ids of words, without padding, as words."""
    return " ".join(str(i) for i in ids if i)


def contestants():
    import importlib.util

    import numpy as np

    from tfcap.text import bleu
    from tfcap.text import caption_tokenize
    from tfcap.text import cider_d
    from tfcap.text import rouge_l
    from tfcap.text.scores.comparison import compare_with_references

    said, true = split(raw_captions())
    candidates = [caption_tokenize(c) for c in said]
    references = [[caption_tokenize(c) for c in r] for r in true]
    *batch, table, vocabulary = reward_batch(candidates, references)

    def scores(candidates, references):
        names = bleu, rouge_l, cider_d
        return [score(candidates, references) for score in names]

    found = {
        "bleu": lambda: bleu(candidates, references),
        "rouge_l": lambda: rouge_l(candidates, references),
        "cider_d": lambda: cider_d(candidates, references),
        "all three": lambda: scores(candidates, references),
        "reading": lambda: compare_with_references(candidates, references),
        "cider_d of a batch": lambda: cider_d(*batch, table),
        "reading a batch": lambda: compare_with_references(*batch),
    }
    if importlib.util.find_spec("pycocoevalcap") is None:
        return {**found, **dict.fromkeys(PEERS)}
    found.update(pycocoevalcap_scores(candidates, references))
    found["cached CiderD"] = cached_cider(*batch, references, vocabulary)
    np.testing.assert_allclose(
        found["cider_d"]().each, found["pycocoevalcap Cider"]()[1], atol=1e-9
    )
    return found


ROWS = [
    Row("BLEU-1..4", "bleu", "pycocoevalcap Bleu", "reading", floor=5),
    Row("ROUGE-L", "rouge_l", "pycocoevalcap Rouge", "reading", floor=5),
    Row("CIDEr-D", "cider_d", "pycocoevalcap Cider", "reading", floor=10),
    Row("all three", "all three", "pycocoevalcap, no Java", floor=5),
    Row(
        f"CIDEr-D reward {BATCH} x {SAMPLES} x {REFERENCES}",
        "cider_d of a batch",
        "cached CiderD",
        "reading a batch",
        floor=20,
        goal=45,
    ),
]
PEERS = {row.peer for row in ROWS}

if __name__ == "__main__":
    main(contestants, ROWS)
