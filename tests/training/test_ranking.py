import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfcap.training.ranking as ranking
from tests import dialogs
from tests.eager import run_eagerly
from tests.testing import same
from tfcap._ops import sequence_mask
from tfcap.metrics import RankingReport
from tfcap.training import candidate_scores
from tfcap.training import rank_candidates
from tfcap.training.ranking import embed_answers


@pytest.fixture(scope="module")
def batches():
    made = dialogs.batches()
    data = made.dialogs
    # Here and there an option is absent, never the truth.
    options = data.options.copy()
    column = (data.gt_index + 1) % options.shape[-1]
    np.put_along_axis(options[1::2], column[1::2, :, None], -1, -1)
    options[data.gt_index < 0] = -1
    rng = np.random.default_rng(0)
    relevance = rng.random(options.shape) * (options >= 0)
    made.dialogs = dataclasses.replace(
        data, options=options, relevance=relevance
    )
    return made


@pytest.fixture
def reports(monkeypatch):
    """Everything that is added to a report."""
    added = []

    class Recording(RankingReport):
        def add(self, scores, truth, relevance=None, valid=None):
            added.append((scores, truth, relevance))
            super().add(scores, truth, relevance, valid)

    monkeypatch.setattr(ranking, "RankingReport", Recording)
    return added


def one_by_one(batches, score):
    """Scores of all options of the rounds that are there, by loops."""
    data, rows = batches.dialogs, []
    for dialog, turn in np.ndindex(data.gt_index.shape):
        if data.gt_index[dialog, turn] >= 0:
            chosen = data.options[dialog, turn]
            scores = [
                score(dialog, turn, data.answers[i]) if i >= 0 else -np.inf
                for i in chosen
            ]
            rows.append(scores)
    return np.array(rows)


@pytest.fixture
def eagerly():
    # Graphs take longer to trace.
    with run_eagerly():
        yield


def check(report, reports, batches, expected):
    data = batches.dialogs
    present = data.gt_index >= 0
    scores, truth, relevance = (np.concatenate(x) for x in zip(*reports))
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(truth, data.gt_index[present])
    np.testing.assert_array_equal(relevance, data.relevance[present])
    again = RankingReport()
    again.add(scores, truth, relevance)
    assert report.result() == pytest.approx(again.result())
    assert report.result()["count"] == present.sum() < present.size


def hidden(batches):
    """The same questions, of which nobody knows the answer."""
    made = dialogs.batches()
    nobody = np.full_like(batches.dialogs.gt_index, -1)
    made.dialogs = dataclasses.replace(batches.dialogs, gt_index=nobody)
    return made


def check_scores(scores, batches, expected):
    data = batches.dialogs
    assert scores.shape == data.options.shape and scores.dtype == np.float32
    found = scores[data.gt_index >= 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert (scores[data.options < 0] == -np.inf).all()


def test_a_generator_ranks_as_answer_by_answer(batches, reports):
    generator = dialogs.generator("lf")
    state = generator.begin(batches.inputs(np.arange(8)))

    def score(dialog, turn, answer):
        row = dialog * 3 + turn
        here = keras.tree.map_structure(lambda x: x[row : row + 1], state)
        return np.sum(generator.log_probs(here, answer[None, None]))

    expected = one_by_one(batches, score)
    report = rank_candidates(generator, batches, 3, verbose=0)
    check(report, reports, batches, expected)
    scores = candidate_scores(generator, batches, 3, verbose=0)
    check_scores(scores, batches, expected)


def test_a_discriminator_ranks_as_when_it_is_called(batches, reports):
    network = dialogs.discriminator("lf")
    inputs = batches.inputs(np.arange(8))
    table = batches.dialogs.answers
    every = np.tile(table[None, None], (8, 3, 1, 1))
    called = np.asarray(network({**inputs, "options": every}))
    place = {tuple(answer): i for i, answer in enumerate(table)}
    expected = one_by_one(
        batches, lambda d, r, answer: called[d, r, place[tuple(answer)]]
    )
    report = rank_candidates(network, batches, 3, verbose=0)
    check(report, reports, batches, expected)
    scores = candidate_scores(network, hidden(batches), 3, verbose=0)
    check_scores(scores, batches, expected)


def test_the_size_of_a_chunk_does_not_matter(batches):
    network = dialogs.discriminator("lf")
    answers = batches.dialogs.answers
    mask = sequence_mask(answers, 2)
    expected = network.embed(answers[:, None], mask[:, None])[:, 0]
    for rows in (5, 4096):
        found = embed_answers(network, batches.dialogs.answers, rows)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def strangers(batches, one_hot):
    """The same questions as any data set of Keras holds them."""
    data = batches.dialogs
    words = data.answers[data.options] * (data.options >= 0)[..., None]
    inputs = {**batches.inputs(np.arange(8)), "options": words}
    labels = data.gt_index
    if one_hot:
        labels = (np.arange(6) == labels[..., None]).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(3)


# Labels and networks do not meet.
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "one_hot, make", [(False, dialogs.generator), (True, dialogs.discriminator)]
)
def test_any_data_set_of_candidates_is_ranked(batches, one_hot, make):
    dataset, plain = strangers(batches, one_hot), dialogs.batches()
    plain.dialogs = dataclasses.replace(batches.dialogs, relevance=None)
    network = make("lf")
    wanted = rank_candidates(network, plain, 3, verbose=0).result()
    found = rank_candidates(network, dataset, verbose=0).result()
    assert found == pytest.approx(wanted) and found["count"] > 0
    inputs = dataset.map(lambda x, y: x)
    scores = candidate_scores(network, inputs, verbose=0)
    same(scores, candidate_scores(network, plain, 3, verbose=0), 1e-4, 1e-5)


