import numpy as np
import pytest

import tests.testing as contract
from tests import captions
from tfcap import text
from tfcap.rewards import SPICESpaCy
from tfcap.rewards import SPIDEr

BATCH = captions.Batch()


def test_values_are_those_of_an_evaluation(scene_graphs, few_words):
    said, human = BATCH.aligned(eos=False)
    decode = captions.VOCABULARY.decode
    report = text.evaluate_captions(
        [decode(ids) for ids in said],
        [[decode(ids) for ids in rows] for rows in human],
        metrics=["spice_spacy"],
    )
    reward = SPICESpaCy(captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    found = np.ravel(reward(rollout, captions.episode(BATCH.human)))
    np.testing.assert_allclose(
        found, report.scores["spice_spacy"].each, rtol=1e-6
    )
    contract.check_reward(
        reward,
        rollout,
        lambda rows: captions.episode(BATCH.human[rows]),
        on_host=True,
    )
    spider = SPIDEr(
        captions.frequencies(count_eos=False),
        captions.VOCABULARY,
        jit_compile=False,
        spice=reward,
    )
    episode = captions.episode(BATCH.human)
    both, terms, *_ = spider.scored(rollout, episode)
    assert [*terms] == ["cider_d", "spice_spacy"]
    np.testing.assert_allclose(
        np.ravel(both - terms["cider_d"]), found, atol=1e-5
    )


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
        with pytest.raises(
            text.MissingScoreError, match="package pycocoevalcap"
        ):
            make()
