"""Our scores beside those of pycocoevalcap and sacrebleu."""

import gzip
import itertools
import json
import warnings

import numpy as np
import pytest

import tfcap
from tests.text.scores import naive


@pytest.fixture(scope="module")
def cocoeval():
    """Function from candidates and references to pycocoevalcap's scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pycocoevalcap")
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.cider.cider import Cider
        from pycocoevalcap.rouge.rouge import Rouge

    def evaluate(candidates, references):
        said = {i: [" ".join(c)] for i, c in enumerate(candidates)}
        true = {
            i: [" ".join(c) for c in captions]
            for i, captions in enumerate(references)
        }
        corpus, each = Bleu(4).compute_score(true, said, verbose=0)
        return [
            *zip(corpus, each),
            Rouge().compute_score(true, said),
            Cider().compute_score(true, said),
        ]

    return evaluate


def ours(candidates, references):
    return [
        *tfcap.text.bleu(candidates, references),
        tfcap.text.rouge_l(candidates, references),
        tfcap.text.cider_d(candidates, references),
    ]


def assert_equal(candidates, references, cocoeval):
    theirs = cocoeval(candidates, references)
    for mine, (corpus, each) in zip(ours(candidates, references), theirs):
        assert mine.corpus == pytest.approx(corpus, abs=1e-9)
        np.testing.assert_allclose(mine.each, each, rtol=0, atol=1e-9)


def test_random_captions_score_as_pycocoevalcap_scores_them(cocoeval):
    rng = np.random.default_rng(0)

    def caption(words):
        return [*rng.choice([*"abcdefghij"], rng.integers(1, words))]

    candidates = [caption(14) for _ in range(200)]
    references = [
        [caption(14) for _ in range(rng.integers(1, 6))] for _ in candidates
    ]
    assert_equal(candidates, references, cocoeval)


def real_captions(shared_data, images):
    """Tokenized captions of some images of COCO."""
    with gzip.open(shared_data / "coco" / "captions.jsonl.gz", "rt") as file:
        lines = itertools.islice(file, images)
        sets = [json.loads(line)["captions"] for line in lines]
    return [[text.lower().split() for text in texts] for texts in sets]


def test_real_captions_score_as_pycocoevalcap_scores_them(
    shared_data, cocoeval
):
    sets = real_captions(shared_data, 500)
    candidates = [members[0] for members in sets]
    # Every fifth says what belongs to another image.
    candidates[::5] = candidates[::5][::-1]
    assert_equal(candidates, [members[1:] for members in sets], cocoeval)


@pytest.fixture(scope="module")
def sacrebleu():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("sacrebleu")


METHODS = {
    None: "none",
    "add_one": "add-k",
    "floor": "floor",
    "exponential": "exp",
}


def judge(sacrebleu, smoothing, order, candidates, references):
    """BLEU of a corpus as sacrebleu has it."""
    metric = sacrebleu.BLEU(
        tokenize="none",
        force=True,
        smooth_method=METHODS[smoothing],
        max_ngram_order=order,
    )
    texts = [[" ".join(c) for c in captions] for captions in references]
    streams = itertools.zip_longest(*texts)
    said = [" ".join(c) for c in candidates]
    return metric.corpus_score(said, [list(s) for s in streams]).score / 100


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", METHODS)
def test_bleu_is_that_of_sacrebleu(sacrebleu, smoothing, order):
    # It refuses empty captions.
    pairs = [
        pair for pair in zip(naive.CANDIDATES, naive.REFERENCES) if pair[0]
    ]
    whole = zip(*pairs)
    scores = tfcap.text.bleu(*zip(*pairs), order, smoothing)[-1]
    wanted = judge(sacrebleu, smoothing, order, *whole)
    assert scores.corpus == pytest.approx(wanted, abs=1e-8)
    if smoothing:
        for pair, found in zip(pairs, scores.each):
            one = [[part] for part in pair]
            wanted = judge(sacrebleu, smoothing, order, *one)
            assert found == pytest.approx(wanted, abs=1e-8)
