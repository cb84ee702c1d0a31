"""Train a speaker of your own by published methods.

    python examples/your_own_model.py --out runs/own
    tensorboard --logdir runs/own     # the tab "Trade-off"

The speaker is a GRU with four methods; the data are scenes, drawn at random,
with captions that leave something out. After maximum likelihood, the speaker is
trained by PSST with a listener, by self-critical training, by sequence-level
exploration, and with a frozen retriever. After Ctrl-C or a kill, the same
command resumes exactly.
"""

import argparse
import itertools
import pathlib

import keras
import numpy as np
import tensorflow as tf

import tfcap
from tensorboard_plugin_tfcap.summary import TradeoffWriter

WORDS = "one two three four, red green blue white black, " + (
    "cup dog boat tree kite, left right above below"
)
SCENE = [words.split() for words in WORDS.split(",")]
SCORES = ("cider_d", "r@1", "fixed_r@1")
ADAM = keras.optimizers.Adam


class GRUSpeaker(keras.Model):
    """Any object with these attributes and methods is a speaker."""

    def __init__(self, vocabulary, units=128):
        super().__init__()
        self.vocabulary, self.vocabulary_size = vocabulary, vocabulary.size
        self.bos, self.eos = vocabulary.bos, vocabulary.eos
        self.image = keras.layers.Dense(units, "tanh")
        self.words = tfcap.layers.SoftEmbedding(
            vocabulary.size, units, mask_zero=False
        )
        self.cell = keras.layers.GRUCell(units)
        self.head = keras.layers.Dense(vocabulary.size)

    def begin(self, inputs, training=False):
        return self.image(inputs["image"][:, 0])

    def step(self, words, state, training=False):
        hidden, _ = self.cell(self.words(words), state)
        return self.head(hidden), hidden

    def log_probs(self, state, tokens, training=False):
        return tfcap.decoding.stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        return inputs["caption"]

    def call(self, inputs):
        return self.log_probs(self.begin(inputs), self.references(inputs))


def draw(vocabulary, rng):
    """Draws images (400, 1, 18) and captions (400, 3, T)."""
    scenes = rng.permutation(list(itertools.product(*SCENE)))
    images = np.array([[np.isin(sum(SCENE, []), scene)] for scene in scenes])
    kept = rng.random((400, 3, 4)) < (0.6, 0.7, 1.0, 0.5)
    captions = [list(s[k]) for s, keep in zip(scenes, kept) for k in keep]
    tokens = vocabulary.encode_batch(captions, eos=True).reshape(400, 3, -1)
    return {"image": images.astype("float32"), "caption": tokens}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default="runs/own")
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(0)
    vocabulary = tfcap.text.Vocabulary(sum(SCENE, []))
    scenes = draw(vocabulary, np.random.default_rng(0))
    data = tf.data.Dataset.from_tensor_slices(scenes)
    test = data.take(100).batch(50)
    train = data.skip(100).shuffle(300, seed=0).batch(50)
    speaker = GRUSpeaker(vocabulary)
    kind = tfcap.models.RetrievalListener
    listener, fixed = (kind(vocabulary.size, 64, 64) for _ in "12")
    for network in (speaker, listener, fixed):
        network(next(iter(test)))

    def fit(name, model, loss=None, **optimizers):
        print(f"\n{name}", flush=True)
        model.compile(optimizers or ADAM(3e-3), loss=loss)
        resume = tfcap.training.Resume(options.out / name / "checkpoints")
        evaluator = tfcap.training.Evaluator(
            *(speaker, test, listener),
            other_listeners={"fixed": fixed},
            names=SCORES,
            writer=TradeoffWriter(options.out / name / "points", name),
        )
        callbacks = [resume] if loss else [evaluator, resume]
        model.fit(train, epochs=options.epochs, callbacks=callbacks, verbose=2)
        return evaluator().result()

    for name, network in {"listener": listener, "fixed": fixed}.items():
        fit(name, network, tfcap.losses.HingeRetrievalLoss())
    results = {"mle": fit("mle", tfcap.methods.mle(speaker))}
    learned = speaker.get_weights(), listener.get_weights()
    count = tfcap.text.DocumentFrequencies.from_references
    cider = tfcap.rewards.CIDErD(
        count(scenes["caption"][100:], vocabulary), references="caption"
    )
    how = {"max_length": 6, "seed": 0}
    psst = {"lambda_": 0.01, "naturalness": cider, **how}
    wtf_rl = {"alpha": 1.0, "temperature": 0.1, "max_length": 6}
    trained = {
        "psst": lambda: tfcap.methods.psst(speaker, listener, **psst),
        "scst": lambda: tfcap.methods.scst(speaker, cider, **how),
        "sll_sle": lambda: tfcap.methods.sll_sle(speaker, cider, **how),
        "wtf_rl": lambda: tfcap.methods.wtf_rl(speaker, fixed, **wtf_rl),
    }
    for name, method in trained.items():
        speaker.set_weights(learned[0])
        listener.set_weights(learned[1])
        optimizers = {"speaker": ADAM(1e-3), "listener": ADAM(1e-3)}
        if name != "psst":
            optimizers.pop("listener")
        results[name] = fit(name, method(), **optimizers)
    for name, found in results.items():
        print(name, *(f"{score} {found[score]:.3g}" for score in SCORES))
    return results


if __name__ == "__main__":
    main()
