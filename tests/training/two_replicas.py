"""Training on two replicas ends in the weights of one.

Run by `tests/two_replicas.py`.
"""

import contextlib

import keras
import numpy as np
import tensorflow as tf

from tests import dialogs
from tests import tiny
from tests.eager import run_eagerly
from tfcap.decoding import Sample
from tfcap.layers import WordChannel
from tfcap.losses import EmbeddingNorm
from tfcap.losses import NPairLoss
from tfcap.models import RetrievalListener
from tfcap.objectives import Pathwise
from tfcap.objectives import TeacherForcing
from tfcap.objectives.discriminator_loss import rank_with_fakes
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import DialogScore
from tfcap.rewards import Retrieval
from tfcap.training import ClippedAdam
from tfcap.training import JointTraining
from tfcap.training import Learner


# Not Adam: where a gradient is 0 but for float error, it steps all the same.
def fit(model, callbacks=(), **negatives):
    data = dialogs.batches(**negatives).dataset()
    options = {"shuffle": False, "verbose": 0, "callbacks": [*callbacks]}
    return model.fit(data, **options).history


class Whole(WordChannel):
    """Passes whole distributions, and ends without chance."""

    def draw(self, logits):
        words = keras.ops.softmax(logits, axis=-1)
        return words, keras.ops.argmax(logits, axis=-1)


def supervised():
    """Losses with a penalty that replicas have in common, and weights."""
    discriminator = dialogs.discriminator()
    discriminator.norm_regularizer = EmbeddingNorm(1.0, "squared")
    # With such an epsilon, a gradient that is 0 but for float error stays so.
    optimizer = ClippedAdam(0.1, epsilon=1.0, global_clipnorm=0.05)
    discriminator.compile(optimizer, loss=NPairLoss(), jit_compile=False)
    history = fit(discriminator, negatives=3, in_batch_negatives=2)
    return [np.array(history["loss"]), *discriminator.get_weights()]


def game():
    generator, discriminator = dialogs.generator(), dialogs.discriminator()
    sample = Sample(Whole(), max_length=3, feedback="relaxed")
    term = 10.0 * Pathwise(DialogScore(discriminator), sample)
    fakes = SupervisedLoss(
        rank_with_fakes(discriminator, sample), "n", (sample,)
    )
    model = JointTraining(
        generator,
        {
            "g": Learner(generator, term, 0.5),
            "d": Learner(discriminator, fakes),
        },
    )
    averaging = {"use_ema": True, "ema_momentum": 0.5}
    model.compile({n: keras.optimizers.SGD(0.3, **averaging) for n in "gd"})
    callbacks = (
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2),
        keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
    )
    fit(model, callbacks, negatives=3)
    return generator.get_weights() + discriminator.get_weights()


def captions():
    """Images with captions; the batches of either replica differ."""
    rng = np.random.default_rng(0)
    references = rng.integers(2, 5, (12, 1, 3)).astype("int32")
    data = {
        "rows": np.zeros((12, 1), "float32"),
        "image": rng.normal(size=(12, 2, 4)).astype("float32"),
        "references": references,
    }
    return tf.data.Dataset.from_tensor_slices(data).batch(4)


class Seeing(tiny.TableSpeaker):
    """Says other things of other images, and seldom nothing."""

    def begin(self, inputs, training=False):
        seen = np.random.default_rng(3).normal(size=(4, tiny.VOCABULARY))
        seen = keras.ops.mean(inputs["image"], axis=1) @ seen.astype("float32")
        return [2.0 * seen - np.eye(tiny.VOCABULARY, dtype="float32")[tiny.EOS]]

    def step(self, words, state, training=False):
        logits, state = super().step(words, state, training)
        return logits + state[0], state


def cooperative(optimizer=keras.optimizers.SGD):
    """A speaker and a listener that learn from one reward."""
    speaker, sample = Seeing(0), Sample(Whole(), max_length=3)
    table = keras.initializers.RandomNormal(stddev=1.0)
    listener = RetrievalListener(
        tiny.VOCABULARY, 6, 4, embeddings_initializer=table, name="listener"
    )
    batch = next(iter(captions()))
    listener({"image": batch["image"], "caption": batch["references"]})
    term = Pathwise(Retrieval(listener, margin=1.0), sample)
    objective = term + 0.5 * TeacherForcing()
    learners = {
        name: Learner(network, objective, 0.5)
        for name, network in (("speaker", speaker), ("listener", listener))
    }
    model = JointTraining(speaker, learners)
    model.compile({name: optimizer(0.1) for name in learners})
    before = speaker.get_weights() + listener.get_weights()
    model.fit(captions(), shuffle=False, verbose=0)
    after = speaker.get_weights() + listener.get_weights()
    if not all((a != b).any() for a, b in zip(before, after)):
        raise SystemExit("cooperative: some weights did not move")
    return after


def clipped():
    """One update of a batch, and two, whose gradient is clipped."""
    speakers = Seeing(0), Seeing(0)
    models = [
        JointTraining(
            speaker,
            {"g": Learner(speaker, TeacherForcing("token"), 0.3)},
            updates_per_rollout=updates,
        )
        for speaker, updates in zip(speakers, (1, 2))
    ]
    for model in models:
        model.compile(keras.optimizers.Adam(1.0, epsilon=1.0))
        model.fit(captions(), shuffle=False, verbose=0)
        if (model.speaker.get_weights()[0] == Seeing(0).get_weights()[0]).all():
            raise SystemExit("clipped: the weights did not move")
    return [w for speaker in speakers for w in speaker.get_weights()]


def evaluated():
    """What is logged of batches of which the last is smaller, and uneven."""
    data = captions().unbatch().take(11).batch(4)
    models = []
    for term in (TeacherForcing("token"), TeacherForcing()):
        models.append(JointTraining(Seeing(0), term))
    for model in models:
        model.compile(keras.optimizers.SGD())
    return [np.array(model.evaluate(data, verbose=0)) for model in models]


def scaled():
    """With a loss that is scaled, by more after two steps."""
    growing = {"initial_scale": 8.0, "dynamic_growth_steps": 2}
    return cooperative(
        lambda rate: keras.optimizers.LossScaleOptimizer(
            keras.optimizers.SGD(rate), **growing
        )
    )


def compare(train, strategy, mode=contextlib.nullcontext, tolerance=2e-6):
    keras.utils.set_random_seed(1)
    with run_eagerly():
        expected = train()
    keras.utils.set_random_seed(1)
    with strategy.scope(), mode():
        found = train()
    gap = max(np.abs(a - b).max() for a, b in zip(expected, found))
    print(f"{train.__name__}: largest difference of a weight {gap:.1e}")
    if not gap < tolerance:
        raise SystemExit(f"{train.__name__}: weights differ by {gap}")


def check_all(strategy):
    # Graphs of dialogs take long to trace, and those of captions are like them.
    for train in (supervised, game):
        compare(train, strategy, run_eagerly)
    compare(cooperative, strategy)
    compare(clipped, strategy)
    compare(evaluated, strategy)
    # Half precision rounds the sums of two parts and of one differently.
    keras.config.set_dtype_policy("mixed_float16")
    try:
        compare(scaled, strategy, tolerance=1e-3)
    finally:
        keras.config.set_dtype_policy("float32")
