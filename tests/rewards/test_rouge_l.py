import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.rewards import ROUGEL


@pytest.mark.parametrize("longest", [8, 31, 36])
@pytest.mark.parametrize("count_eos", [True, False])
def test_values_are_those_of_the_host(count_eos, longest):
    batch = captions.Batch(longest=longest)
    found = captions.score(ROUGEL(count_eos=count_eos), batch)
    wanted = text.rouge_l(*batch.aligned(count_eos)).each
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-5, atol=1e-7)
