import numpy as np
import pytest

import tests.testing as contract
from tests import captions
from tfcap import text
from tfcap.rewards import METEOR

BATCH = captions.Batch()


def score(reward, batch=BATCH):
    rollout = captions.rollout(batch.tokens)
    return np.asarray(reward(rollout, captions.episode(batch.human)))


@pytest.fixture
def reward(few_words):
    return METEOR(captions.VOCABULARY)


def test_values_are_those_of_an_evaluation(reward):
    said, human = BATCH.aligned(eos=False)
    decode = captions.VOCABULARY.decode
    report = text.evaluate_captions(
        [decode(ids) for ids in said],
        [[decode(ids) for ids in rows] for rows in human],
        metrics=["meteor"],
    )
    wanted = report.scores["meteor"].each
    assert wanted.max() > 2 * wanted.mean() > 0
    np.testing.assert_allclose(
        score(reward).ravel(), wanted, rtol=1e-6, atol=1e-6
    )


def test_it_is_a_reward_like_any_other(reward):
    def episode(rows):
        return captions.episode(BATCH.human[rows])

    rollout = captions.rollout(BATCH.tokens)
    contract.check_reward(reward, rollout, episode, on_host=True)
    assert reward.name == "meteor" and not reward.differentiable


def test_an_image_without_references_is_worth_nothing(reward):
    wanted = np.array(score(reward))
    batch = captions.Batch()
    batch.human[2] = 0
    wanted[2] = 0
    np.testing.assert_allclose(
        score(reward, batch), wanted, rtol=1e-6, atol=1e-6
    )


def test_it_is_refused_where_its_tables_are_missing(no_meteor):
    with pytest.raises(text.MissingScoreError, match="METEOR.*Install it"):
        METEOR(captions.VOCABULARY)
