"""Train a speaker of your own by published methods.

    python examples/your_own_model.py --out runs/own
    tensorboard --logdir runs/own     # the tab "Trade-off"

The speaker is a GRU with four methods; the data are scenes, drawn at random,
with captions that leave something out. After Ctrl-C or a kill, the same command
resumes exactly.
"""

import argparse

import keras
import numpy as np

import tfcap
from tensorboard_plugin_tfcap.summary import TradeoffWriter

WORDS = """one two three four, red green blue white black,
           cup dog boat tree kite, left right above below"""
SCENE = [words.split() for words in WORDS.split(",")]
SCORES = ("cider_d", "r@1", "fixed_r@1")


class GRUSpeaker(keras.Model):
    """Any object with these attributes and methods is a speaker."""

    def __init__(self, vocabulary, units=128):
        super().__init__()
        self.vocabulary, self.vocabulary_size = vocabulary, vocabulary.size
        self.bos, self.eos = vocabulary.bos, vocabulary.eos
        self.image = keras.layers.Dense(units, "tanh")
        size = vocabulary.size
        self.words = tfcap.layers.SoftEmbedding(size, units, mask_zero=False)
        self.cell = keras.layers.GRUCell(units)
        self.head = keras.layers.Dense(size)

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
    scenes = rng.permutation(np.array(np.meshgrid(*SCENE)).reshape(4, -1).T)
    images = np.array([[np.isin(sum(SCENE, []), scene)] for scene in scenes])
    kept = rng.random((400, 3, 4)) < (0.6, 0.7, 1.0, 0.5)
    captions = [list(s[k]) for s, keep in zip(scenes, kept) for k in keep]
    tokens = vocabulary.encode_batch(captions, eos=True).reshape(400, 3, -1)
    return {"image": images.astype("float32"), "caption": tokens}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="runs/own")
    parser.add_argument("--epochs", type=int, default=20)
    out, epochs = vars(parser.parse_args(arguments)).values()
    keras.utils.set_random_seed(0)
    vocabulary = tfcap.text.Vocabulary(sum(SCENE, []))
    scenes = draw(vocabulary, np.random.default_rng(0))
    test = {key: rows[:100] for key, rows in scenes.items()}
    train = {key: rows[100:] for key, rows in scenes.items()}
    speaker = GRUSpeaker(vocabulary)
    kind = tfcap.models.RetrievalListener
    listener, fixed = (kind(vocabulary.size, 64, 64) for _ in range(2))
    for network in (speaker, listener, fixed):
        network(test)

    def fit(name, model, rate, learners=(), loss=None):
        adams = {learner: keras.optimizers.Adam(rate) for learner in learners}
        model.compile(adams or keras.optimizers.Adam(rate), loss=loss)
        points = TradeoffWriter(f"{out}/{name}/points", name)
        how = {"other_listeners": {"fixed": fixed}, "writer": points}
        how |= {"batch_size": 100}
        evaluator = tfcap.training.Evaluator(speaker, test, listener, **how)
        resume = tfcap.training.Resume(f"{out}/{name}/checkpoints")
        how = {"batch_size": 50, "callbacks": [] if loss else [evaluator]}
        resume.fit(model, train, epochs=epochs, **how)
        return evaluator().result()

    for name, network in {"listener": listener, "fixed": fixed}.items():
        fit(name, network, 3e-3, loss=tfcap.losses.HingeRetrievalLoss())
    results = {"mle": fit("mle", tfcap.methods.mle(speaker), 3e-3)}
    learned = speaker.get_weights(), listener.get_weights()
    count = tfcap.text.DocumentFrequencies.from_references
    frequencies = count(train["caption"], vocabulary)
    cider = tfcap.rewards.CIDErD(frequencies, references="caption")
    how = {"max_length": 6, "seed": 0}
    psst = {"lambda_": 0.01, "naturalness": cider, **how}
    wtf_rl = {"alpha": 1.0, "reward_shift": 1.0, "max_length": 6}
    trained = {
        "psst": ((speaker, listener), psst, ("speaker", "listener")),
        "scst": ((speaker, cider), how, ("speaker",)),
        "sll_sle": ((speaker, cider), how, ("speaker",)),
        "wtf_rl": ((speaker, fixed), wtf_rl, ("speaker",)),
    }
    for name, (parts, numbers, learners) in trained.items():
        speaker.set_weights(learned[0])
        listener.set_weights(learned[1])
        model = getattr(tfcap.methods, name)(*parts, **numbers)
        results[name] = fit(name, model, 1e-3, learners)
    for name, result in results.items():
        print(name, *(f"{score} {result[score]:.3g}" for score in SCORES))
    return results


if __name__ == "__main__":
    main()
