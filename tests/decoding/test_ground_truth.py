import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import GroundTruth


def test_the_mask_includes_the_end_and_nothing_after():
    speaker = tiny.TableSpeaker()
    said = GroundTruth().decode(speaker, None, np.array([[[3, 2, 0, 0]]]))
    np.testing.assert_array_equal(said.mask, [[[1, 1, 0, 0]]])
    assert said.discrete and said.words is None


def test_flat_references_are_refused():
    flat = np.zeros((2, 3), int)
    with pytest.raises(ValueError, match=r"must have shape \(B, S"):
        GroundTruth().decode(tiny.TableSpeaker(), None, flat)
