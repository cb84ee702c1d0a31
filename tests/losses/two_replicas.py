"""Losses and metrics on two replicas, absent rows spread unevenly.

Run by `tests/two_replicas.py`.
"""

import keras
import numpy as np
import tensorflow as tf

from tests.eager import run_eagerly
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy
from tfcap.losses.contrastive_loss import contrast_effects
from tfcap.losses.embedding_norm import embedding_norm
from tfcap.losses.retrieval_loss import RetrievalLoss
from tfcap.losses.retrieval_loss import hinge_effects
from tfcap.metrics import CollapseRatio

ABSENT = [-1, -1, -1]
LABELS = np.array([[1, 0, 0], [0, 1, 0], ABSENT, ABSENT, ABSENT, [0, 0, 1]])
TOKENS = np.array(
    [[3, 4, 2], [5, 2, 0], [2, 0, 0], [2, 0, 0], [0, 0, 0], [0, 0, 0]]
)
SAME = np.array([0, 1, 2, 1, -1, -1])
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(6, 3)).astype("float32")
LOGITS = RNG.normal(size=(6, 3, 6)).astype("float32")


def sets():
    """Name to loss, inputs, labels and metrics."""
    sums = HingeRetrievalLoss(negatives="sum", reduction="sum")
    hardest = HingeRetrievalLoss(negatives="hardest")
    contrast = BidirectionalContrastiveLoss(
        *(0.5, ("image", "text"), "mean", True, True),
        reduction="sum",
    )
    return {
        "pairs": (NPairLoss(), SCORES, LABELS, []),
        "sequences": (SequenceCrossentropy("sequence"), LOGITS, TOKENS, []),
        "tokens": (SequenceCrossentropy("token"), LOGITS, TOKENS, []),
        "sums": (sums, LOGITS, SAME, [CollapseRatio(sums)]),
        "hardest": (hardest, LOGITS, SAME, [CollapseRatio(hardest)]),
        "contrast": (contrast, LOGITS, SAME, []),
    }


def fitted():
    """Trains for three steps; returns weights, and what evaluation says.

    Every loss has an input and weights of its own, in one graph.
    """
    made, inputs, outputs = sets(), {}, {}
    for name, (loss, array, *_) in made.items():
        inputs[name] = keras.Input(array.shape[1:], name=name)
        dense = keras.layers.Dense(
            array.shape[-1], kernel_initializer="identity"
        )
        outputs[name] = dense(inputs[name])
        if isinstance(loss, RetrievalLoss):
            # Losses of longer vectors run away.
            outputs[name] = keras.layers.UnitNormalization()(outputs[name])
    model = keras.Model(inputs, outputs)
    model.compile(
        keras.optimizers.SGD(0.5),
        loss={name: parts[0] for name, parts in made.items()},
        metrics={name: parts[3] for name, parts in made.items()},
    )
    arrays = [
        {name: parts[place] for name, parts in made.items()} for place in (1, 2)
    ]
    data = tf.data.Dataset.from_tensor_slices(tuple(arrays)).batch(6)
    history = model.fit(data, epochs=3, shuffle=False, verbose=0).history
    said = model.evaluate(data, verbose=0, return_dict=True)
    return model.get_weights(), history, said


def check(strategy):
    with strategy.scope():
        two = fitted()
    with run_eagerly():
        one = fitted()
    keys = set(one[2])
    assert {f"{name}_loss" for name in sets()} < keys and len(keys) == 9, keys
    for a, b in zip(
        keras.tree.flatten(two), keras.tree.flatten(one), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def check_norm(strategy, convention):
    """The penalty of rows that are spread unevenly over the replicas."""
    mask = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0]] + [[0, 0, 1]] * 3)

    def slope(rows, mask, replicas=1):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            norm = embedding_norm(rows, 0.5, convention, mask) / replicas
        return norm, tape.gradient(norm, rows)

    def half(context):
        place = context.replica_id_in_sync_group
        own = slice(3 * place, 3 * place + 3)
        return slope(tf.constant(LOGITS[own]), mask[own], replicas=2)

    halves = strategy.run(lambda: half(tf.distribute.get_replica_context()))
    norms, slopes = map(strategy.experimental_local_results, halves)
    norm, slopes_of_one = slope(tf.constant(LOGITS), mask)
    np.testing.assert_allclose(sum(norms), norm, rtol=1e-6)
    np.testing.assert_allclose(np.concatenate(slopes), slopes_of_one, rtol=1e-5)


def check_effects(strategy):
    """Effects of texts on those of other replicas, three rows to one's one."""
    images = RNG.normal(size=(4, 5)).astype("float32")
    texts = RNG.normal(size=(4, 2, 5)).astype("float32")
    mask = np.array([[1, 1], [1, 0], [0, 1], [1, 1]])
    same = np.array([0, 1, 0, 2])

    def effects(images, texts, mask, same):
        return (
            hinge_effects(images, texts, 0.3, 0.4, same, mask),
            contrast_effects(
                images, texts, 0.5, True, True, same=same, mask=mask
            ),
        )

    def shared(array):
        parts = array[:3], array[3:]
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(parts[context.replica_id_in_sync_group])
        )

    arrays = images, texts, mask, same
    graph = tf.function(
        lambda *x: strategy.run(effects, args=x), autograph=False
    )
    parts = graph(*map(shared, arrays))
    for found, whole in zip(parts, effects(*map(tf.constant, arrays))):
        found = np.concatenate(strategy.experimental_local_results(found))
        assert np.abs(whole).max() > 0.1
        np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6)


def check_config(strategy, kind, name):
    """A variable's value stands in the config, however many replicas it has."""
    with strategy.scope():
        value = keras.Variable(0.25, trainable=False)
        assert kind(**{name: value}).get_config()[name] == 0.25


def check_all(strategy):
    check(strategy)
    check_norm(strategy, "squared")
    check_norm(strategy, "frobenius")
    check_effects(strategy)
    check_config(strategy, HingeRetrievalLoss, "negatives")
    check_config(strategy, BidirectionalContrastiveLoss, "temperature")
