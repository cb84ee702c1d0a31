"""The scores as loops over dictionaries, and captions to try them on.

The scores in `golden.json` are those that the reference codes give to its
captions, written for this purpose: pycocoevalcap 1.2 (BLEU, ROUGE-L, CIDEr-D),
ruotianluo/cider at e9b736d (CIDEr, self-CIDEr), ruotianluo/
self-critical.pytorch (Div-n, mBLEU, novelty, bad endings) and
gabrielsantosrv/coco-caption (CIDEr-R). null stands for their nan.
"""

import collections
import json
import math
import pathlib

from hypothesis import strategies as st

GOLDEN = json.loads(pathlib.Path(__file__).with_name("golden.json").read_text())
IMAGES = GOLDEN["images"]
CANDIDATES = [image["candidate"].split() for image in IMAGES]
REFERENCES = [[r.split() for r in image["references"]] for image in IMAGES]
SAMPLES = [[s.split() for s in image["samples"]] for image in IMAGES]

captions = st.lists(st.sampled_from("abcde"), max_size=9)
sets = st.lists(st.lists(captions, min_size=2, max_size=4), min_size=1)


@st.composite
def corpora(draw, least=1):
    """Candidates and as many lists of references."""
    n = draw(st.integers(least, 5))
    references = st.lists(captions, min_size=1, max_size=3)
    return (
        draw(st.lists(captions, min_size=n, max_size=n)),
        draw(st.lists(references, min_size=n, max_size=n)),
    )


def ngrams(words, order):
    """Counts of the n-grams of one order."""
    starts = range(len(words) - order + 1)
    return collections.Counter(tuple(words[i : i + order]) for i in starts)


def bleu_counts(candidate, references, order):
    """Matches and guesses of one order."""
    counts = ngrams(candidate, order)
    correct = sum(
        min(count, max(ngrams(r, order)[ngram] for r in references))
        for ngram, count in counts.items()
    )
    return correct, sum(counts.values())


def bleu(pairs, order):
    """BLEU of one order of a corpus of pairs."""
    length = reference_length = 0
    for candidate, references in pairs:
        length += len(candidate)
        reference_length += min(
            (abs(len(r) - len(candidate)), len(r)) for r in references
        )[1]
    product = 1.0
    for k in range(1, order + 1):
        counts = [bleu_counts(c, r, k) for c, r in pairs]
        correct, guess = (sum(x) for x in zip(*counts))
        product *= (correct + 1e-15) / (guess + 1e-9)
    ratio = (length + 1e-15) / (reference_length + 1e-9)
    return product ** (1 / order) * math.exp(min(0, 1 - 1 / ratio))


def document_frequencies(references):
    """Number of documents that hold each n-gram."""
    found = collections.Counter()
    for document in references:
        grams = [
            g for r in document for k in (1, 2, 3, 4) for g in ngrams(r, k)
        ]
        found.update(set(grams))
    return found


def similarity(left, right, order, frequencies, documents, clipped):
    """Cosine of the vectors of one order."""

    def vector(words):
        return {
            g: n * (math.log(documents) - math.log(max(1, frequencies[g])))
            for g, n in ngrams(words, order).items()
        }

    a, b = vector(left), vector(right)
    scale = math.hypot(*a.values()) * math.hypot(*b.values())
    if scale == 0:
        return 0.0
    return (
        sum(
            (min(x, b.get(g, 0)) if clipped else x) * b.get(g, 0)
            for g, x in a.items()
        )
        / scale
    )


def cider(candidate, references, frequencies, documents, clipped, penalty):
    """Any CIDEr of one candidate."""
    total = 0.0
    for r in references:
        cosines = [
            similarity(candidate, r, k, frequencies, documents, clipped)
            for k in (1, 2, 3, 4)
        ]
        total += sum(cosines) / 4 * penalty(candidate, r)
    return 10 * total / len(references)


def common(left, right):
    """Length of the longest common subsequence."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            longer = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else longer
    return table[-1][-1]


def split(texts):
    """Captions of strings of words."""
    return [text.split() for text in texts]
