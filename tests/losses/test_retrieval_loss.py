"""Labels of retrieval losses from which nothing could be learned."""

import re

import numpy as np
import pytest
import tensorflow as tf

from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy
from tfcap.losses import bidirectional_contrastive_loss
from tfcap.losses import hinge_retrieval_loss
from tfcap.losses.masked_loss import one_pair_loss
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


def zeros(*shape):
    return np.zeros(shape, "float32")


@pytest.mark.parametrize("shape", [(4, 1), (1, 5), (4,), (4, 4), (4, 1, 5)])
def test_labels_are_one_for_every_score(shape):
    """Class indices (B, 1) would be labels that hold for all candidates."""
    with pytest.raises(ValueError, match=r"must have the (axes|N) of"):
        NPairLoss()(np.ones(shape, "int32"), zeros(4, 5))


MISFITS = {
    "sample": lambda: one_pair_loss(zeros(4, 3), zeros(4, 3), zeros(4, 1, 3)),
    "tokens": lambda: SequenceCrossentropy()(zeros(1, 5), zeros(4, 5, 7)),
    "texts": lambda: hinge_retrieval_loss(zeros(4, 3), zeros(5, 2, 3)),
    "mask": lambda: hinge_retrieval_loss(
        zeros(4, 3), zeros(4, 2, 3), mask=zeros(4, 1)
    ),
    "same": lambda: hinge_retrieval_loss(
        zeros(4, 3), zeros(4, 2, 3), same=np.zeros(1, "int32")
    ),
    "distractors": lambda: hinge_retrieval_loss(
        zeros(4, 3), zeros(4, 2, 3), distractors=zeros(9, 2)
    ),
    "rivals": lambda: bidirectional_contrastive_loss(
        zeros(4, 3), zeros(4, 2, 3), rivals=zeros(3, 2, 3)
    ),
    "rival_mask": lambda: bidirectional_contrastive_loss(
        zeros(4, 3),
        zeros(4, 2, 3),
        rivals=zeros(4, 2, 3),
        rival_mask=zeros(4, 1),
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_tensor_that_does_not_fit_the_others_is_named(name):
    with pytest.raises(ValueError, match=rf"^`{name}` must have the .* of `"):
        MISFITS[name]()


LOSSES = {
    "n pair": (NPairLoss(), np.eye(4, 5), zeros(4, 5)),
    "words": (
        SequenceCrossentropy("token"),
        np.ones((4, 5), "int32"),
        zeros(4, 5, 7),
    ),
    "hinge": (HingeRetrievalLoss(), None, zeros(4, 3, 2)),
    "contrastive": (BidirectionalContrastiveLoss(), None, zeros(4, 3, 2)),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(3,), (1,), (4, 9)])
def test_a_weight_is_of_a_row_or_of_a_value(name, shape):
    loss, y_true, y_pred = LOSSES[name]
    rule = re.escape("`sample_weight` must")
    with pytest.raises(ValueError, match=rule):
        loss(y_true, y_pred, sample_weight=zeros(*shape))
