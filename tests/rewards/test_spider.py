import json

import numpy as np
import pytest

from tests import captions
from tests.java_programs import SPICE as PROGRAM
from tfcap import text
from tfcap.rewards import SPIDEr

BATCH = captions.Batch()


def test_it_is_twice_the_score_of_the_same_captions(
    fake_java, fake_package, spice_models, tmp_path
):
    fake_java(PROGRAM.replace("VERSION", "1.8.0_312"))
    table = captions.frequencies(count_eos=False)
    said, human = BATCH.aligned(eos=False)
    lengths = np.array([len(ids) / 10 for ids in said])
    wanted = text.spider(
        text.cider_d(said, human, document_frequencies=table),
        text.Scores(lengths.mean(), lengths),
    )
    reward = SPIDEr(
        table,
        captions.VOCABULARY,
        jit_compile=False,
        home=spice_models,
        heap="3G",
    )
    found, terms = reward.measure(
        captions.rollout(BATCH.tokens), captions.episode(BATCH.human)
    )
    np.testing.assert_allclose(
        np.ravel(found), 2 * wanted.each, rtol=1e-5, atol=1e-6
    )
    assert [*terms] == ["cider_d", "spice"] and reward.name == "spider"
    assert "-Xmx3G" in json.loads((tmp_path / "seen").read_text())[0]


def test_without_spice_there_is_none():
    table = captions.frequencies()
    with pytest.raises(text.JavaError, match="SPICE is absent.*Install"):
        SPIDEr(table, captions.VOCABULARY, java="/no/java")
    with pytest.raises(ValueError, match="`vocabulary` must be"):
        SPIDEr(table, text.Vocabulary(["a"]), java="/no/java")
