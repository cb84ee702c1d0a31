import numpy as np
import pytest

from tests import captions
from tfcap.rewards import SPICE
from tfcap.text import MissingScoreError

BATCH = captions.Batch(images=3)
#: By `fake_spice`: words in tenths.
WANTED = np.array(
    [[len(caption) / 10 for caption in r] for r in BATCH.captions]
)


def test_values_are_those_of_the_program_in_the_order_of_the_captions(
    fake_spice,
):
    reward = SPICE(captions.VOCABULARY)
    assert reward.name == "spice" and not reward.differentiable
    found = captions.score(reward, BATCH)
    np.testing.assert_allclose(found, WANTED, rtol=1e-6, atol=1e-6)
    captions.check(reward)


def test_what_is_missing_is_told_where_it_is_made(fake_spice, monkeypatch):
    (fake_spice / "lib" / "stanford-corenlp-3.6.0.jar").unlink()
    told = "its models are not in.*Download http"
    with pytest.raises(MissingScoreError, match=told):
        SPICE(captions.VOCABULARY)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingScoreError, match="SPICE.*no `java`.*Install"):
        SPICE(captions.VOCABULARY)
