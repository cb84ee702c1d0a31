import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import METEOR

BATCH = captions.Batch()


def test_values_are_those_of_an_evaluation(few_words):
    report = text.evaluate_captions(
        *captions.strings(BATCH), metrics=["meteor"]
    )
    reward = METEOR(captions.VOCABULARY)
    assert reward.name == "meteor" and not reward.differentiable
    found = captions.score(reward, BATCH)
    each = report.scores["meteor"].each
    assert each.max() > 2 * each.mean() > 0
    wanted = np.reshape(each, found.shape).copy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    # An image without references is worth nothing.
    wanted[2] = 0
    found = captions.score(reward, captions.unheard())
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    captions.check(reward)


def test_it_is_refused_where_its_tables_are_missing(no_meteor):
    with pytest.raises(text.MissingScoreError, match="METEOR.*Install it"):
        METEOR(captions.VOCABULARY)
