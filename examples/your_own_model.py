"""Train a speaker of your own by published methods.

    python examples/your_own_model.py --out runs/own
    tensorboard --logdir runs/own     # the tab "Trade-off"

The speaker is a GRU with four methods; the data are a `padded_batch()` of
scenes, drawn at random, and captions that say some of what is in them. After
maximum likelihood it is trained by PSST with a listener, by self-critical
training, by sequence-level exploration, and with a frozen retriever. Stop it
with Ctrl-C or a kill at any time: the same command resumes exactly.
"""

import argparse
import itertools
import pathlib

import keras
import numpy as np
import tensorflow as tf

from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap import methods
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import SoftEmbedding
from tfcap.losses import HingeRetrievalLoss
from tfcap.models import RetrievalListener
from tfcap.rewards import CIDErD
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.training import Evaluator
from tfcap.training import Resume

SCENE = (
    ["one", "two", "three", "four"],
    ["red", "green", "blue", "white", "black"],
    ["cup", "dog", "boat", "tree", "kite"],
    ["left", "right", "above", "below"],
)
ADAM = keras.optimizers.Adam


class GRUSpeaker(keras.Model):
    """Any object with these attributes and methods is a speaker."""

    def __init__(self, vocabulary, units=128):
        super().__init__()
        self.vocabulary, self.vocabulary_size = vocabulary, vocabulary.size
        self.bos, self.eos = vocabulary.bos, vocabulary.eos
        self.image = keras.layers.Dense(units, "tanh")
        self.words = SoftEmbedding(vocabulary.size, units)
        self.cell = keras.layers.GRUCell(units)
        self.head = keras.layers.Dense(vocabulary.size)

    def begin(self, inputs, training=False):
        return self.image(inputs["image"][:, 0])

    def step(self, words, state, training=False):
        hidden, _ = self.cell(self.words(words), [state])
        return self.head(hidden), hidden

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        return inputs["caption"]

    def call(self, inputs, training=False):
        state = self.begin(inputs, training)
        return self.log_probs(state, self.references(inputs), training)


def draw(vocabulary, rng):
    """Scenes as vectors, and three captions that each leave something out."""
    for scene in rng.permutation(list(itertools.product(*SCENE))):
        image = np.concatenate([np.isin(v, w) for v, w in zip(SCENE, scene)])
        kept = rng.random((3, 4)) < (0.6, 0.7, 1.0, 0.5)
        captions = [list(scene[keep]) for keep in kept]
        yield {
            "image": (image + rng.normal(0, 0.1, image.shape))[None],
            "caption": vocabulary.encode_batch(captions, eos=True),
        }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default="runs/own")
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args(arguments)

    keras.utils.set_random_seed(0)
    vocabulary = Vocabulary(itertools.chain(*SCENE))
    rows = list(draw(vocabulary, np.random.default_rng(0)))
    shape = {"image": (1, 18), "caption": (3, None)}
    types = {"image": "float32", "caption": "int32"}
    signature = {k: tf.TensorSpec(shape[k], types[k]) for k in shape}
    data = tf.data.Dataset.from_generator(
        lambda: iter(rows), output_signature=signature
    ).cache()
    train, test = data.skip(100), data.take(100).padded_batch(50, shape)
    train = train.shuffle(300, seed=0).padded_batch(50, shape)

    speaker = GRUSpeaker(vocabulary)
    listener = RetrievalListener(vocabulary.size, 64, 64)
    fixed = RetrievalListener(vocabulary.size, 64, 64)
    for network in (speaker, listener, fixed):
        network(next(iter(test)))

    def fit(name, model, optimizer, epochs=options.epochs, **how):
        print(f"\n{name}", flush=True)
        model.compile(optimizer, **how)
        calls = [Resume(options.out / name / "checkpoints")]
        if model not in (listener, fixed):
            writer = TradeoffWriter(options.out / name / "points", name, seed=0)
            scores = Evaluator(
                *(speaker, test, listener),
                other_listeners={"fixed": fixed},
                writer=writer,
            )
            calls.append(scores)
        model.fit(train, epochs=epochs, callbacks=calls, verbose=2)

    for name, network in {"listener": listener, "fixed": fixed}.items():
        fit(name, network, ADAM(3e-3), loss=HingeRetrievalLoss())
    fit("mle", methods.mle(speaker), ADAM(3e-3))
    start = speaker.get_weights(), listener.get_weights()

    words = [[[vocabulary.tokens[i] for i in c if i > 3] for c in r["caption"]] for r in rows[100:]]
    cider = CIDErD(DocumentFrequencies.from_references(words, vocabulary), references="caption")
