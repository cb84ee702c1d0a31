import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.rewards.test_match_probability import HUMAN
from tests.rewards.test_match_probability import INPUTS
from tests.rewards.test_match_probability import chances
from tests.rewards.test_match_probability import learners
from tests.rewards.test_match_probability import pair_chances
from tests.rewards.test_match_probability import pair_players
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import PartialSamplingST
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.rewards import MatchProbability
from tfcap.training import JointTraining
from tfcap.training import Learner


def sample(num_samples=2):
    return Sample(Categorical(seed=0), num_samples, max_length=3)


def oracle(evaluator, said, human, generated, mismatched):
    """Loss of every row, by plain loops."""
    made = chances(evaluator, said.tokens, said.mask)
    theirs = chances(evaluator, human, human > 0)
    there, losses = human.any(-1), []
    for row, own in enumerate(there):
        total = np.log(theirs[row, row, own]).mean() if own.any() else 0.0
        total += generated * np.log(1 - made[row, row]).mean()
        others = there & (np.arange(len(human)) != row)[:, None]
        total += mismatched * np.log(1 - theirs[row][others]).mean()
        losses.append(-total)
    return np.array(losses)[:, None]


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.5, 2.0)])
def test_is_the_surprise_at_three_kinds_of_captions(weights):
    speaker, evaluator = learners()
    human = np.array(
        [[[3, 4, 2], [4, 2, 0]], [[3, 3, 2], [0, 0, 0]], [[2, 0, 0], [3, 2, 0]]]
    )
    inputs = {**tiny.batch(3, human), "image": INPUTS["image"][:3]}
    decoder = sample()
    objective = DiscriminatorLoss(evaluator, decoder, *weights)
    episode = Episode(speaker, inputs)
    losses, _, _ = objective.per_sample_loss(episode)
    wanted = oracle(evaluator, episode.rollout(decoder), human, *weights)
    np.testing.assert_allclose(losses, wanted, rtol=1e-4, atol=1e-6)


