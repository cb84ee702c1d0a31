"""Negatives of earlier batches, against one batch of all of them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.eager import run_eagerly
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import CrossBatchMemory
from tfcap.losses import bidirectional_contrastive_loss
from tfcap.models import RetrievalListener

RNG = np.random.default_rng(0)


def unit(*shape):
    vectors = RNG.normal(size=shape)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors.astype("float32")


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("directions", [("image",), ("image", "text")])
def test_losses_are_those_of_one_batch_of_new_and_remembered_rows(
    labelled, directions
):
    memory = CrossBatchMemory(5)
    options = {"directions": directions, "temperature": 0.5}
    loss = BidirectionalContrastiveLoss(
        memory=memory, reduction=None, decoupled=False, **options
    )
    # Rows in the order in which they are remembered, the latest first.
    past, numbers = np.zeros((0, 3, 4), "float32"), np.zeros(0, int)
    for rows in (2, 4, 3):
        batch, same = unit(rows, 3, 4), RNG.integers(-1, 3, rows)
        same[0] = -1
        batch[0, 2] = 0  # an absent text
        memory(batch, training=True)
        whole = np.concatenate([batch, past])
        alike = np.concatenate([same, numbers]) if labelled else None
        with tf.GradientTape(persistent=True) as tape:
            now = tf.constant(batch)
            tape.watch(now)
            found = loss(same if labelled else None, now)
            every = tf.concat([now, past], axis=0)
            expected = bidirectional_contrastive_loss(
                *(every[:, 0], every[:, 1:]),
                decoupled=False,
                same=alike,
                mask=np.any(whole[:, 1:], axis=-1),
                **options,
            )[:rows]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            tape.gradient(found, now),
            tape.gradient(expected, now),
            rtol=1e-4,
            atol=1e-5,
        )
        past, numbers = whole[:5], np.concatenate([same, numbers])[:5]
    held = memory.entries()
    np.testing.assert_array_equal(held["images"], past[:, 0])
    np.testing.assert_array_equal(held["texts"], past[:, 1:])
    if labelled:
        np.testing.assert_array_equal(held["numbers"], numbers)


def test_a_listener_remembers_in_training_and_goes_on_where_it_was(tmp_path):
    memory = CrossBatchMemory(6)
    listener = RetrievalListener(
        9, units=4, embedding_units=3, seed=0, memory=memory
    )
    batches = [
        {
            "image": RNG.normal(size=(3, 1, 5)).astype("float32"),
            "caption": RNG.integers(3, 9, (3, 2, 4)),
        }
        for _ in range(3)
    ]
    with run_eagerly():
        listener.compile(
            keras.optimizers.SGD(0.1),
            loss=BidirectionalContrastiveLoss(memory=memory),
        )
        alone = listener.test_on_batch(batches[0])
        first = listener.train_on_batch(batches[0])
        np.testing.assert_allclose(first, alone, rtol=1e-5)
        alone = listener.test_on_batch(batches[1])
        # More negatives, a greater loss.
        assert listener.train_on_batch(batches[1]) > alone
        held = np.array(memory.embeddings)
        assert np.all(np.any(held, axis=-1))
        listener.save(tmp_path / "listener.keras")
        again = keras.saving.load_model(tmp_path / "listener.keras")
        assert again.loss.memory is again.memory
        np.testing.assert_array_equal(again.memory.embeddings, held)
        # Neither read nor written where nothing trains.
        listener.test_on_batch(batches[2])
        np.testing.assert_array_equal(memory.embeddings, held)
        following = [x.train_on_batch(batches[2]) for x in (listener, again)]
        np.testing.assert_allclose(*following, rtol=1e-6)


def test_what_it_has_no_room_for_is_refused():
    with pytest.raises(ValueError, match="`embeddings` must have a known numb"):
        CrossBatchMemory(3).build((None, None, 4))
    loss = BidirectionalContrastiveLoss(memory=CrossBatchMemory(3))
    with pytest.raises(ValueError, match="`memory` must be called by the mod"):
        loss(None, unit(2, 2, 3))
