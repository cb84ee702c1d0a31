import collections
import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from reproduce.comparisons.truth.paper import REWARDS
from reproduce.comparisons.truth.paper import ROWS
from reproduce.comparisons.truth.paper import TRUTH
from reproduce.comparisons.truth.paper import AnsweredBatches
from reproduce.comparisons.truth.reader_network import QUESTIONS
from reproduce.comparisons.truth.reader_network import AnswerLoss
from reproduce.comparisons.truth.reader_network import Answers
from reproduce.comparisons.truth.reader_network import ReaderNetwork
from reproduce.comparisons.truth.rewards import LearnedReader
from reproduce.comparisons.truth.rewards import LearnedUtility
from reproduce.comparisons.truth.rewards import truth_function
from reproduce.comparisons.truth.rewards import truth_reward
from reproduce.comparisons.truth.settings import SETTINGS
from reproduce.comparisons.truth.tables import truth_tables
from reproduce.experiment import Experiment
from reproduce.score_tables import TRUTH as COLUMNS
from reproduce.world import sample_scene
from reproduce.world.truth import MEASURES
from reproduce.world.truth import Truth
from tests.eager import run_eagerly
from tests.reproduce.psst.tiny_study import data
from tfcap.decoding import Rollout
from tfcap.text import Vocabulary
from tfcap.text.scores.chair import ObjectSynonyms
from tfcap.text.scores.chair import chair
from tfcap.training import load_network

Episode = collections.namedtuple("Episode", "inputs")
TINY = dataclasses.replace(
    SETTINGS["quick"],
    units=6,
    batch_size=5,
    reward_batch_size=5,
    max_length=3,
    speaker_epochs=1,
)
VOCABULARY = Vocabulary(["a", "red", "ball", "box", "on", "the", "grass"])


@pytest.fixture(scope="module")
def truth():
    rng = np.random.default_rng(0)
    return Truth([sample_scene(rng) for _ in range(11)])


@pytest.fixture(scope="module")
def answers(truth):
    return Answers(truth)


def rollout(rng):
    tokens = rng.integers(4, 11, (3, 2, 4))
    tokens[..., -1] = VOCABULARY.eos
    return Rollout(tokens, np.ones_like(tokens, "float32"))


def test_a_reward_is_the_measure_of_each_sample_of_its_own_image(truth):
    said = rollout(np.random.default_rng(1))
    rows = np.array([7, 0, 3], "int32")
    reward = truth_reward("f1", truth, VOCABULARY)
    assert reward.name == "f1"
    wanted = [
        [
            truth.score("f1", VOCABULARY.decode(ids.tolist()), row)
            for ids in several
        ]
        for several, row in zip(said.tokens[..., :-1], rows.tolist())
    ]
    values = reward(said, Episode({"row": rows}))
    np.testing.assert_allclose(values, wanted, rtol=1e-6)


def test_a_measure_has_the_signature_of_other_trainers(truth):
    recall = truth_function("recall", truth)
    assert recall([], row=[]) == [] and recall.__name__ == "recall"
    with pytest.raises(ValueError):
        recall(["a ball"], row=[])


def test_answers_of_all_kinds_weigh_alike(truth, answers):
    options = [*QUESTIONS.values()]
    for row in range(len(truth)):
        found = {
            question: options[place][answers.numbers[row, place]]
            for place, question in enumerate(QUESTIONS)
            if answers.weights[row, place]
        }
        assert found == truth.answers(row)
        by_kind = collections.Counter()
        for question, weight in zip(QUESTIONS, answers.weights[row]):
            by_kind[question[0]] += weight
        sums = [weight for weight in by_kind.values() if weight]
        np.testing.assert_allclose(sums, 1 / len(sums), rtol=1e-5)


@pytest.fixture(scope="module")
def network():
    network = ReaderNetwork(11, units=4)
    network({"caption": np.array([[[5, 2, 0]]])})
    return network


def test_a_network_answers_questions_for_any_order_of_options(network):
    reader = LearnedReader(network, VOCABULARY)
    question = ("color", "ball")
    colors = QUESTIONS[question]
    text = "What color is the ball?"
    options = [[*colors], ["blue", "red"]]
    found = reader(["a red ball", "A ball."], [text] * 2, options)
    for words, own, each in zip(("a red ball", "a ball"), options, found):
        ids = VOCABULARY.encode(words.split(), eos=True)
        logits = np.array(network({"caption": np.array([[ids]])}))[0, 0]
        logits = logits[[*QUESTIONS].index(question)]
        wanted = [logits[colors.index(option)] for option in own]
        np.testing.assert_allclose(each, wanted, rtol=1e-5, atol=1e-6)


SAID, SHOWN = rollout(np.random.default_rng(2)), np.array([2, 9, 4])