def test_logs_tell_how_sure_it_is_of_each_kind():
    speaker, evaluator = learners()
    decoder = sample()
    objective = DiscriminatorLoss(evaluator, decoder)
    episode = Episode(speaker, INPUTS)
    loss, logs = objective.loss(episode)
    assert set(logs) == set(objective.log_names())
    said = episode.rollout(decoder)
    made = chances(evaluator, said.tokens, said.mask)
    theirs = chances(evaluator, HUMAN, HUMAN > 0)[..., 0]
    wanted = {
        "discriminator": loss,
        "discriminator/human": np.diag(theirs).mean(),
        "discriminator/generated": np.mean([made[i, i] for i in range(5)]),
        "discriminator/mismatched": theirs[~np.eye(5, dtype=bool)].mean(),
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(logs[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "decoder",
    [
        sample(),
        GroundTruth(),
        Sample(PartialSamplingST(0.5, seed=0), max_length=3),
    ],
)
def test_the_evaluator_learns_and_the_speaker_does_not(decoder):
    speaker, evaluator = learners(image_dropout=0.5)
    objective = DiscriminatorLoss(evaluator, decoder)
    with tf.GradientTape() as tape:
        episode = Episode(speaker, INPUTS, training=True)
        loss, _ = objective.loss(episode)
    variables = [speaker.table, *evaluator.trainable_variables]
    slopes = tape.gradient(loss, [v.value for v in variables])
    assert slopes[0] is None
    assert all(np.any(tf.convert_to_tensor(x)) for x in slopes[1:])
    channel = getattr(decoder, "channel", None)
    assert objective.layers() == ([] if channel is None else [channel])


def test_an_image_alone_has_nothing_to_be_told_from():
    speaker, evaluator = learners()
    one = {key: x[:1] for key, x in INPUTS.items()}
    loss, logs = DiscriminatorLoss(evaluator, sample()).loss(
        Episode(speaker, one)
    )
    assert np.isfinite(loss) and logs["discriminator/mismatched"] == 0


def test_in_a_game_it_learns_to_tell_people_from_the_speaker():
    speaker, evaluator = learners()
    # People name what is in the image; the speaker does not look.
    kind = np.random.default_rng(0).integers(0, 2, 64)
    image = np.zeros((64, 2, 4), "float32")
    image[np.arange(64), :, kind] = 1.0
    human = np.full((64, 1, 3), tiny.EOS, "int32")
    human[:, 0, :2] = 3 + kind[:, None]
    inputs = {**tiny.batch(64, human), "image": image}
    learner = Learner(evaluator, DiscriminatorLoss(evaluator, sample()))
    before = np.array(speaker.table)
    game = JointTraining(speaker, {"evaluator": learner})
    game.compile(keras.optimizers.Adam(0.05))
    game.fit(inputs, batch_size=64, epochs=40, verbose=0)
    logs = game.evaluate(inputs, batch_size=64, verbose=0, return_dict=True)
    assert logs["discriminator/human"] > 0.35
    assert logs["discriminator/generated"] < 0.2
    np.testing.assert_array_equal(np.array(speaker.table), before)


def test_a_kind_of_no_weight_is_neither_judged_nor_logged():
    speaker, evaluator = learners()
    episode = Episode(speaker, INPUTS)
    whole, logs = DiscriminatorLoss(evaluator, sample()).loss(episode)
    decoder, rest = sample(), 0.0
    for weights in ((0.0, 1.0), (1.0, 0.0)):
        objective = DiscriminatorLoss(evaluator, decoder, *weights)
        loss, found = objective.loss(episode)
        assert set(found) == set(objective.log_names()) < set(logs)
        human = found["discriminator/human"]
        np.testing.assert_allclose(
            human, logs["discriminator/human"], rtol=1e-5, atol=1e-6
        )
        rest += loss
    surprise = DiscriminatorLoss(evaluator, decoder, 0.0, 0.0).loss(episode)[0]
    np.testing.assert_allclose(rest - surprise, whole, rtol=1e-5, atol=1e-6)


def test_pairs_that_a_retriever_reads_are_judged_in_inference_mode():
    speaker, discriminator, retriever = pair_players(
        image_dropout=0.5, word_dropout=0.5
    )
    decoder = sample()
    objective = DiscriminatorLoss(
        discriminator, decoder, mismatched=0.0, retriever=retriever
    )
    with tf.GradientTape() as tape:
        episode = Episode(speaker, INPUTS, training=True)
        losses, _, _ = objective.per_sample_loss(episode)
    said = episode.rollout(decoder)
    judge = discriminator, retriever
    made = pair_chances(*judge, said.tokens, said.mask)
    theirs = pair_chances(*judge, HUMAN, HUMAN > 0)
    wanted = -np.log(theirs).mean(1) - np.log(1 - made).mean(1)
    np.testing.assert_allclose(losses[:, 0], wanted, rtol=1e-4, atol=1e-6)
    networks = (speaker, retriever, discriminator)
    slopes = tape.gradient(
        losses, [[v.value for v in n.trainable_variables] for n in networks]
    )
    assert all(x is None for x in [*slopes[0], *slopes[1]])
    assert all(np.any(x) for x in slopes[2])


def test_in_a_game_captions_are_rewarded_before_the_judge_steps():
    speaker, *judge = pair_players()
    reward = MatchProbability(*judge)
    adversary = DiscriminatorLoss(judge[0], sample(), 1.0, 0.0, judge[1])

    def score():
        return pair_chances(*judge, HUMAN, HUMAN > 0).mean()

    before, kept = score(), judge[1].get_weights()
    learners = {
        "speaker": Learner(speaker, ScoreFunction(reward, GroundTruth())),
        "judge": Learner(judge[0], adversary),
    }
    game = JointTraining(speaker, learners)
    sgd = {name: keras.optimizers.SGD(0.5) for name in learners}
    game.compile(sgd, run_eagerly=True)
    logs = game.train_on_batch(INPUTS, return_dict=True)
    for name in ("speaker/match_probability", "judge/discriminator/human"):
        np.testing.assert_allclose(logs[name], before, rtol=1e-5, atol=1e-6)
    assert abs(score() - before) > 0.01
    for weights, now in zip(kept, judge[1].get_weights(), strict=True):
        np.testing.assert_array_equal(now, weights)


def test_what_cannot_judge_or_speak_is_refused():
    speaker, evaluator = learners()
    with pytest.raises(TypeError, match="`evaluator` must have the method"):
        DiscriminatorLoss(speaker, sample())
    with pytest.raises(TypeError, match="`decoder` must be"):
        DiscriminatorLoss(evaluator, "greedy")
    episode = Episode(speaker, {"rows": INPUTS["rows"]})
    with pytest.raises(ValueError, match="'image', which DiscriminatorLoss"):
        DiscriminatorLoss(evaluator, sample()).loss(episode)
    evaluator.vocabulary_size = tiny.VOCABULARY + 1
    with pytest.raises(ValueError, match="`evaluator` must have the speaker's"):
        DiscriminatorLoss(evaluator, sample()).loss(Episode(speaker, INPUTS))
