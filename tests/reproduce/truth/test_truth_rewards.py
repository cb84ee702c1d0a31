import collections
import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from reproduce.experiment import Experiment
from reproduce.record_file import append_record
from reproduce.score_tables import TRUTH as COLUMNS
from reproduce.spider.paper import state_units
from reproduce.truth.examples_page import markdown_examples
from reproduce.truth.examples_page import write_examples
from reproduce.truth.kept import kept_captions
from reproduce.truth.paper import REWARDS
from reproduce.truth.paper import ROWS
from reproduce.truth.paper import TRUTH
from reproduce.truth.paper import AnsweredBatches
from reproduce.truth.paper import numbered_batches
from reproduce.truth.reader_network import QUESTIONS
from reproduce.truth.reader_network import AnswerLoss
from reproduce.truth.reader_network import Answers
from reproduce.truth.reader_network import ReaderNetwork
from reproduce.truth.rewards import LearnedUtility
from reproduce.truth.rewards import truth_function
from reproduce.truth.rewards import truth_reward
from reproduce.truth.settings import SETTINGS
from reproduce.truth.tables import truth_tables
from reproduce.truth.through_words import through_words
from reproduce.world import sample_scene
from reproduce.world import sample_video
from reproduce.world.truth import MEASURES
from reproduce.world.truth import Truth
from tests.reproduce.psst.tiny_study import data
from tests.reproduce.test_paper_sweep import run_eagerly
from tfcap.decoding import Rollout
from tfcap.methods import actor_critic
from tfcap.methods import dpo
from tfcap.methods import grpo
from tfcap.methods import mixer
from tfcap.methods import policy_gradient
from tfcap.methods import ppo
from tfcap.methods import rloo
from tfcap.methods import scst
from tfcap.methods import sll_sle
from tfcap.methods import structured
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


def rollout(rng, samples=2):
    tokens = rng.integers(4, 11, (3, samples, 4))
    tokens[..., -1] = VOCABULARY.eos
    return Rollout(tokens, np.ones_like(tokens, "float32"))


def texts(said):
    return [
        [VOCABULARY.decode(ids.tolist()) for ids in several]
        for several in said.tokens[..., :-1]
    ]


@pytest.mark.parametrize("measure", ["precision", "f1", "utility"])
def test_a_reward_is_the_measure_of_each_sample_of_its_own_image(
    truth, measure
):
    said = rollout(np.random.default_rng(1))
    rows = np.array([7, 0, 3], "int32")
    reward = truth_reward(measure, truth, VOCABULARY)
    assert reward.name == measure
    values = reward(said, Episode({"row": rows}))
    wanted = [
        [truth.score(measure, text, row) for text in several]
        for several, row in zip(texts(said), rows.tolist())
    ]
    np.testing.assert_allclose(values, wanted, rtol=1e-6)


def test_a_measure_has_the_signature_of_other_trainers(truth):
    with pytest.raises(ValueError, match="`measure`.*Received: measure='bleu'"):
        truth_function("bleu", truth)
    recall = truth_function("recall", truth)
    assert recall([], row=[]) == [] and recall.__name__ == "recall"
    with pytest.raises(ValueError):
        recall(["a ball"], row=[])


@pytest.mark.parametrize("videos", [False, True])
def test_answers_of_all_kinds_weigh_alike(truth, videos):
    if videos:
        rng = np.random.default_rng(0)
        truth = Truth([sample_video(rng) for _ in range(8)])
    answers = Answers(truth)
    options = [*QUESTIONS.values()]
    for row in range(len(truth)):
        wanted = truth.answers(row)
        found = {
            question: options[place][answers.numbers[row, place]]
            for place, question in enumerate(QUESTIONS)
            if answers.weights[row, place]
        }
        assert found == wanted
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


def test_a_network_is_worth_the_probability_of_true_answers(truth, network):
    said, rows = rollout(np.random.default_rng(2)), np.array([2, 9, 4])
    answers = Answers(truth)
    values = LearnedUtility(network, answers)(said, Episode({"row": rows}))
    logits = np.asarray(network({"caption": said.tokens}))
    probabilities = np.asarray(ops.softmax(logits))
    assert values.shape == (3, 2)
    for image, row in enumerate(rows):
        for sample in range(2):
            wanted = sum(
                weight * probabilities[image, sample, question, place]
                for question, (weight, place) in enumerate(
                    zip(answers.weights[row], answers.numbers[row])
                )
            )
            np.testing.assert_allclose(values[image, sample], wanted, rtol=1e-5)
    for question, options in enumerate(QUESTIONS.values()):
        assert (probabilities[..., question, len(options) :] == 0).all()
    targets = np.stack([answers.numbers[rows], answers.weights[rows]], axis=1)
    losses = AnswerLoss(reduction=None)(targets.astype("float32"), logits)
    picked = np.take_along_axis(
        probabilities, answers.numbers[rows][:, None, :, None], -1
    )[..., 0]
    wanted = -(np.log(picked) * answers.weights[rows][:, None]).sum(-1).mean(-1)
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)


def test_a_network_reads_words_and_distributions_alike(truth, network):
    said, rows = rollout(np.random.default_rng(2)), np.array([2, 9, 4])
    mask = np.array(said.mask)
    mask[1, :, 2:] = 0
    soft = np.eye(11, dtype="float32")[said.tokens]
    reward, episode = (
        LearnedUtility(network, Answers(truth)),
        Episode({"row": rows}),
    )
    words = tf.Variable(soft)
    with tf.GradientTape() as tape:
        found = reward(Rollout(said.tokens, mask, words=words), episode)
    wanted = reward(Rollout(said.tokens, mask), episode)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    gradient = np.abs(tape.gradient(found, words)).sum(-1)
    assert ((gradient > 0) == (mask > 0)).all()


