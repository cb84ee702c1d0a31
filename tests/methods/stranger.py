"""Networks of somebody who has read the protocol of a speaker alone."""

import keras
import numpy as np
from keras import ops

from tfcap.decoding import stepwise_log_probs
from tfcap.rewards import BLEU
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary

VOCABULARY = Vocabulary(["red", "blue", "cube", "ball", "left", "big"])
LENGTH, UNITS = 4, 5


def fill(network, seed):
    """Weights of NumPy's, whatever the initializers of a Keras version."""
    rng = np.random.default_rng(seed)
    for variable in network.trainable_variables:
        variable.assign(0.5 * rng.normal(size=variable.shape))
    return network


class Storyteller(keras.Model):
    """A GRU that begins from a picture."""

    vocabulary, vocabulary_size = VOCABULARY, VOCABULARY.size
    bos, eos = VOCABULARY.bos, VOCABULARY.eos

    def __init__(self):
        super().__init__()
        self.look = keras.layers.Dense(UNITS, activation="tanh")
        self.read = keras.layers.Embedding(self.vocabulary_size, UNITS)
        self.cell = keras.layers.GRUCell(UNITS)
        self.head = keras.layers.Dense(self.vocabulary_size)

    def begin(self, inputs, training=False):
        return self.look(ops.mean(inputs["pixels"], axis=1))

    def step(self, words, state, training=False):
        if len(words.shape) == 1:
            read = self.read(words)
        else:
            read = ops.matmul(words, self.read.embeddings)
        output, (state,) = self.cell(read, [state])
        return self.head(output), state

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        return inputs["sentences"]

    def call(self, inputs):
        state = self.begin(inputs)
        return self.step(ops.zeros(ops.shape(state)[:1], "int32"), state)[0]


class Finder(keras.Model):
    """Embeds pictures and sentences as means of maps of their parts."""

    image_key = "pixels"

    def __init__(self):
        super().__init__()
        self.see = keras.layers.Dense(UNITS)
        self.hear = keras.layers.Embedding(VOCABULARY.size, UNITS)

    def embed_images(self, image, training=False):
        return ops.normalize(ops.mean(self.see(image), axis=1), axis=-1)

    def embed_texts(self, words, mask, training=False):
        if len(words.shape) == 3:
            read = self.hear(words)
        else:
            read = ops.matmul(words, self.hear.embeddings)
        mask = ops.cast(mask, read.dtype)[..., None]
        mean = ops.sum(read * mask, axis=2) / (ops.sum(mask, axis=2) + 1e-6)
        return ops.normalize(mean, axis=-1)

    def logits(self, images, texts):
        """Of an evaluator: who said it."""
        return 3.0 * ops.sum(images[:, None] * texts, axis=-1)

    def call(self, inputs):
        tokens = inputs["sentences"]
        return self.embed_images(inputs["pixels"]), self.embed_texts(
            tokens, tokens > 0
        )


class Critic(keras.Model):
    """Tells pairs of embeddings apart."""

    def __init__(self):
        super().__init__()
        self.score = keras.layers.Dense(1)

    def logits(self, images, texts):
        images = ops.broadcast_to(images[:, None], ops.shape(texts))
        return self.score(ops.concatenate([images * texts, texts], -1))[..., 0]

    def call(self, inputs):
        return self.logits(*inputs)


def batch(rows=4, seed=0, captions=2):
    """Pictures `(B, P, D)` and sentences `(B, N, T)`, of other keys."""
    rng = np.random.default_rng(seed)
    sentences = np.zeros((rows, captions, LENGTH), "int32")
    for index in np.ndindex(rows, captions):
        words = rng.integers(1, LENGTH)
        sentences[index][:words] = rng.integers(4, VOCABULARY.size, words)
        sentences[index][words] = VOCABULARY.eos
    pixels = rng.normal(size=(rows, 2, 3)).astype("float32")
    others = rng.normal(size=(rows, 2, 2, 3)).astype("float32")
    return {
        "pixels": pixels,
        "sentences": sentences,
        "references": sentences,
        "distractor_image": others[:, 0],
        "row": np.arange(rows, dtype="int32"),
        "neighbor_image": others,
        "neighbor_row": rows
        + np.arange(2 * rows, dtype="int32").reshape(-1, 2),
    }


def frequencies():
    return DocumentFrequencies.from_references(
        list(batch(20, seed=9)["sentences"]), VOCABULARY
    )


def bleu():
    return BLEU(2, jit_compile=False)


def speaker(seed=1):
    made = Storyteller()
    made(batch())
    return fill(made, seed)


def listener(seed=2):
    made = Finder()
    made(batch())
    return fill(made, seed)


def critic(seed=3):
    made = Critic()
    made((np.zeros((1, UNITS)), np.zeros((1, 1, UNITS))))
    return fill(made, seed)


def told(model, networks, steps=2):
    """What some steps log, and what becomes of the weights.

    Args:
        model: Compiled training model.
        networks: Dict of `keras.Model`s.
        steps: Integer.

    Returns:
        Dict of lists of floats: the losses, and of every network sums of
        its weights by which any change is seen.
    """
    losses = []
    for step in range(steps):
        logs = model.train_on_batch(batch(seed=step), return_dict=True)
        losses.append(float(logs.get("speaker/loss", logs.get("loss"))))
        model.reset_metrics()
    weights = {
        name: [
            float(np.sum(np.cos(np.arange(w.size) + 1.0) * np.ravel(w)))
            for w in network.get_weights()
        ]
        for name, network in networks.items()
    }
    return {"losses": losses, **weights}