@pytest.mark.parametrize(
    "change, told",
    [
        (
            lambda x, y: ({"question": x["question"]}, y),
            "'options', candidate answers",
        ),
        (lambda x, y: x, "pairs of inputs and labels"),
        (lambda x, y: (x, y[:, 0]), r"Received: labels of shape \(3,\)"),
    ],
)
def test_candidates_and_labels_are_asked_for_by_a_sentence(
    batches, change, told
):
    dataset = strangers(batches, False).map(change)
    with pytest.raises(ValueError, match=told):
        rank_candidates(dialogs.discriminator("lf"), dataset, verbose=0)


@pytest.mark.usefixtures("eagerly")
def test_a_candidate_that_takes_no_part_is_no_rival(batches):
    network = dialogs.discriminator("lf")
    ((inputs, labels),) = strangers(batches, True).take(1)
    scores, labels = (
        candidate_scores(network, inputs, verbose=0),
        labels.numpy(),
    )
    rivals, truth = labels == 0, labels == 1
    own = np.sum(np.where(truth, scores, 0), -1, keepdims=True)
    # Of those above the truth, none takes part.
    left = np.where(rivals & (scores >= own), -1, labels)
    report = rank_candidates(network, [(inputs, left)], verbose=0).result()
    present = truth.any(-1)
    assert report["count"] == present.sum() > 0
    assert report["mean_rank"] == report["mrr"] == 1.0
    assert (left[present] != labels[present]).any()


@pytest.mark.usefixtures("eagerly")
def test_batches_of_other_numbers_of_rounds_are_scored(batches):
    network = dialogs.discriminator("lf")
    (whole,) = strangers(batches, False).map(lambda x, y: x).take(1)
    keys = ("question", "history", "options")
    short = {k: v[:, :2] if k in keys else v for k, v in whole.items()}
    short["options"] = short["options"][:, :, :4]
    wanted = candidate_scores(network, whole, verbose=0)
    found = candidate_scores(network, [whole, short], verbose=0)
    assert found.shape == (6, *wanted.shape[1:])
    np.testing.assert_array_equal(found[:3], wanted)
    np.testing.assert_allclose(found[3:, :2, :4], wanted[:, :2, :4], atol=1e-7)
    assert (found[3:, 2:] == -np.inf).all()
    assert (found[3:, :, 4:] == -np.inf).all()


class Coin:
    """All words are equally likely; 7 pads."""

    bos, eos, pad = 1, 2, 7

    def begin(self, inputs, training=False):
        return tf.zeros((tf.shape(inputs["options"])[0], 1))

    def step(self, words, state, training=False):
        return keras.ops.zeros((keras.ops.size(words), 10)), state


class Length:
    """The longer a candidate, the better; 7 pads."""

    bos, eos, pad = 1, 2, 7

    def encode(self, inputs, training=False):
        return tf.ones((tf.shape(inputs["options"])[0], 1))

    def embed(self, answers, mask, training=False):
        return keras.ops.sum(mask, axis=-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool", "uint8"])
def test_ragged_candidates_are_filled_as_the_network_pads(dtype):
    options = tf.ragged.constant(
        [[[3, 2], [0, 3, 2], [2]], [[3, 4, 2]]], dtype="int32"
    )
    labels = tf.cast(tf.ragged.constant([[0, 0, 1], [1]]), dtype)
    data = [({"options": options}, labels)]
    lengths = np.array([[2, 3, 1], [3, 0, 0]])
    # Neither the start token nor padding is ever said.
    wanted = np.where(lengths, -lengths * np.log(8), -np.inf)
    found = candidate_scores(Coin(), data, verbose=0)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    found = candidate_scores(Length(), data, verbose=0)
    np.testing.assert_array_equal(found, np.where(lengths, lengths, -np.inf))
    report = rank_candidates(Coin(), data, verbose=0)
    assert report.result()["mrr"] == 1.0 and report.result()["count"] == 2
