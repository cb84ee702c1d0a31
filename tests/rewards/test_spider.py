import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import SPIDEr
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import spider

BATCH = captions.Batch()


def test_it_is_twice_the_score_of_the_same_captions(fake_spice):
    table = captions.frequencies(count_eos=False)
    said, human = BATCH.aligned(eos=False)
    lengths = np.array([len(ids) / 10 for ids in said])
    wanted = spider(
        text.cider_d(said, human, document_frequencies=table),
        Scores(lengths.mean(), lengths),
    )
    reward = SPIDEr(table, captions.VOCABULARY)
    found, terms, *_ = reward.scored(
        captions.rollout(BATCH.tokens), captions.episode(BATCH.human)
    )
    np.testing.assert_allclose(
        np.ravel(found), 2 * wanted.each, rtol=1e-5, atol=1e-6
    )
    assert [*terms] == ["cider_d", "spice"] and reward.name == "spider"


def test_without_spice_there_is_none(monkeypatch):
    monkeypatch.setenv("PATH", "")
    table = captions.frequencies()
    told = "SPICE is absent.*Install"
    with pytest.raises(text.MissingScoreError, match=told):
        SPIDEr(table, captions.VOCABULARY)
    with pytest.raises(ValueError, match="`vocabulary` must be"):
        SPIDEr(table, text.Vocabulary(["a"]))
