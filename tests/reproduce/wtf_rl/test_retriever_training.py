import dataclasses

import numpy as np
import pytest

from reproduce.wtf_rl.retrievers import NETWORKS
from reproduce.wtf_rl.retrievers import RetrieverSettings
from reproduce.wtf_rl.retrievers import mined_neighbors
from reproduce.wtf_rl.retrievers import train_retriever
from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import tiny_captions
from tests.reproduce.psst.tiny_study import data as tiny_data
from tests.reproduce.training import moved
from tfcap._ops import sequence_mask
from tfcap.data import CaptionBatches
from tfcap.data import nearest_neighbors
from tfcap.metrics import evaluate_retrieval

TINY = RetrieverSettings(
    units=16, embedding_units=16, batch_size=5, epochs=30, rate=0.01
)


@pytest.mark.parametrize("network", NETWORKS)
def test_it_learns_to_find_images_and_is_kept(tmp_path, network):
    data = tiny_data()
    settings = dataclasses.replace(TINY, network=network)
    trained = train_retriever(data, settings, tmp_path, seed=1, verbose=0)
    human = data.test.references
    mask = sequence_mask(human, data.vocabulary.eos).numpy()
    found = evaluate_retrieval(
        trained.embed_images(data.test_features),
        trained.embed_texts(human, mask).numpy()[mask.any(-1)],
        np.repeat(np.arange(11), data.test.counts),
    )
    assert found.result()["text_to_image_r@5"] > 100 * 5 / 11 + 20
    again = train_retriever(data, settings, tmp_path, seed=1, verbose=0)
    assert type(again) is NETWORKS[network]
    assert not moved(again.get_weights(), trained.get_weights())
    with pytest.raises(ValueError, match="another study's seed"):
        train_retriever(data, settings, tmp_path, seed=2, verbose=0)


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