def test_words_after_the_end_change_nothing(truth, network):
    said, rows = rollout(np.random.default_rng(3)), np.array([2, 9, 4])
    short = np.array(said.mask)
    short[:, :, 2:] = 0
    reward = LearnedUtility(network, Answers(truth))
    found = [
        reward(Rollout(tokens, short), Episode({"row": rows}))
        for tokens in (said.tokens, said.tokens * short.astype(int))
    ]
    np.testing.assert_array_equal(*map(np.asarray, found))


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


def test_batches_tell_the_rows_of_their_images(study, truth):
    batch = numbered_batches(study).batch(1)
    rows, features = batch["row"], study.data.train_features
    np.testing.assert_array_equal(batch["image"], features[rows])
    answers = Answers(truth)
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
            for row in ("mle", "learned_utility", "learned_utility_words")
        ]
    for record in records:
        assert {*COLUMNS} <= record.keys()
        assert record["human_truth_recall"] >= 0
    tables = truth_tables(records, "tiny")
    assert [table.title for table in tables][-1] == (
        "learned_utility_words - learned_utility, paired by seed"
    )
    assert [row[0] for row in tables[0].rows] == [
        *("mle", "learned_utility", "learned_utility_words"),
        "human captions",
    ]


LEARNERS = {
    "scst": scst,
    "rloo": rloo,
    "ppo": ppo,
    "grpo": grpo,
    "actor_critic": actor_critic,
    "policy_gradient": policy_gradient,
    "mixer": functools.partial(mixer, stage_steps=1),
    "sll_sle": sll_sle,
    "risk": functools.partial(structured, loss="risk"),
    "dpo": None,
    "through_words": through_words,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_truth_is_a_reward_of_every_estimator(study, truth, name):
    network = ReaderNetwork(study.data.vocabulary.size, units=4)
    speaker = study.starting("speaker_mle", "speaker", dropout=False)
    batches = numbered_batches(study)
    network({"caption": batches.batch(0)["caption"]})
    reward = LearnedUtility(network, Answers(truth))
    if name != "through_words":
        # Its gradient through words would be none.
        reward = reward + truth_reward("f1", truth, study.data.vocabulary)
    method, options = LEARNERS[name], {"max_length": 3, "seed": 0}
    if name == "dpo":
        stays = study.starting("speaker_mle", "speaker", dropout=False)
        method = functools.partial(dpo, reference=stays)
    sgd = "sgd"
    if name in ("actor_critic", "policy_gradient", "mixer"):
        options["state_units"] = state_units(speaker, batches)
        sgd = {"speaker": "sgd", "baseline": "sgd"}
    model = method(speaker, reward, **options)
    before = [np.array(v) for v in speaker.trainable_variables]
    with run_eagerly():
        model.compile(sgd)
        logs = model.train_on_batch(batches.batch(0), return_dict=True)
    assert all(np.isfinite(value) for value in logs.values())
    after = speaker.trainable_variables
    assert any((a != b).any() for a, b in zip(map(np.array, after), before))


def test_a_mixture_is_weighed_by_alpha(study):
    reward = REWARDS["mixed"](study.about_point({"alpha": 0.25}))
    assert reward.terms == ("precision", "recall")
    assert [weight for weight, _ in reward.weighted] == [0.25, 0.75]
    assert {*ROWS} == {*REWARDS, "learned_utility_words"}
    assert {*MEASURES} < {*ROWS}


def test_kept_captions_are_told_how_true_they_are(study, tmp_path):
    truth, ids = study.data.truth("test"), study.data.test.image_ids
    record = {"settings": {"method": "mle", "seed": 4}, "result": {"r@1": 2.0}}
    append_record(tmp_path / "points.jsonl", record)
    with pytest.raises(ValueError, match="`sweep` must keep captions"):
        kept_captions(TRUTH, tmp_path, ids)
    with run_eagerly():
        study.result("mle")
    report = study.report("mle")
    place = TRUTH.place("mle", {})
    (tmp_path / "seed_4" / place).mkdir(parents=True)
    report.save(tmp_path / "seed_4" / place / "captions.json")
    ((key, found),) = kept_captions(TRUTH, tmp_path, ids).items()
    assert str(key) == "mle" and [*found] == [4]
    assert found[4][0]["r@1"] == 2.0 and found[4][1] == report.captions
    shown = markdown_examples({"mle": report.captions}, truth, [0, 1])
    assert shown.count(f"| {report.captions[0]} |") >= 1
    page = tmp_path / "page.html"
    write_examples(page, {"mle": report.captions}, truth, [0, 1])
    assert page.read_text(encoding="utf-8").count("<article>") == 2
    with pytest.raises(ValueError, match="with captions of 11 images"):
        kept_captions(TRUTH, tmp_path, [None])
    with pytest.raises(ValueError, match="not all of them those of that"):
        kept_captions(TRUTH, tmp_path, list(ids)[::-1])


def test_truth_is_a_metric_of_any_paper_where_it_is_known(study, tmp_path):
    from reproduce.sle.paper import SLE
    from tests.reproduce.sle.tiny_study import TINY as SLE_TINY

    words = [word for _, word in zip(range(99), study.data.vocabulary.words)]
    objects = ObjectSynonyms([[word] for word in words])
    options = {"metrics": ["truth", "chair"], "objects": objects, "verbose": 0}
    with pytest.raises(ValueError, match="`metrics` must be known of the data"):
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
