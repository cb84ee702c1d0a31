import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import CIDErD
from tfcap.rewards import CIDErR

BATCH = captions.Batch()
PLAIN = {"jit_compile": False}


@pytest.mark.parametrize("count_eos", [True, False])
def test_values_are_those_of_the_host(count_eos):
    table = captions.frequencies(count_eos=count_eos)
    found = CIDErR(table, **PLAIN)(
        captions.rollout(BATCH.tokens), captions.episode(BATCH.human)
    )
    wanted = text.cider_r(
        *BATCH.aligned(count_eos), document_frequencies=table
    ).each
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-6)


def test_repetition_costs_more_than_under_cider_d():
    table = captions.frequencies()
    said = [["two", "dogs", "play"], ["two", "dogs", "dogs", "dogs", "play"]]
    tokens = captions.encode(said, 6)[None]
    episode = captions.episode(tokens[:, :1])
    plain, strict = (
        np.asarray(reward(captions.rollout(tokens), episode))[0]
        for reward in (CIDErD(table, **PLAIN), CIDErR(table, **PLAIN))
    )
    np.testing.assert_allclose(
        [plain[0], strict[0]], 10.0, rtol=1e-5, atol=1e-6
    )
    assert strict[1] < 0.9 * plain[1]


def test_without_its_penalties_it_is_the_clipped_cosine():
    table = captions.frequencies()
    rollout = captions.rollout(BATCH.tokens)
    episode = captions.episode(BATCH.human)
    bare = CIDErR(table, repetition_weight=0, length_weight=0, **PLAIN)
    plain = CIDErD(table, sigma=1e6, **PLAIN)
    np.testing.assert_allclose(
        bare(rollout, episode), plain(rollout, episode), rtol=1e-5, atol=1e-6
    )
