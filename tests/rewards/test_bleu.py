import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.decoding import Rollout
from tfcap.rewards import BLEU
from tfcap.text.scores.bleu import SMOOTHINGS

BATCH = captions.Batch()


def score(reward):
    return captions.score(reward, BATCH).ravel()


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_values_are_those_of_the_host(smoothing):
    wanted = text.bleu(*BATCH.aligned(), smoothing=smoothing)
    for order, scores in enumerate(wanted, start=1):
        reward = BLEU(order, smoothing, jit_compile=False)
        np.testing.assert_allclose(
            score(reward), scores.each, rtol=2e-5, atol=1e-7
        )


def test_the_end_token_may_be_left_out():
    wanted = text.bleu(*BATCH.aligned(eos=False))[3].each
    found = score(BLEU(4, count_eos=False, jit_compile=False))
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-7)


def test_several_orders_are_weighted_and_added_up():
    orders = [score(BLEU(k, jit_compile=False)) for k in (1, 2, 3)]
    weights = np.array([0.5, 0.0, 2.0])
    reward = BLEU(3, order_weights=weights, jit_compile=False)
    wanted = 0.5 * orders[0] + 2.0 * orders[2]
    np.testing.assert_allclose(score(reward), wanted, rtol=1e-5, atol=1e-6)
    assert reward.name == "bleu"
    assert BLEU(3).name == "bleu_3"


@pytest.mark.parametrize("method", ["none", "floor", "exp"])
def test_smoothings_are_those_of_sacrebleu(method):
    metrics = pytest.importorskip("sacrebleu").metrics
    ours = {"none": None, "floor": "floor", "exp": "exponential"}
    options = {"tokenize": "none", "smooth_method": method, "force": True}
    oracle = metrics.BLEU(**options)
    wanted = [
        oracle.sentence_score(caption, human).score / 100
        for caption, human in zip(*as_numbers(BATCH))
    ]
    reward = BLEU(4, ours[method], jit_compile=False)
    # Where an order has no match, "none" is a root of 1e-15.
    atol = 1e-3 if method == "none" else 1e-6
    np.testing.assert_allclose(score(reward), wanted, rtol=1e-5, atol=atol)


def as_numbers(batch):
    """Captions and references as strings of ids, with the end tokens."""

    def string(ids):
        return " ".join(map(str, ids))

    said, human = batch.aligned()
    return map(string, said), [[*map(string, rows)] for rows in human]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_order": 0}, "`max_order` must be a positive"),
        ({"smoothing": "laplace"}, "`smoothing` must be one of"),
        ({"order_weights": (1.0, 1.0)}, "each of BLEU-1 to BLEU-4"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BLEU(**options)


@pytest.mark.parametrize("count_eos", [True, False])
def test_several_end_tokens_are_one_word(count_eos):
    episode = captions.episode(np.array([[[5, 6, 7, 2], [8, 9, 3, 0]]]))
    episode.speaker.eos = (2, 3)
    tokens = np.array(
        [[[5, 6, 7, 2], [5, 6, 7, 3], [8, 9, 2, 0], [8, 9, 3, 0]]]
    )
    said = Rollout(tokens, (tokens > 0).astype("float32"))
    order = 3 if count_eos else 2
    reward = BLEU(order, count_eos=count_eos, jit_compile=False)
    np.testing.assert_allclose(reward(said, episode), np.ones((1, 4)), 1e-5)
