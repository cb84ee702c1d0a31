import numpy as np
import pytest
from hypothesis import given

from tests.text.scores import naive
from tfcap.text.scores.comparison import blocks
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.comparison import count_common
from tfcap.text.scores.comparison import count_runs
from tfcap.text.scores.comparison import earlier_occurrences


def compared(corpus):
    comparison = compare_with_references(*corpus)
    return comparison, list(blocks(comparison))


@given(naive.corpora())
def test_every_pair_is_in_one_block_with_the_words_of_its_captions(corpus):
    comparison, found = compared(corpus)
    pairs = np.concatenate([block.pairs for block in found])
    assert sorted(pairs) == list(range(len(comparison.right)))
    flat = [(c, r) for c, rs in zip(*corpus) for r in rs]
    for block in found:
        for column, pair in enumerate(block.pairs):
            left, right = flat[pair]
            equal = block.equal[: len(left), : len(right), column]
            wanted = [[a == b for b in right] for a in left]
            assert equal.tolist() == (wanted if left else [])
            assert not block.equal[len(left) :, :, column].any()
            assert not block.equal[:, len(right) :, column].any()


@given(naive.corpora())
def test_runs_count_the_ngrams_of_the_one_in_the_other(corpus):
    flat = [(c, r) for c, rs in zip(*corpus) for r in rs]
    for block in compared(corpus)[1]:
        counts = count_runs(block.equal, 3)
        for column, pair in enumerate(block.pairs):
            left, right = flat[pair]
            for k in (1, 2, 3):
                there = naive.ngrams(right, k)
                wanted = [
                    there[tuple(left[i : i + k])] if i + k <= len(left) else 0
                    for i in range(len(left))
                ]
                found = counts[k - 1, : len(left), column]
                assert found.tolist() == wanted


@given(naive.corpora())
def test_ranks_count_what_came_earlier_in_the_same_caption(corpus):
    comparison, _ = compared(corpus)
    ranks = earlier_occurrences(comparison, 2)
    start = 0
    for words in [*corpus[0], *(r for rs in corpus[1] for r in rs)]:
        for k in (1, 2):
            grams = [tuple(words[i : i + k]) for i in range(len(words) - k + 1)]
            for i, gram in enumerate(grams):
                assert ranks[k - 1, start + i] == grams[:i].count(gram)
        start += len(words)


def test_large_comparisons_are_cut_into_blocks_of_bounded_size():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, 400)
    candidates = [[*rng.choice(50, n).tolist()] for n in lengths]
    references = [[[*range(n)], [*range(9)]] for n in lengths[::-1]]
    comparison, found = compared((candidates, references))
    assert len(found) > 1
    assert max(block.equal.size for block in found) < 2 * 2**20
    left = np.concatenate([block.left for block in found])
    assert sorted(left) == list(range(400))


@pytest.mark.parametrize("words", [255, 256, 70000])
def test_counts_do_not_overflow(words):
    if words > 1000:
        corpus = [["a"] * 2], [[["a"] * words]]
    else:
        corpus = [["a"] * words], [[["a"] * words]]
    block = compared(corpus)[1][0]
    assert count_runs(block.equal, 1).max() == words
    assert count_common(block.equal)[0] == min(words, len(corpus[0][0]))
