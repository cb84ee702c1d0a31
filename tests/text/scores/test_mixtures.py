import numpy as np
import pytest

from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import bcmr
from tfcap.text.scores.scores import spider

RNG = np.random.default_rng(0)
PARTS = [Scores(RNG.random(), RNG.random(5)) for _ in range(7)]


def test_spider_is_the_mean_of_both():
    scores = spider(PARTS[0], PARTS[1])
    assert scores.corpus == (PARTS[0].corpus + PARTS[1].corpus) / 2
    np.testing.assert_allclose(scores.each, (PARTS[0].each + PARTS[1].each) / 2)


def test_bcmr_weighs_its_parts_as_published():
    b1, b2, b3, b4, c, m, r = PARTS
    scores = bcmr([b1, b2, b3, b4], cider_d=c, meteor=m, rouge_l=r)
    for take in (lambda s: s.corpus, lambda s: s.each[3]):
        wanted = 0.5 * take(b1) + 0.5 * take(b2) + take(b3) + take(b4)
        wanted += take(c) + 5 * take(m) + 2 * take(r)
        assert take(scores) == pytest.approx(wanted)
