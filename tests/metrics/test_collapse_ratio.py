import keras
import numpy as np
import pytest

import tests.testing as contract
from tests.losses.test_hinge_retrieval_loss import embeddings
from tests.losses.test_hinge_retrieval_loss import oracle
from tfcap.losses import HingeRetrievalLoss
from tfcap.metrics import CollapseRatio


def predicted(**arguments):
    images, texts = embeddings(**arguments)
    return images, texts, np.concatenate([images[:, None], texts], axis=1)


def test_is_the_loss_over_twice_the_margin_for_every_text():
    metric = CollapseRatio(HingeRetrievalLoss(margin=0.3, reduction="sum"))
    total, rows = 0.0, 0
    for seed in range(2):
        images, texts, outputs = predicted(rows=4 + seed, samples=2, seed=seed)
        metric.update_state(None, outputs)
        total += oracle(images, texts, 0.3).sum()
        rows += 2 * (4 + seed)
    wanted = total / (2 * 0.3 * rows)
    assert 0.1 < wanted < 10
    np.testing.assert_allclose(metric.result(), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("negatives", ["sum", "hardest", 0.5])
def test_is_one_where_all_is_embedded_alike_and_none_where_all_is_apart(
    negatives,
):
    metric = CollapseRatio(HingeRetrievalLoss(negatives=negatives))
    labels = np.array([0, 1, 1, 2, 3])
    alike = np.ones((5, 3, 1))
    alike[3, 2] = 0
    metric.update_state(labels, alike)
    np.testing.assert_allclose(metric.result(), 1, rtol=1e-5, atol=1e-6)
    metric.reset_state()
    metric.update_state(labels, np.repeat(np.eye(5)[:, None], 3, axis=1))
    assert metric.result() == 0


def test_absent_texts_take_no_part():
    loss = HingeRetrievalLoss()
    whole, part = CollapseRatio(loss), CollapseRatio(loss)
    *_, outputs = predicted(samples=2)
    whole.update_state(None, outputs)
    part.update_state(None, np.pad(outputs, ((0, 0), (0, 1), (0, 0))))
    np.testing.assert_allclose(whole.result(), part.result(), 1e-6, 1e-6)


def test_keeps_the_contract_of_a_metric():
    loss = HingeRetrievalLoss(negatives="sum")
    *_, outputs = predicted()
    contract.check_metric(lambda: CollapseRatio(loss), None, outputs)


def test_a_loss_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="`loss` must be.*Received: loss="):
        CollapseRatio(keras.losses.MeanSquaredError())
