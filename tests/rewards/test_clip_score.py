import numpy as np
import pytest

from tests.rewards.test_retrieval import INPUTS
from tests.rewards.test_retrieval import players
from tests.rewards.test_retrieval import soft
from tfcap.objectives import Episode
from tfcap.rewards import CLIPScore


def test_is_the_score_of_every_sample_and_its_image():
    speaker, listener = players()
    episode = Episode(speaker, INPUTS)
    said = episode.rollout(soft())
    mask = np.array(said.mask)
    mask[3, 1] = 0
    said = said._replace(mask=mask)
    images = listener.embed_images(INPUTS["image"]).numpy()
    texts = listener.embed_texts(said.words, mask).numpy()
    wanted = np.zeros((5, 2))
    for b, s in np.ndindex(5, 2):
        wanted[b, s] = 2.0 * max(images[b] @ texts[b, s], 0)
    assert (wanted > 0).sum() > 2 and (wanted == 0).sum() > 1
    ready = Episode(speaker, {**INPUTS, "embedding": 3 * images})
    for each, key in ((episode, "image"), (ready, "embedding")):
        reward = CLIPScore(listener, 2.0, key)
        np.testing.assert_allclose(reward(said, each), wanted, atol=1e-5)


def test_what_is_missing_is_named():
    speaker, listener = players()
    with pytest.raises(TypeError, match="`retriever` must have the method"):
        CLIPScore(speaker)
    episode = Episode(speaker, INPUTS)
    with pytest.raises(ValueError, match="'absent', which CLIPScore reads"):
        CLIPScore(listener, image="absent")(episode.references, episode)
