"""An ensemble of retrievers rewards with the mean of their contrasts."""

import numpy as np
import pytest

from tests.methods import stranger
from tfcap.methods import retriever_ensemble
from tfcap.objectives import Episode
from tfcap.objectives import Pathwise
from tfcap.rewards import BLEU

WORDS = {"max_length": stranger.LENGTH, "seed": 0, "num_samples": 3}
HEAT, LAMBDA = 0.1, 2.0


def made(*seeds, **options):
    retrievers = [stranger.listener(seed) for seed in seeds]
    options = {"lambda_": LAMBDA, "temperature": HEAT, **WORDS, **options}
    model = retriever_ensemble(stranger.speaker(), retrievers, **options)
    return model, retrievers


def contrast(images, texts, b, s):
    """Equation by equation: rivals are other images, and their captions."""
    others = [i for i in range(len(images)) if i != b]
    of_images = [images[i] @ texts[b, s] / HEAT for i in others]
    of_texts = [images[b] @ t / HEAT for i in others for t in texts[i]]
    own = images[b] @ texts[b, s] / HEAT
    rivals = [np.log(np.exp(x).sum()) for x in (of_images, of_texts)]
    return HEAT * np.mean([own - rival for rival in rivals])


def test_the_reward_is_a_metric_and_the_mean_contrast():
    bleu = BLEU(2, jit_compile=False)
    model, retrievers = made(2, 5, naturalness=bleu)
    ((_, term),) = model.learners["speaker"].objective.terms
    batch = stranger.batch(3)
    episode = Episode(model.speaker, batch)
    rollout = episode.rollout(term.decoder)
    rewards = np.asarray(term.reward(rollout, episode))
    metric = np.asarray(bleu(rollout, episode))
    embedded = [
        (
            np.asarray(each.embed_images(batch["pixels"])),
            np.asarray(each.embed_texts(rollout.tokens, rollout.mask)),
        )
        for each in retrievers
    ]
    for b, s in np.ndindex(*rewards.shape):
        mean = np.mean([contrast(*pair, b, s) for pair in embedded])
        wanted = metric[b, s] + LAMBDA * mean
        np.testing.assert_allclose(rewards[b, s], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimator", ["reinforce", "psst"])
def test_the_speaker_learns_and_no_retriever(estimator):
    bleu = BLEU(2, jit_compile=False)
    model, retrievers = made(
        *(2, 5), naturalness=bleu, estimator=estimator, human_weight=0.5
    )
    networks = [model.speaker, *retrievers]
    before = [network.get_weights() for network in networks]
    terms = [term for _, term in model.learners["speaker"].objective.terms]
    assert len(terms) == (2 if estimator == "reinforce" else 3)
    assert isinstance(terms[0], Pathwise) == (estimator == "psst")
    model.compile("adam", run_eagerly=True)
    model.fit(stranger.batch(3), batch_size=3, verbose=0)
    moved = [
        any((a != b).any() for a, b in zip(old, network.get_weights()))
        for old, network in zip(before, networks)
    ]
    assert moved == [True, False, False]


def test_human_captions_are_weighed_by_their_contrast_above_a_threshold():
    people = {"estimator": "teacher_forcing", "num_samples": 5}
    model, (one,) = made(2, **people, threshold=0.3)
    ((_, term),) = model.learners["speaker"].objective.terms
    batch = stranger.batch(3, captions=1)
    episode = Episode(model.speaker, batch)
    rollout = episode.rollout(term.decoder)
    np.testing.assert_array_equal(rollout.tokens, batch["sentences"])
    images = np.asarray(one.embed_images(batch["pixels"]))
    texts = np.asarray(one.embed_texts(rollout.tokens, rollout.mask))
    rewards = np.asarray(term.reward(rollout, episode))
    for b in range(3):
        wanted = LAMBDA * (contrast(images, texts, b, 0) - 0.3)
        np.testing.assert_allclose(rewards[b, 0], wanted, rtol=1e-4, atol=1e-5)


def test_what_is_no_ensemble_is_refused():
    with pytest.raises(ValueError, match="`retrievers` must hold at least one"):
        made()
    with pytest.raises(ValueError, match="`lambda_` must be at least 0"):
        made(2, lambda_=-1.0)
    with pytest.raises(ValueError, match="`estimator` must be one of"):
        made(2, estimator="st")
    with pytest.raises(ValueError, match="`naturalness` must be None"):
        made(2, estimator="teacher_forcing", naturalness=len)
    with pytest.raises(TypeError, match="`retrievers` must be a sequence"):
        one = stranger.listener(1)
        retriever_ensemble(stranger.speaker(), one, lambda_=1.0)
