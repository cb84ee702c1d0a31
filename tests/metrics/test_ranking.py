import numpy as np
import pytest

from tfcap.metrics import ordinal_ranks
from tfcap.metrics.ranking import candidate_ranks
from tfcap.metrics.ranking import ndcg


def rank_oracle(row, truth):
    best = worst = 1
    for i, score in enumerate(row):
        best += score > row[truth]
        worst += score >= row[truth] and i != truth
    return (best + worst) / 2


def test_ranks_equal_a_loop():
    rng = np.random.default_rng(0)
    scores = rng.integers(6, size=(3, 5, 9)).astype("float32")
    truth = rng.integers(9, size=(3, 5))
    ranks = candidate_ranks(scores, truth)
    for index, got in np.ndenumerate(ranks):
        assert got == rank_oracle(scores[index], truth[index])


def test_invalid_candidates_do_not_count_whatever_they_score():
    scores = np.array([[0.5, np.nan, 0.2, np.inf]])
    valid = np.array([[1, 0, 1, 0]])
    assert candidate_ranks(scores, [2], valid=valid) == 2
    # Absent rows have no rank; minus infinity ranks last.
    ranks = candidate_ranks(np.array([[1.0, 0.0], [np.nan] * 2]), [1, -1])
    np.testing.assert_array_equal(ranks, [2, np.nan])
    assert candidate_ranks(np.array([[0.5, -np.inf, -1e9]]), [2]) == 2


def test_nan_scores_are_refused_with_their_place():
    scores = np.zeros((2, 3))
    scores[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"must not be NaN.*\(1, 2\)"):
        candidate_ranks(scores, [0, 0])
    with pytest.raises(ValueError, match="must not be NaN"):
        ndcg(scores, np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"must not be NaN.*\(1,\)"):
        ordinal_ranks(np.array([0.0, np.nan]))


def test_truths_that_are_no_candidates_are_refused():
    for truth in ([3], [-2]):
        with pytest.raises(ValueError, match=r"`truth` must be in \[-1, 3\)"):
            candidate_ranks(np.zeros((1, 3)), truth)
    with pytest.raises(ValueError, match="`valid` must include the truth"):
        candidate_ranks(np.zeros((1, 3)), [0], valid=[[0, 1, 1]])


def ndcg_oracle(scores, relevance):
    """The challenge's definition, for scores without ties."""
    k = sum(r > 0 for r in relevance)
    by_score = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    dcg = sum(relevance[i] / np.log2(n + 2) for n, i in enumerate(by_score))
    best = sorted(relevance, reverse=True)[:k]
    return dcg / sum(r / np.log2(n + 2) for n, r in enumerate(best))


def random_relevance(rng, shape):
    return np.maximum(0, rng.integers(-4, 6, size=shape)) / 5


def test_ndcg_equals_the_challenges_definition():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(20, 30))
    relevance = random_relevance(rng, (20, 30))
    wanted = [ndcg_oracle(*rows) for rows in zip(scores, relevance)]
    np.testing.assert_allclose(ndcg(scores, relevance), wanted, 1e-6, 1e-6)


def test_tied_candidates_gain_what_a_random_order_gives_on_average():
    rng = np.random.default_rng(2)
    scores, relevance = rng.integers(4, size=12), random_relevance(rng, 12)
    broken = [
        ndcg_oracle(scores + rng.uniform(0, 0.1, size=12), relevance)
        for _ in range(4000)
    ]
    error = np.std(broken) / np.sqrt(len(broken))
    assert abs(ndcg(scores, relevance) - np.mean(broken)) < 4 * error


def test_candidates_of_negative_relevance_take_no_part_in_ndcg():
    scores, relevance = np.array([3.0, 9.0, 1.0]), np.array([0.2, -1.0, 1.0])
    keep = [0, 2]
    assert ndcg(scores, relevance) == ndcg(scores[keep], relevance[keep])


def ordinal_oracle(scores, valid):
    """Rank of every candidate, by taking the best one left again and again."""
    ranks, left = [0] * len(scores), [i for i, v in enumerate(valid) if v]
    for rank in range(1, len(left) + 1):
        best = max(left, key=lambda i: (scores[i], -i))
        ranks[best] = rank
        left.remove(best)
    return ranks


def test_ordinal_ranks_equal_a_loop_and_break_ties_by_place():
    rng = np.random.default_rng(3)
    scores = rng.choice([-np.inf, -1.0, 0.0, 2.0, 2.5], (40, 3, 9))
    valid = rng.random(scores.shape) < 0.7
    scores[~valid] = rng.choice([np.nan, np.inf], (~valid).sum())
    ranks = ordinal_ranks(scores, valid)
    for index in np.ndindex(40, 3):
        wanted = ordinal_oracle(scores[index], valid[index])
        assert ranks[index].tolist() == wanted
    assert ordinal_ranks(np.zeros(4)).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int8"])
def test_ordinal_ranks_of_numbers_without_a_negative(dtype):
    least = {"int8": -128}.get(dtype, 0)
    scores = np.array([[least, 1, 0, 1]], dtype)
    wanted = ordinal_ranks(scores.astype("float64"))
    assert ordinal_ranks(scores).tolist() == wanted.tolist()
