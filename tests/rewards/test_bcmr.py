import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import BCMR
from tfcap.rewards import METEOR
from tfcap.text.scores.scores import bcmr

BATCH = captions.Batch()


def test_values_are_the_score_of_the_same_captions(few_words):
    table = captions.frequencies(count_eos=False)
    said, human = BATCH.aligned(eos=False)
    spoken, heard = captions.strings(BATCH)
    wanted = bcmr(
        bleu=text.bleu(said, human),
        cider_d=text.cider_d(said, human, document_frequencies=table),
        meteor=text.meteor(
            [x.split() for x in spoken],
            [[x.split() for x in rows] for rows in heard],
        ),
        rouge_l=text.rouge_l(said, human),
    ).each
    reward = BCMR(table, captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    found, terms, *_ = reward.scored(rollout, captions.episode(BATCH.human))
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-6)
    assert [*terms] == ["bleu", "cider_d", "meteor", "rouge_l"]
    alone = captions.score(METEOR(captions.VOCABULARY), BATCH)
    np.testing.assert_array_equal(terms["meteor"], alone)
    assert reward.name == "bcmr" and not reward.differentiable
    captions.check(reward)


def test_the_end_token_counts_where_the_table_counts_it(few_words):
    for count_eos in (True, False):
        table = captions.frequencies(count_eos=count_eos)
        reward = BCMR(table, captions.VOCABULARY)
        for _, part in reward.weighted:
            assert getattr(part, "count_eos", count_eos) == count_eos


def test_without_meteor_there_is_none(no_meteor):
    with pytest.raises(text.MissingScoreError, match="METEOR is absent"):
        BCMR(captions.frequencies(), captions.VOCABULARY)
    with pytest.raises(ValueError, match="`vocabulary` must be"):
        BCMR(captions.frequencies(), text.Vocabulary(["a"]))
