import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import ROUGEL


@pytest.mark.parametrize("longest", [8, 31, 36])
@pytest.mark.parametrize("count_eos", [True, False])
def test_values_are_those_of_the_host(count_eos, longest):
    batch = captions.Batch(longest=longest)
    found = ROUGEL(count_eos=count_eos)(
        captions.rollout(batch.tokens), captions.episode(batch.human)
    )
    wanted = text.rouge_l(*batch.aligned(count_eos)).each
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-7)


def test_an_image_without_references_is_worth_nothing():
    batch = captions.Batch()
    batch.human[2] = 0
    found = ROUGEL()(
        captions.rollout(batch.tokens), captions.episode(batch.human)
    )
    assert not np.asarray(found)[2].any()
