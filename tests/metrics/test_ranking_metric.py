"""The Keras metrics against the NumPy ones, and what all of them keep."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.metrics import NDCG
from tfcap.metrics import MeanRank
from tfcap.metrics import MeanReciprocalRank
from tfcap.metrics import RecallAtK
from tfcap.metrics import candidate_ranks
from tfcap.metrics import mean_rank
from tfcap.metrics import mean_reciprocal_rank
from tfcap.metrics import ndcg
from tfcap.metrics import recall_at_k
from tfcap.metrics.ranking import tied_rank

RNG = np.random.default_rng(0)
# Whole numbers, so that there are ties.
SCORES = RNG.integers(9, size=(8, 3, 12)).astype("float32")
TRUTH = RNG.integers(-1, 12, size=(8, 3))
LABELS = np.eye(13, dtype="int32")[TRUTH][..., :12]
LABELS[TRUTH < 0] = -1
RELEVANCE = np.maximum(0, RNG.integers(-4, 4, size=SCORES.shape)) / 4
RELEVANCE[0, 0] = 0
RANKS = candidate_ranks(SCORES, TRUTH)
CASES = {
    "mrr": (MeanReciprocalRank(name="x"), LABELS, mean_reciprocal_rank(RANKS)),
    "recall": (RecallAtK(5), LABELS, recall_at_k(RANKS, 5)),
    "rank": (MeanRank(dtype="float32"), LABELS, mean_rank(RANKS)),
    "ndcg": (NDCG(), RELEVANCE, np.nanmean(ndcg(SCORES, RELEVANCE))),
}


@pytest.fixture(params=CASES)
def case(request):
    metric, labels, wanted = CASES[request.param]
    metric.reset_state()
    return metric, labels, wanted


def test_the_truth_is_marked_by_a_one():
    assert ((LABELS == 1).sum(-1) == (TRUTH >= 0)).all()


def test_batches_add_up_to_the_numpy_value(case):
    metric, labels, wanted = case
    metric.update_state(labels[:3], SCORES[:3])
    metric.update_state(labels[3:], SCORES[3:])
    np.testing.assert_allclose(metric.result(), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_graphs_of_unknown_batch_size_give_the_same(case, jit):
    metric, labels, wanted = case
    signature = [
        tf.TensorSpec([None, 3, 12], "float32"),
        tf.TensorSpec([None, 3, 12], "float32"),
    ]
    update = tf.function(
        metric.update_state,
        input_signature=signature,
        jit_compile=jit,
        autograph=False,
    )
    update(labels[:1].astype("float32"), SCORES[:1])
    update(labels[1:].astype("float32"), SCORES[1:])
    np.testing.assert_allclose(metric.result(), wanted, rtol=1e-6, atol=1e-6)


def test_weights_of_rows_and_dialogs(case):
    metric, labels, _ = case
    metric.update_state(labels, SCORES, np.arange(8) < 5)
    weighted = float(metric.result())
    metric.reset_state()
    metric.update_state(labels[:5], SCORES[:5])
    np.testing.assert_allclose(weighted, metric.result(), rtol=1e-6, atol=1e-6)
    metric.reset_state()
    metric.update_state(labels, SCORES, np.zeros((8, 3)))
    assert float(metric.result()) == 0.0


def test_ignored_candidates_may_score_anything(case):
    metric, labels, wanted = case
    more = np.concatenate([labels, np.full((8, 3, 1), -1)], axis=-1)
    wild = np.full((8, 3, 1), np.nan, "float32")
    metric.update_state(more, np.concatenate([SCORES, wild], axis=-1))
    np.testing.assert_allclose(metric.result(), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("place", [0, 4])
def test_a_nan_score_is_not_hidden(case, place):
    metric, labels, _ = case
    scores = SCORES.copy()
    row = np.argwhere(labels.max(-1) > 0)[0]
    scores[tuple(row)][place] = np.nan
    metric.update_state(labels, scores)
    assert np.isnan(metric.result())


def test_config_round_trip_through_json(case):
    metric, _, _ = case
    config = keras.saving.serialize_keras_object(metric)
    assert config["registered_name"].startswith("tfcap>")
    again = keras.saving.deserialize_keras_object(
        json.loads(json.dumps(config))
    )
    assert again.get_config() == metric.get_config()


def test_metrics_of_a_compiled_model_survive_saving(tmp_path):
    inputs = keras.Input((3, 12))
    outputs = keras.layers.Rescaling(1.0)(inputs)
    model = keras.Model(inputs, outputs)
    model.compile(
        loss="mse", metrics=[MeanReciprocalRank(), RecallAtK(1), RecallAtK(5)]
    )
    before = model.evaluate(SCORES, LABELS, verbose=0, return_dict=True)
    model.save(tmp_path / "model.keras")
    model = keras.saving.load_model(tmp_path / "model.keras")
    again = model.evaluate(SCORES, LABELS, verbose=0, return_dict=True)
    assert again == before
    np.testing.assert_allclose(
        before["recall_at_5"], recall_at_k(RANKS, 5), rtol=1e-6, atol=1e-6
    )


def test_a_recall_below_one_is_refused():
    with pytest.raises(ValueError, match="`k` must be at least 1"):
        RecallAtK(0)


def test_unequal_shapes_are_refused(case):
    with pytest.raises(ValueError, match="must have the axes"):
        case[0].update_state(np.zeros((2, 4)), np.zeros((2, 3, 4)))


@pytest.mark.parametrize("metric", [MeanRank(), NDCG()])
def test_any_number_of_candidates_is_traced(metric):
    unknown = [tf.TensorSpec([None, None], "float32")] * 2
    update = tf.function(metric.update_state, input_signature=unknown)
    results = []
    for run in (update, metric.update_state):
        metric.reset_state()
        for count in (3, 5):
            labels = np.eye(2, count, dtype="float32")
            run(labels, np.arange(2.0 * count).reshape(2, -1).astype("float32"))
        results.append(float(metric.result()))
    assert results[0] == pytest.approx(results[1])


def test_of_several_truths_the_best_counts():
    labels, scores = [[1, 1, 0, 0]], [[-3.0, -4.0, -5.0, -6.0]]
    behind = [[1, 0, 1, 0]], [[-0.9, -1.0, -0.8, -2.0]]
    last = [[1, 0, 1, 0]], [[-0.9, -0.7, -0.8, -0.6]]
    metric = MeanRank()
    for found, wanted in (((labels, scores), 1), (behind, 1), (last, 3)):
        metric.reset_state()
        metric.update_state(*found)
        assert float(metric.result()) == wanted


@pytest.mark.parametrize(
    "scores, better, equal, best",
    [
        ([0.0] * 4, 0, 2, 2),
        ([1.0, 0, 1, 2], 1, 1, 1),
        ([1.0, 1, 1, 2], 1, 1, 2),
    ],
)
def test_several_truths_that_tie_have_the_rank_that_others_give_them(
    scores, better, equal, best
):
    metric = MeanRank()
    metric.update_state([[1, 1, 0, 0]], [scores])
    wanted = tied_rank(better, equal, "mean", best)
    assert float(metric.result()) == pytest.approx(wanted)
