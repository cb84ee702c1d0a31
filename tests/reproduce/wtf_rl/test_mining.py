import numpy as np
import pytest

from reproduce.wtf_rl.mining import mined_neighbors
from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionBatches
from tfcap.data import nearest_neighbors


class Mean:
    """A retriever that averages."""

    asked = 0

    def embed_images(self, image, training=False):
        self.asked += 1
        return np.mean(image, axis=1)


def test_neighbours_are_mined_once(tmp_path):
    batches = CaptionBatches(tiny_captions(), FEATURES, 4)
    retriever, path = Mean(), tmp_path / "neighbors.npz"
    found = mined_neighbors(retriever, batches, path, 4)
    wanted = nearest_neighbors(FEATURES.mean(axis=1), 4)
    np.testing.assert_array_equal(found, wanted)
    assert retriever.asked == 3
    again = mined_neighbors(retriever, batches, path, 2)
    np.testing.assert_array_equal(again, wanted[:, :2])
    assert retriever.asked == 3
    with pytest.raises(ValueError, match="which holds 4"):
        mined_neighbors(retriever, batches, path, 5)
