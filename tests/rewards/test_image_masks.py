"""Who reads images leaves out the positions that `image_mask` rules out."""

import numpy as np
import pytest

from tests import speakers
from tfcap.decoding import Greedy
from tfcap.models import CaptionEvaluator
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import Episode
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CLIPScore
from tfcap.rewards import MatchProbability
from tfcap.rewards import Retrieval
from tfcap.text import Vocabulary
from tfcap.training import Evaluator

BATCH = speakers.batch(samples=1)
MASK = np.float32(
    [[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], *[[0, 0, 0, 1]] * 2]
)
MASKED = {
    **BATCH,
    "references": BATCH["caption"],
    "image_mask": MASK,
    "near": BATCH["image"][:, None],
    "near_mask": MASK[:, None],
}


def padded(batch):
    """The same images, with something else where there is no position."""
    image = np.where(MASK[..., None] > 0, batch["image"], 7.0)
    return {**batch, "image": image, "near": image[:, None]}


@pytest.fixture(scope="module")
def learners():
    listener = CaptionEvaluator(speakers.VOCABULARY, 6, 5)
    listener(BATCH)
    return speakers.speaker("att2in"), listener


@pytest.mark.parametrize(
    "make",
    [
        Retrieval,
        lambda x: BidirectionalContrastive(x, neighbors="near"),
        CLIPScore,
        MatchProbability,
    ],
)
def test_rewards(learners, make):
    speaker, listener = learners
    reward = make(listener)
    masked, other = (Episode(speaker, x) for x in (MASKED, padded(MASKED)))
    found = reward(masked.references, masked)
    assert np.std(found) > 0
    again = reward(other.references, other)
    np.testing.assert_allclose(found, again, atol=1e-5)


def test_discriminators(learners):
    loss = DiscriminatorLoss(learners[1], Greedy(3))
    episodes = (Episode(learners[0], x) for x in (MASKED, padded(MASKED)))
    found = [loss.loss(episode)[0] for episode in episodes]
    np.testing.assert_allclose(*found, atol=1e-5)


def test_evaluation(learners):
    vocabulary = Vocabulary(list("abcdefghi"))
    reports = [
        Evaluator(learners[0], inputs, learners[1], vocabulary=vocabulary)()
        for inputs in (MASKED, padded(MASKED))
    ]
    assert reports[0].scores == reports[1].scores
    assert reports[0].ranks.tolist() == reports[1].ranks.tolist()


def test_a_listener_of_images_alone_goes_on_working(learners):
    class Plain:
        vocabulary_size = speakers.VOCABULARY
        embed_texts = learners[1].embed_texts

        def embed_images(self, image, training=False):
            return learners[1].embed_images(image)

    episode = Episode(learners[0], MASKED)
    for make in (Retrieval, CLIPScore):
        found = make(Plain())(episode.references, episode)
        assert np.isfinite(found).all()