def test_a_network_is_worth_the_probability_of_true_answers(answers, network):
    values = LearnedUtility(network, answers)(SAID, Episode({"row": SHOWN}))
    logits = np.asarray(network({"caption": SAID.tokens}))
    probabilities = np.asarray(ops.softmax(logits))
    for question, options in enumerate(QUESTIONS.values()):
        assert (probabilities[..., question, len(options) :] == 0).all()
    numbers, weights = answers.numbers[SHOWN], answers.weights[SHOWN]
    # (3, 2, Q): of each sample, the probability of each true answer.
    picked = np.take_along_axis(probabilities, numbers[:, None, :, None], -1)
    picked = picked[..., 0]
    wanted = (picked * weights[:, None]).sum(-1)
    np.testing.assert_allclose(values, wanted, rtol=1e-5)
    targets = np.stack([numbers, weights], axis=1).astype("float32")
    losses = AnswerLoss(reduction=None)(targets, logits)
    wanted = -(np.log(picked) * weights[:, None]).sum(-1).mean(-1)
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)


def test_a_network_reads_words_and_distributions_up_to_the_end(
    answers, network
):
    mask = np.array(SAID.mask)
    mask[1, :, 2:] = 0
    reward, episode = LearnedUtility(network, answers), Episode({"row": SHOWN})
    wanted = reward(Rollout(SAID.tokens, mask), episode)
    ended = Rollout(SAID.tokens * mask.astype(int), mask)
    np.testing.assert_array_equal(reward(ended, episode), wanted)
    words = tf.Variable(np.eye(11, dtype="float32")[SAID.tokens])
    with tf.GradientTape() as tape:
        found = reward(Rollout(SAID.tokens, mask, words=words), episode)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    gradient = np.abs(tape.gradient(found, words)).sum(-1)
    assert ((gradient > 0) == (mask > 0)).all()


def test_a_network_comes_back_as_it_was(network, tmp_path):
    path = tmp_path / "reader.keras"
    network.save(path)
    inputs = {"caption": np.array([[[5, 7, 2]]])}
    again = load_network(path)(inputs)
    np.testing.assert_array_equal(network(inputs), again)


@pytest.fixture(scope="module")
def study(truth, tmp_path_factory):
    known = dataclasses.replace(data(), truth=lambda split: truth)
    folder = tmp_path_factory.mktemp("truth")
    return Experiment(TRUTH, known, TINY, folder, seed=3, verbose=0)


def test_batches_have_the_answers_of_their_images(study, answers):
    features = study.data.train_features
    batches = AnsweredBatches(
        study.data.train, features, 5, answers, epoch="captions"
    )
    inputs, targets = batches.batch(2)
    assert [*inputs] == ["caption"]
    captions = study.data.train.references
    for caption, numbers in zip(inputs["caption"], targets[:, 0]):
        own = [
            row
            for row, several in enumerate(captions)
            if (several == caption[0]).all(-1).any()
        ]
        assert any((answers.numbers[row] == numbers).all() for row in own)


def test_rows_are_trained_and_told_how_true_they_are(study):
    with run_eagerly():
        records = [
            {"method": row, "seed": 3, **study.result(row)}
            for row in ("mle", "utility", "learned_utility_words")
        ]
    for record in records:
        assert {*COLUMNS} <= record.keys()
        assert record["human_truth_recall"] >= 0
        assert 0 <= record["learned_utility_accuracy"] <= 1
    tables = truth_tables(records, "tiny")
    differences = {row[0] for row in tables[-1].rows}
    assert differences == {"utility - mle", "learned_utility_words - mle"}
    assert [row[0] for row in tables[0].rows] == [
        *("mle", "utility", "learned_utility_words"),
        "human captions",
    ]


def test_a_mixture_is_weighed_by_alpha(study):
    reward = REWARDS["mixed"](study.about_point({"alpha": 0.25}))
    assert reward.terms == ("precision", "recall")
    assert [weight for weight, _ in reward.weighted] == [0.25, 0.75]
    assert ROWS.keys() == REWARDS.keys()
    assert {*MEASURES} < {*ROWS}


def test_truth_is_a_metric_of_any_paper_where_it_is_known(study, tmp_path):
    from reproduce.sle.paper import SLE
    from tests.reproduce.sle.tiny_study import TINY as SLE_TINY

    words = [word for _, word in zip(range(99), study.data.vocabulary.words)]
    objects = ObjectSynonyms([[word] for word in words])
    options = {"metrics": ["truth", "chair"], "objects": objects, "verbose": 0}
    with pytest.raises(ValueError, match="`metrics` must be available for"):
        Experiment(SLE, data(), SLE_TINY, tmp_path / "a", **options)
    with run_eagerly():
        made = Experiment(SLE, study.data, SLE_TINY, tmp_path / "b", **options)
        record = made.result("xe")
    captions = made.report("xe").captions
    scores = study.data.truth("test").scores(captions)
    assert {name: record[name] for name in scores} == pytest.approx(scores)
    # Where nothing else is known, what references mention is there.
    references = made.report("xe").references
    known = [[text.split() for text in texts] for texts in references]
    found = chair([text.split() for text in captions], known, objects)
    for name, values in zip(("chair_i", "chair_s"), found):
        assert record[name] == pytest.approx(values.corpus)
