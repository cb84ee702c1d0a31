import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import SPICESpaCy
from tfcap.rewards import SPIDEr

BATCH = captions.Batch()


def test_values_are_those_of_an_evaluation(scene_graphs, few_words):
    report = text.evaluate_captions(
        *captions.strings(BATCH), metrics=["spice_spacy"]
    )
    reward = SPICESpaCy(captions.VOCABULARY)
    found = captions.score(reward, BATCH)
    wanted = report.scores["spice_spacy"].each
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-6)
    captions.check(reward)
    table = captions.frequencies(count_eos=False)
    spider = SPIDEr(table, captions.VOCABULARY, spice=reward)
    rollout = captions.rollout(BATCH.tokens)
    both, terms, *_ = spider.scored(rollout, captions.episode(BATCH.human))
    assert [*terms] == ["cider_d", "spice_spacy"]
    np.testing.assert_allclose(both - terms["cider_d"], found, atol=1e-5)


def test_it_is_refused_where_its_model_is_missing(scene_graphs):
    with pytest.raises(text.MissingScoreError, match="no_model"):
        SPICESpaCy(captions.VOCABULARY, model="no_model")


def test_it_is_refused_where_it_is_made_without_synonyms(
    scene_graphs, no_meteor
):
    makers = (
        lambda: SPICESpaCy(captions.VOCABULARY),
        text.rewards.spice_spacy_reward,
        lambda: text.spice_spacy([["dog"]], [[["dog"]]]),
    )
    for make in makers:
        with pytest.raises(text.MissingScoreError, match="pycocoevalcap"):
            make()
