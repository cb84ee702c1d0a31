import numpy as np
import pytest

import tests.testing as contract
from tests import captions
from tfcap import text
from tfcap.rewards import BCMR
from tfcap.rewards import METEOR
from tfcap.text.scores.scores import bcmr

BATCH = captions.Batch()


def episode(rows=None):
    return captions.episode(BATCH.human[slice(rows)])


def test_values_are_the_score_of_the_same_captions(few_words):
    table = captions.frequencies(count_eos=False)
    said, human = BATCH.aligned(eos=False)
    words = captions.VOCABULARY.tokens
    spoken = [[words[i] for i in ids] for ids in said]
    heard = [[[words[i] for i in ids] for ids in rows] for rows in human]
    wanted = bcmr(
        bleu=text.bleu(said, human),
        cider_d=text.cider_d(said, human, document_frequencies=table),
        meteor=text.meteor(spoken, heard),
        rouge_l=text.rouge_l(said, human),
    ).each
    rollout, reward = (
        captions.rollout(BATCH.tokens),
        BCMR(table, captions.VOCABULARY),
    )
    found, terms, *_ = reward.scored(rollout, episode())
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-6)
    assert [*terms] == ["bleu", "cider_d", "meteor", "rouge_l"]
    alone = METEOR(captions.VOCABULARY)(rollout, episode())
    np.testing.assert_array_equal(terms["meteor"], alone)


def test_the_end_token_counts_where_the_table_counts_it(few_words):
    for count_eos in (True, False):
        table = captions.frequencies(count_eos=count_eos)
        reward = BCMR(table, captions.VOCABULARY)
        for _, part in reward.weighted:
            assert getattr(part, "count_eos", count_eos) == count_eos


def test_it_is_a_reward_like_any_other(few_words):
    reward = BCMR(captions.frequencies(), captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)

    def some(rows):
        return captions.episode(BATCH.human[rows])

    contract.check_reward(reward, rollout, some, on_host=True)
    assert reward.name == "bcmr" and not reward.differentiable


def test_without_meteor_there_is_none(no_meteor):
    with pytest.raises(text.MissingScoreError, match="METEOR is absent"):
        BCMR(captions.frequencies(), captions.VOCABULARY)


def test_another_vocabulary_is_refused():
    with pytest.raises(ValueError, match="`vocabulary` must be"):
        BCMR(captions.frequencies(), text.Vocabulary(["a"]))
