import numpy as np
import pytest

from tfcap.text.scores.mixtures import bcmr
from tfcap.text.scores.mixtures import spider
from tfcap.text.scores.scores import Scores

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


def test_a_missing_part_is_refused_by_name():
    with pytest.raises(ValueError, match="`spice` must be given.*of SPIDEr"):
        spider(PARTS[0], None)
    with pytest.raises(ValueError, match="`cider_d`, `spice` must be given"):
        spider(None, None)
    with pytest.raises(ValueError, match="`meteor` must be given.*of BCMR"):
        bcmr(PARTS[:4], PARTS[0], None, PARTS[1])
    with pytest.raises(ValueError, match=r"`bleu\[0\]`, `bleu\[1\]`"):
        bcmr(None, *PARTS[:3])


def test_parts_of_other_captions_are_refused():
    other = Scores(0.5, np.zeros(4))
    with pytest.raises(ValueError, match="'cider_d': 5, 'spice': 4"):
        spider(PARTS[0], other)
    with pytest.raises(ValueError, match="BLEU-1 to BLEU-4. Received: 3"):
        bcmr(PARTS[:3], *PARTS[:3])
