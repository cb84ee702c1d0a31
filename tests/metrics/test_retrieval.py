import numpy as np
import pytest

from tfcap.metrics import evaluate_retrieval

RNG = np.random.default_rng(0)
IMAGES, TEXTS = 7, 19
#: Every image but the last has captions; two captions have no image.
IDS = np.concatenate(
    [np.arange(IMAGES - 1), RNG.integers(-1, 6, size=11), [-1, 0]]
)
#: Few distinct values, so that most truths tie.
SCORES = RNG.integers(5, size=(IMAGES, TEXTS)).astype("float32")


def first_truth(scores, truths):
    """Rank of the first truth after a full sort, its ties in every order."""
    best = scores[truths].max()
    order = np.argsort(-scores, kind="stable")
    before = [i for i in order if scores[i] > best]
    tied = [i for i in order if scores[i] == best]
    wrong = sum(i not in truths for i in tied)
    # Each wrong one stands before all truths once in (truths + 1) times.
    return 1 + len(before) + wrong / (len(tied) - wrong + 1)


def oracle(scores, ids):
    by_image = [
        first_truth(row, np.flatnonzero(ids == i)) if i in ids else np.nan
        for i, row in enumerate(scores)
    ]
    by_text = [
        first_truth(column, [ids[j]]) if ids[j] >= 0 else np.nan
        for j, column in enumerate(scores.T)
    ]
    return by_image, by_text


def check(report, wanted):
    np.testing.assert_allclose(report.image_ranks, wanted[0], 1e-6, 1e-6)
    np.testing.assert_allclose(report.text_ranks, wanted[1], 1e-6, 1e-6)


def test_the_mean_rank_is_that_of_random_orders():
    ids, scores = np.array([0, 0, 1, 1, 1]), np.ones((2, 5), "float32")
    drawn = RNG.permuted(np.tile(ids, (20000, 1)), axis=1)
    ranks = 1 + np.stack([np.argmax(drawn == i, axis=1) for i in (0, 1)])
    error = ranks.std(axis=1) / np.sqrt(ranks.shape[1])
    got = evaluate_retrieval(scores=scores, ids=ids).image_ranks
    assert np.all(np.abs(got - ranks.mean(axis=1)) < 4 * error)


@pytest.mark.parametrize("block_size", [1, 2, 3, 5, 8, 100])
def test_ranks_equal_a_full_sort_whatever_the_size_of_blocks(block_size):
    images = RNG.integers(-2, 3, size=(IMAGES, 4)).astype("float32")
    texts = RNG.integers(-2, 3, size=(TEXTS, 4)).astype("float32")
    options = {"ids": IDS, "block_size": block_size}
    wanted = oracle(images @ texts.T, IDS)
    check(evaluate_retrieval(images, texts, **options), wanted)
    check(evaluate_retrieval(scores=images @ texts.T, **options), wanted)


def test_equal_embeddings_tie_whatever_tile_they_stand_in():
    images = np.tile(RNG.normal(size=(1, 33)), (70, 1)).astype("float32")
    report = evaluate_retrieval(images, images[::-1], block_size=16)
    np.testing.assert_array_equal(report.text_ranks, 35.5)
    np.testing.assert_array_equal(report.image_ranks, 35.5)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "int8"])
def test_every_type_of_number_is_ranked_exactly(dtype):
    images, texts = np.array([[3], [5]], dtype), np.array([[1], [2]], dtype)
    report = evaluate_retrieval(images, texts)
    np.testing.assert_array_equal(report.image_ranks, [2, 1])
    np.testing.assert_array_equal(report.text_ranks, [2, 1])
    close = np.array([[2**24, 2**24 + 1], [0, 0]])
    report = evaluate_retrieval(scores=close)
    np.testing.assert_array_equal(report.image_ranks, [2, 1.5])


def test_half_precision_is_multiplied_in_single():
    images = RNG.normal(size=(30, 64)).astype("float16")
    texts = RNG.normal(size=(30, 64)).astype("float16")
    wide = [x.astype("float32") for x in (images, texts)]
    half, single = evaluate_retrieval(images, texts), evaluate_retrieval(*wide)
    np.testing.assert_array_equal(half.text_ranks, single.text_ranks)


def test_minus_infinity_ranks_last():
    scores = np.array([[-np.inf, 1.0], [0.0, 0.5]])
    report = evaluate_retrieval(scores=scores)
    np.testing.assert_array_equal(report.image_ranks, [2, 1])
    np.testing.assert_array_equal(report.text_ranks, [2, 2])


def test_an_empty_pool_has_no_ranks():
    report = evaluate_retrieval(np.zeros((0, 3)), np.zeros((0, 3)))
    assert report.rows()["image_to_text"]["count"] == 0
    assert np.isnan(report.result()["image_to_text_r@1"])


def test_nan_is_refused_by_name_and_place():
    bad = SCORES.copy()
    bad[3, 11] = np.nan
    for block_size in (2, 100):
        with pytest.raises(ValueError, match=r"`scores`.*NaN.*\(3, 11\)"):
            evaluate_retrieval(scores=bad, ids=IDS, block_size=block_size)
    texts = np.ones((4, 3))
    texts[2, 0] = np.nan
    with pytest.raises(ValueError, match="`texts` .* 1 rows of 4 .* index 2"):
        evaluate_retrieval(np.ones((4, 3)), texts)
    with pytest.raises(ValueError, match="`images` must have finite norms"):
        evaluate_retrieval(np.full((4, 3), np.inf), np.ones((4, 3)))


def test_no_dot_product_of_accepted_embeddings_overflows():
    large = np.full((2, 3), 1e19, "float32")
    large[0] *= -1
    evaluate_retrieval(large, large)
    with pytest.raises(ValueError, match="2 rows of 2 .* too large"):
        evaluate_retrieval(large, large * 10)


ONES = np.ones((3, 2))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(images=ONES), "given together"),
        (dict(images=ONES, texts=ONES, scores=ONES), "given together"),
        (
            dict(images=ONES, texts=np.ones((3, 4))),
            "`texts` must have the D of",
        ),
        (dict(images=ONES, texts=np.ones(3)), r"`texts` must have shape"),
        (dict(scores=ONES), "`ids` must give.*np.repeat"),
        (dict(scores=ONES, ids=[0.0, 1.0]), r"`ids` must be integers"),
        (dict(scores=ONES, ids=[0, 3]), r"\[-1, 3\).*data set's own"),
        (dict(scores=ONES, ids=[0, -2]), r"from -2 to 0"),
        (dict(scores=np.eye(2), block_size=0), "a positive integer"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate_retrieval(**arguments)
