import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.losses.test_hinge_retrieval_loss import check_slopes
from tests.losses.test_hinge_retrieval_loss import embeddings
from tests.losses.test_hinge_retrieval_loss import joined
from tests.losses.test_hinge_retrieval_loss import unit
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import bidirectional_contrastive_loss

OPTIONS = [
    {},
    {"combine": "sum", "siblings": True},
    {"directions": ("image",)},
    {"directions": ("text",), "siblings": True, "decoupled": False},
    {"decoupled": False, "temperature": 0.5},
]


def oracle(
    images,
    texts,
    temperature=0.07,
    directions=("image", "text"),
    combine="mean",
    decoupled=True,
    siblings=False,
    rivals=None,
    rival_mask=None,
    distractors=(),
    distractor_same=None,
    same=None,
    mask=None,
):
    """Loops over equation 2 of the paper, as a loss."""
    rows, samples = texts.shape[:2]
    mask = np.ones((rows, samples)) if mask is None else mask
    same = -1 - np.arange(rows) if same is None else same
    named = -np.ones(len(distractors))
    named = named if distractor_same is None else distractor_same
    pool = [
        (c, k, texts[c, k]) for c, k in np.ndindex(rows, samples) if mask[c, k]
    ]
    if rivals is not None:
        for c, k in np.ndindex(rivals.shape[:2]):
            if rival_mask is None or rival_mask[c, k]:
                pool.append((c, samples + k, rivals[c, k]))

    def alike(b, number):
        return same[b] >= 0 and same[b] == number

    losses = np.zeros((rows, samples))
    for b, s in np.ndindex(rows, samples):
        if not mask[b, s]:
            continue
        others = {
            "image": [
                images[c] @ texts[b, s]
                for c in range(rows)
                if c != b and mask[c].any() and not alike(b, same[c])
            ]
            + [
                x @ texts[b, s]
                for x, number in zip(distractors, named)
                if not alike(b, number)
            ],
            "text": [
                images[b] @ x
                for c, k, x in pool
                if (c, k) != (b, s)
                and (siblings or (c != b and not alike(b, same[c])))
            ],
        }
        truth = np.exp(images[b] @ texts[b, s] / temperature)
        for direction in directions:
            total = np.exp(np.array(others[direction]) / temperature).sum()
            if not decoupled:
                total += truth
            if total:
                losses[b, s] -= np.log(truth / total)
    return losses / (len(directions) if combine == "mean" else 1)


def everything():
    """Embeddings with all that a batch may hold."""
    images, texts = embeddings(6)
    rng = np.random.default_rng(7)
    rivals = unit(images[:, None] + rng.normal(size=(6, 2, 4)))
    mask, rival_mask = np.ones((6, 3)), np.ones((6, 2))
    mask[1, 2] = mask[4] = rival_mask[0, 1] = rival_mask[4] = 0
    return images, {
        "texts": texts,
        "rivals": rivals,
        "mask": mask,
        "rival_mask": rival_mask,
        "distractors": unit(rng.normal(size=(4, 4))),
        "distractor_same": np.array([9, 3, 7, -1]),
        "same": np.array([7, 3, 7, -1, -1, 5]),
    }


@pytest.mark.parametrize("options", OPTIONS)
def test_equals_a_loop_over_the_formula(options):
    images, texts = embeddings()
    found = bidirectional_contrastive_loss(images, texts, **options)
    wanted = oracle(images, texts, **options)
    assert found.shape == (5, 3) and np.ptp(wanted) > 0.1
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS)
def test_pools_masks_and_twins_by_the_loop(options):
    images, batch = everything()
    wanted = oracle(images, **batch, **options)
    plain = oracle(images, batch["texts"], **options)
    assert (np.abs(wanted - plain)[batch["mask"] > 0] > 1e-3).any()
    batch["texts"][batch["mask"] == 0] = np.nan
    batch["rivals"][batch["rival_mask"] == 0] = np.inf
    found = bidirectional_contrastive_loss(images, **batch, **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS[:4:3])
def test_gradients_by_finite_differences(options):
    images, batch = everything()
    names = ("texts", "rivals", "distractors")

    def given(function, **more):
        return lambda images, *arrays: function(
            images, **{**batch, **dict(zip(names, arrays))}, **options, **more
        )

    check_slopes(
        given(bidirectional_contrastive_loss, reduction="sum"),
        given(oracle),
        [images, *map(batch.get, names)],
        lambda x: {2: [(0, 0), (2, 1)], 3: [(0, 1, 2), (3, 0, 1)]}[x.ndim],
    )


def test_without_decoupling_it_is_the_loss_of_clip():
    images, texts = embeddings(8, 1)
    loss = BidirectionalContrastiveLoss(0.1, decoupled=False)
    logits = images @ texts[:, 0].T / 0.1
    wanted = sum(
        keras.losses.sparse_categorical_crossentropy(
            np.arange(8), scores, from_logits=True
        ).numpy()
        for scores in (logits, logits.T)
    )
    np.testing.assert_allclose(
        loss(None, joined(images, texts)), wanted.mean() / 2, rtol=1e-6
    )


def test_at_small_temperatures_the_best_rival_is_the_baseline():
    images, texts = embeddings()
    found = -1e-4 * bidirectional_contrastive_loss(
        images, texts, 1e-4, ("text",), siblings=True
    )
    scores = np.einsum("bd,csd->bcs", images, texts).reshape(5, -1)
    for b, s in np.ndindex(5, 3):
        others = np.delete(scores[b], 3 * b + s)
        wanted = scores[b, 3 * b + s] - others.max()
        assert abs(found[b, s] - wanted) < 1e-3


def test_released_code_overflows_where_this_does_not():
    # Unshifted sums of exp(100 * cosine) pass float32 at cosines of 0.89.
    image = np.eye(2, 4, dtype="float32")
    texts = np.stack([image, image], axis=1)
    for dtype in ("float16", "bfloat16", "float32"):
        loss = bidirectional_contrastive_loss(
            tf.cast(image, dtype), tf.cast(texts, dtype), 0.01, siblings=True
        )
        assert loss.dtype == "float32"
        # The twin of each text, and an image that is 100 lower.
        np.testing.assert_allclose(
            loss, np.full((2, 2), -50.0), rtol=1e-5, atol=1e-6
        )
