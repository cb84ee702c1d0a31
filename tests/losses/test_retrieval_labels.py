"""Labels of retrieval losses from which nothing could be learned."""

import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.models import RetrievalListener

KINDS = (HingeRetrievalLoss, BidirectionalContrastiveLoss)
RNG = np.random.default_rng(0)
PREDICTED = RNG.normal(size=(8, 2, 3)).astype("float32")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [np.zeros(8), np.ones((8, 1), "float32")])
def test_numbers_that_are_no_integers_are_refused(kind, labels):
    with pytest.raises(TypeError, match="`y_true` must hold integers.*`fit.b"):
        kind()(labels, PREDICTED)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(8,), (8, 1)])
def test_one_number_for_all_rows_is_refused(kind, shape):
    labels = np.ones(shape, "int64")
    with pytest.raises(ValueError, match="`y_true` must distinguish images"):
        kind()(labels, PREDICTED)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "labels",
    [[0] * 7 + [1], [-1] * 8, [0, 0, 0], [*range(8)]],
    ids=["one other", "all differ", "a last batch", "numbered"],
)
def test_labels_that_tell_rows_apart_are_read(kind, labels):
    labels = np.array(labels)
    loss = kind()(labels, PREDICTED[: len(labels)])
    assert np.isfinite(loss) and (len(labels) == 3 or loss != 0)


@pytest.mark.parametrize(
    "labels, error, rule",
    [
        (np.zeros(8), TypeError, "must hold integers"),
        (
            np.zeros(8, "int32"),
            tf.errors.InvalidArgumentError,
            "must distinguish images",
        ),
    ],
)
def test_a_fit_that_would_train_nothing_says_so(labels, error, rule):
    listener = RetrievalListener(9, units=3, embedding_units=2)
    listener.compile("sgd", HingeRetrievalLoss())
    batch = {
        "image": RNG.normal(size=(8, 1, 3)).astype("float32"),
        "caption": RNG.integers(3, 9, (8, 1, 2)),
    }
    with pytest.raises(error, match=rule):
        listener.fit(batch, labels, batch_size=8, verbose=0)
