import numpy as np
import pytest
from hypothesis import given

from tests.text.scores import naive
from tfcap.text.scores.comparison import blocks
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.comparison import count_common
from tfcap.text.scores.comparison import count_runs


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
            wanted = np.zeros(block.equal.shape[:2], bool)
            for i, a in enumerate(left):
                wanted[i, : len(right)] = [a == b for b in right]
            np.testing.assert_array_equal(block.equal[..., column], wanted)


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
