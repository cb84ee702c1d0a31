from types import SimpleNamespace

import numpy as np
import pytest

from tests.rewards.test_retrieval import INPUTS
from tests.rewards.test_retrieval import learners
from tests.rewards.test_retrieval import soft
from tfcap.models import PairDiscriminator
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import Episode
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CLIPScore
from tfcap.rewards import MatchProbability


def test_is_the_score_of_every_sample_and_its_image():
    speaker, listener = learners()
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
        listener.image_key = key
        reward = CLIPScore(listener, 2.0)
        np.testing.assert_allclose(reward(said, each), wanted, atol=1e-5)


def test_images_are_those_that_the_retriever_asks_for():
    speaker, listener = learners()
    inputs = {**INPUTS, "own": INPUTS["image"], "image": INPUTS["more"]}
    episode = Episode(speaker, inputs)
    plain = Episode(speaker, INPUTS)
    for reward in (CLIPScore, BidirectionalContrastive):
        listener.image_key = "image"
        wanted = reward(listener)(plain.references, plain)
        listener.image_key = "own"
        found = reward(listener)(episode.references, episode)
        np.testing.assert_array_equal(found, wanted)
        assert found.shape == (5, 1)
    evaluator = PairDiscriminator(units=(4,))
    assert MatchProbability(evaluator, listener).image == "own"
    judging = DiscriminatorLoss(evaluator, soft(), retriever=listener)
    assert judging.image == "own"


def test_embeddings_of_another_space_are_refused_by_name():
    speaker, listener = learners()
    episode = Episode(speaker, {**INPUTS, "own": np.ones((5, 7), "float32")})
    listener.image_key = "own"
    with pytest.raises(ValueError, match=r"inputs\['own'\].* 6 .* of 7\."):
        CLIPScore(listener)(episode.references, episode)


def test_what_is_missing_is_named():
    speaker, listener = learners()
    with pytest.raises(TypeError, match="`retriever` must have the method"):
        CLIPScore(speaker)
    episode = Episode(speaker, INPUTS)
    bare = SimpleNamespace(inputs=INPUTS["image"], speaker=speaker)
    with pytest.raises(ValueError, match="'image', which.*Received: ndarray"):
        CLIPScore(listener)(episode.references, bare)
    listener.image_key = "absent"
    with pytest.raises(ValueError, match="'absent', which CLIPScore reads"):
        CLIPScore(listener)(episode.references, episode)
