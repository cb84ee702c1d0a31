import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.enumerated import gradient
from tests.losses.test_bidirectional_contrastive_loss import oracle
from tests.rewards.test_retrieval import learners
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import ConstantReward

RNG = np.random.default_rng(0)
HUMAN = [[[3, 4, 2], [4, 4, 2]], [[4, 3, 2]] * 2, [[3, 2, 0], [0, 0, 0]]]
HUMAN = np.array([*HUMAN, [[4, 2, 0]] * 2, np.zeros((2, 3))], "int32")
INPUTS = {
    "rows": np.zeros((5, 1), "float32"),
    "image": RNG.normal(size=(5, 2, 4)).astype("float32"),
    "near": RNG.normal(size=(5, 3, 2, 4)).astype("float32"),
    "row": np.array([8, 9, 8, 7, 6]),
    "near_row": RNG.integers(5, 12, size=(5, 3)),
    "references": HUMAN,
}
NEAR = {"neighbors": "near", "same": "row", "neighbor_same": "near_row"}
BEAM, GREEDY, TRUTH = BeamSearch(2, max_length=3), Greedy(3), GroundTruth()


def read(listener, *rollouts):
    """Embeddings of rollouts side by side, and which have words."""
    texts = [listener.embed_texts(r.tokens, r.mask) for r in rollouts]
    masks = [np.any(r.mask, axis=-1) for r in rollouts]
    return np.concatenate(texts, axis=1), np.concatenate(masks, axis=1)


def look(listener, key):
    image = INPUTS[key].reshape(-1, 2, 4)
    return listener.embed_images(image).numpy()


@pytest.mark.parametrize("scored", [BEAM, TRUTH])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"combine": "sum", **NEAR},
        {"directions": ("text",), "siblings": False},
    ],
)
def test_is_the_reward_of_the_paper(scored, options):
    speaker, listener = learners()
    reward = BidirectionalContrastive(
        listener, (BEAM, GREEDY, TRUTH), temperature=0.1, **options
    )
    episode = Episode(speaker, INPUTS)
    others = [d for d in (BEAM, GREEDY, TRUTH) if d is not scored]
    texts, mask = read(listener, episode.rollout(scored))
    rivals, rival_mask = read(listener, *map(episode.rollout, others))
    batch = dict(mask=mask, rivals=rivals, rival_mask=rival_mask)
    options = {"siblings": True, **options}
    if options.pop("neighbors", None):
        # Of the last image nobody says anything: it is not there.
        batch["distractors"] = look(listener, "near")[: 4 * 3]
        batch["distractor_same"] = INPUTS["near_row"][:4].ravel()
        batch["same"] = INPUTS["row"]
    options = {k: v for k, v in options.items() if k not in NEAR}
    losses = oracle(look(listener, "image"), texts, 0.1, **batch, **options)
    # What is scored reaches the reward by an estimator, as another object.
    said = episode.rollout(scored).stop_gradient()
    found, terms, *_ = reward.scored(said, episode)
    assert found.shape == (5, 2) and not mask[4].any()
    assert mask[:4].all() == (scored is BEAM)
    np.testing.assert_allclose(found, -0.1 * losses, rtol=1e-4, atol=1e-5)
    assert set(terms) == set(reward.terms)
    total = sum(map(np.array, terms.values()))
    share = 1 if options.get("combine") == "sum" else len(terms)
    np.testing.assert_allclose(found, total / share, rtol=1e-5, atol=1e-6)


def test_embeddings_of_images_may_be_part_of_the_batch():
    speaker, listener = learners()
    reward = BidirectionalContrastive(listener, (GREEDY,), **NEAR)
    near = look(listener, "near").reshape(5, 3, -1)
    ready = {**INPUTS, "image": look(listener, "image"), "near": near}
    found, wanted = (
        reward(episode.references, episode)
        for episode in (Episode(speaker, ready), Episode(speaker, INPUTS))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    for key in ("image", "near"):
        # Embeddings of another space.
        episode = Episode(speaker, {**INPUTS, key: ready[key][..., 1:]})
        with pytest.raises(ValueError, match=rf"inputs\['{key}'\].*6 .* 5\."):
            reward(episode.references, episode)


def test_what_the_greedy_caption_says_too_gets_at_most_nothing():
    speaker, listener = learners()
    episode = Episode(speaker, INPUTS)
    said = episode.rollout(GREEDY).stop_gradient()
    reward = BidirectionalContrastive(
        listener, (GREEDY, TRUTH), directions=("text",)
    )
    twin = said._replace(tokens=said.tokens + 0)
    assert (np.array(reward(twin, episode)) <= 1e-6).all()


@pytest.mark.parametrize("decoder", [BEAM, TRUTH])
def test_trajectories_of_a_search_and_of_people_are_weighted(decoder):
    speaker, listener = learners()
    texts = (BEAM, GREEDY, TRUTH)
    reward = BidirectionalContrastive(listener, texts, credit="own")

    def found(reward):
        return gradient(speaker, ScoreFunction(reward, decoder), INPUTS)[0]

    with tf.GradientTape() as tape:
        episode = Episode(speaker, INPUTS)
        said = episode.rollout(decoder)
        values = reward(said, episode)[..., None]
        values = values * episode.log_probs(said) * said.mask
        # A mean over what is said, of images that people describe.
        loss = -ops.sum(values[:4]) / said.nonempty[:4].numpy().sum()
    wanted = tape.gradient(loss, speaker.table.value).numpy()
    assert np.abs(wanted).max() > 1e-3
    np.testing.assert_allclose(found(reward), wanted, rtol=1e-3, atol=1e-6)
    # A constant beside it is so much teacher forcing.
    wanted = wanted + 0.3 * found(ConstantReward())
    lifted = found(reward + 0.3 * ConstantReward())
    np.testing.assert_allclose(lifted, wanted, rtol=1e-3, atol=1e-6)


def test_a_variable_anneals_the_temperature():
    speaker, listener = learners()
    temperature = keras.Variable(1.0, trainable=False)
    moved = BidirectionalContrastive(listener, temperature=temperature)
    episode = Episode(speaker, INPUTS)
    for value in (1.0, 0.02):
        temperature.assign(value)
        still = BidirectionalContrastive(listener, temperature=value)
        np.testing.assert_allclose(
            moved(episode.references, episode),
            still(episode.references, episode),
            rtol=1e-5,
            atol=1e-6,
        )
