"""What the losses of retrieval, and all losses, take and refuse."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.losses import test_bidirectional_contrastive_loss as contrastive
from tests.losses import test_hinge_retrieval_loss as hinge
from tests.losses.test_hinge_retrieval_loss import embeddings
from tests.losses.test_hinge_retrieval_loss import joined
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy
from tfcap.losses import bidirectional_contrastive_loss
from tfcap.losses import hinge_retrieval_loss
from tfcap.losses.masked_loss import one_pair_loss
from tfcap.models import RetrievalListener

#: Classes with their functions and their formulas as loops.
KINDS = {
    HingeRetrievalLoss: (hinge_retrieval_loss, hinge.oracle),
    BidirectionalContrastiveLoss: (
        bidirectional_contrastive_loss,
        contrastive.oracle,
    ),
}
RNG = np.random.default_rng(0)
PREDICTED = RNG.normal(size=(8, 2, 3)).astype("float32")


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_reads_images_texts_labels_and_weights(kind):
    images, texts = embeddings(6)
    texts[1, 2] = texts[4] = 0
    # They differ in more digits than float32 has.
    same = 4_385_058_960 + np.array([0, 1, 0, 2, 3, 4])
    mask, predicted = texts.any(axis=-1), joined(images, texts)
    wanted = KINDS[kind][1](images, texts, same=same, mask=mask)

    def loss(labels, *weights, **options):
        return kind(dtype="float64", **options)(labels, predicted, *weights)

    for labels in (same, same[:, None]):
        found = loss(labels, reduction=None)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss(same), wanted[mask].mean(), rtol=1e-6)
    weights = np.arange(6.0)
    total = (wanted * weights[:, None]).sum()
    found = loss(same, weights, reduction="sum")
    np.testing.assert_allclose(found, total, rtol=1e-6)


@pytest.mark.parametrize(
    "kind, options",
    [
        *((HingeRetrievalLoss, {"negatives": x}) for x in ("sum", "hardest")),
        *(
            (BidirectionalContrastiveLoss, {"decoupled": x, "siblings": True})
            for x in (True, False)
        ),
    ],
)
def test_a_row_alone_has_nothing_to_lose(kind, options):
    found = KINDS[kind][0](*embeddings(1, 1), **options)
    np.testing.assert_array_equal(found, [[0.0]])


@pytest.mark.parametrize(
    "kind, name, formula",
    [
        (HingeRetrievalLoss, "negatives", "hardness"),
        (BidirectionalContrastiveLoss, "temperature", "temperature"),
    ],
)
def test_a_variable_is_read_at_every_step(kind, name, formula):
    images, texts = embeddings()
    variable = keras.Variable(1.0, trainable=False)
    loss = kind(**{name: variable})
    graph = tf.function(lambda x: loss(None, x), autograph=False)
    for value in (1.0, 0.25):
        variable.assign(value)
        wanted = KINDS[kind][1](images, texts, **{formula: value}).mean()
        found = graph(joined(images, texts))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        assert loss.get_config()[name] == value


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_absent_may_be_anything(kind):
    images, texts = embeddings(6)
    more, mask = images[:4] + 0, np.ones(texts.shape[:2])
    mask[4] = mask[1, 2] = 0
    images[4], texts[mask == 0] = np.nan, np.nan
    options = {"mask": mask, "reduction": "sum"}
    if kind is BidirectionalContrastiveLoss:
        more[2] = np.nan
        options |= {"distractor_mask": np.array([1, 1, 0, 1])}
    tensors = [tf.constant(x) for x in (images, texts, more)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        *both, distractors = tensors
        value = KINDS[kind][0](*both, distractors=distractors, **options)
    assert np.isfinite(value)
    for slope in tape.gradient(value, tensors):
        assert np.isfinite(slope).all()


@pytest.mark.parametrize(
    "kind, name, value",
    [
        (HingeRetrievalLoss, "margin", 0.0),
        *((HingeRetrievalLoss, "negatives", x) for x in ("all", 1.5, None)),
        *(
            (HingeRetrievalLoss, "directions", x)
            for x in ((), "image", ("image", "word"))
        ),
        (BidirectionalContrastiveLoss, "temperature", 0.0),
        (BidirectionalContrastiveLoss, "directions", "text"),
        (BidirectionalContrastiveLoss, "combine", "max"),
    ],
)
def test_arguments_that_make_no_loss_are_refused(kind, name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be.*Received: {name}"):
        kind(**{name: value})
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        KINDS[kind][0](*embeddings(), **{name: value})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "labels, error, told",
    [
        (np.zeros(8), TypeError, "hold integers.*`fit.b"),
        (np.ones((8, 1), "float32"), TypeError, "hold integers.*`fit.b"),
        (np.ones(8, "int64"), ValueError, "distinguish images"),
        (np.ones((8, 1), "int64"), ValueError, "distinguish images"),
    ],
)
def test_labels_of_which_nothing_can_be_learned_are_refused(
    kind, labels, error, told
):
    with pytest.raises(error, match=f"`y_true` must {told}"):
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


@pytest.mark.parametrize(
    "call, told",
    [
        (
            lambda: one_pair_loss(zeros(4, 3), zeros(4, 3), zeros(4, 1, 3)),
            "`sample` must have the .* of `",
        ),
        (
            lambda: SequenceCrossentropy()(zeros(1, 5), zeros(4, 5, 7)),
            "`tokens` must have the .* of `",
        ),
        # One-hot labels.
        (
            lambda: SequenceCrossentropy()(zeros(1, 3, 6), zeros(1, 3, 6)),
            "`tokens` must have the axes of",
        ),
        *(
            (lambda kind=kind: kind()(None, zeros(4, 3)), "`y_pred` must have")
            for kind in KINDS
        ),
        (
            lambda: hinge_retrieval_loss(zeros(4, 3), zeros(5, 2, 3)),
            "`texts` must have the .* of `",
        ),
        (
            lambda: hinge_retrieval_loss(zeros(4, 3), zeros(4, 3)),
            r"`texts` must have shape \(B, S, D",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(call, told):
    with pytest.raises(ValueError, match=f"^{told}"):
        call()


@pytest.mark.parametrize(
    "loss, more, told",
    [
        (hinge_retrieval_loss, {"mask": zeros(4, 1)}, "the .* of `"),
        (hinge_retrieval_loss, {"same": zeros(1)}, "the .* of `"),
        (hinge_retrieval_loss, {"same": zeros(4, 4)}, "shape"),
        (hinge_retrieval_loss, {"distractors": zeros(9, 2)}, "the .* of `"),
        (
            bidirectional_contrastive_loss,
            {"distractors": zeros(4, 2, 3)},
            r"shape \(N, D",
        ),
        *(
            (bidirectional_contrastive_loss, {"rivals": zeros(*shape)}, told)
            for shape, told in (((3, 2, 3), "the .* of `"), ((4, 3), "shape"))
        ),
        (
            bidirectional_contrastive_loss,
            {"rival_mask": zeros(4, 1), "rivals": zeros(4, 2, 3)},
            "the .* of `",
        ),
    ],
)
def test_options_that_do_not_fit_are_named(loss, more, told):
    name = next(iter(more))
    with pytest.raises(ValueError, match=f"^`{name}` must have {told}"):
        loss(zeros(4, 3), zeros(4, 2, 3), **more)


def test_labels_of_distractors_come_with_labels():
    with pytest.raises(ValueError, match="`same` must be given"):
        bidirectional_contrastive_loss(
            *embeddings(), distractor_same=np.zeros(2)
        )


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
