"""What `wtf_rl` adds to the paper: several retrievers, and a metric."""

import numpy as np
import pytest

from tests.methods import stranger
from tfcap.decoding import Sample
from tfcap.methods import wtf_rl
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.rewards import BLEU

BATCH = stranger.batch(3, captions=1)
COSINE = {"reward": "cosine"}


def terms(retriever, **options):
    model = wtf_rl(
        stranger.speaker(),
        retriever,
        max_length=stranger.LENGTH,
        **{"alpha": 1.0, **options},
    )
    found = [term for _, term in model.learners["speaker"].objective.terms]
    return model, found


def rewards(retriever, **options):
    """Of the beam's captions, and of people's."""
    model, found = terms(retriever, **options)
    episode = Episode(model.speaker, BATCH)
    return [
        np.asarray(term.reward(episode.rollout(term.decoder), episode))
        for term in found
    ]


@pytest.mark.parametrize("options", [{"temperature": 0.1}, COSINE])
def test_the_similarities_of_several_retrievers_are_averaged(options):
    one, other = stranger.listener(2), stranger.listener(5)
    both = rewards([one, other], **options)
    apart = rewards(one, **options), rewards(other, **options)
    for mean, *each in zip(both, *apart):
        assert np.abs(each[0] - each[1]).max() > 1e-4
        np.testing.assert_allclose(mean, sum(each) / 2, rtol=1e-4, atol=1e-6)


def test_a_metric_is_reinforced_on_samples_beside_the_contrast():
    bleu = BLEU(2, jit_compile=False)
    model, (*rest, metric) = terms(
        stranger.listener(2), naturalness=0.5 * bleu, num_samples=4, seed=1
    )
    assert len(rest) == 2 and isinstance(metric.decoder, Sample)
    assert isinstance(metric.baseline, LeaveOneOutBaseline)
    episode = Episode(model.speaker, BATCH)
    rollout = episode.rollout(metric.decoder)
    assert rollout.tokens.shape[:2] == (3, 4)
    np.testing.assert_allclose(
        metric.reward(rollout, episode),
        0.5 * np.asarray(bleu(rollout, episode)),
        rtol=1e-6,
    )
    before = model.speaker.get_weights()
    model.compile("adam", run_eagerly=True)
    model.fit(BATCH, batch_size=3, verbose=0)
    after = model.speaker.get_weights()
    assert any((a != b).any() for a, b in zip(before, after))
