"""A speaker that says what it is told, and who listens to it."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf
from keras import ops

from tfcap.text import Vocabulary
from tfcap.text import caption_tokenize

VOCABULARY = Vocabulary("a the dog cat runs sits red on in mat".split())
#: Words of a caption, the end token included.
LENGTH = 6
#: Features of an image that are no words.
FEATURES = 3


class Scribe:
    """Reads its captions off the first features of the images."""

    vocabulary_size = VOCABULARY.size
    bos, eos = VOCABULARY.bos, VOCABULARY.eos

    def begin(self, inputs, training=False):
        script = ops.cast(inputs["image"][:, 0, :LENGTH], "int32")
        return {"script": script, "step": ops.zeros_like(script[:, :1])}

    def step(self, words, state, training=False):
        script, step = state["script"], state["step"]
        word = ops.take_along_axis(script, step, axis=1)[:, 0]
        return ops.one_hot(word, self.vocabulary_size), {
            "script": script,
            "step": step + 1,
        }


class BagListener:
    """Hears the words that are said, not their order.

    Vectors are of small integers, so that sums are exact and ties are ties.
    """

    def __init__(self, seed=0, features=FEATURES):
        rng = np.random.default_rng(seed)
        size = VOCABULARY.size, features
        self.words = tf.Variable(rng.integers(-3, 4, size).astype("float32"))

    def embed_images(self, image, training=False):
        return ops.mean(image, axis=1)[:, LENGTH:]

    def embed_texts(self, words, mask, training=False):
        heard = ops.take(self.words, words, axis=0)
        return ops.sum(heard * mask[..., None], axis=2)


class Batches:
    """Images with what is to be said of them, and what people said.

    Args:
        said: List of strings; one of `LENGTH` words has no end.
        human: List of lists of strings.
        seed: Integer, of the images' features.
    """

    def __init__(self, said, human, seed=0):
        rng = np.random.default_rng(seed)
        shape = len(said), 1, FEATURES
        features = rng.integers(-2, 3, shape).astype("float32")
        script = encode(said)[:, None]
        self.image = np.concatenate([script, features], axis=-1, dtype="f4")
        widest = max(map(len, human))
        self.references = np.stack(
            [encode(row + [None] * (widest - len(row))) for row in human]
        )
        self.captions = SimpleNamespace(
            texts=human,
            vocabulary=VOCABULARY,
            image_ids=[f"image-{i}" for i in range(len(said))],
        )

    def evaluation(self, batch_size=None):
        size = batch_size or 2
        for start in range(0, len(self.image), size):
            rows = np.arange(start, min(start + size, len(self.image)))
            yield (
                {
                    "image": self.image[rows],
                    "references": self.references[rows],
                },
                rows,
            )


def encode(texts):
    """Ids with end tokens, cut to the length; zeros for what is no text."""
    ids = np.zeros((len(texts), LENGTH), "int32")
    for row, text in zip(ids, texts):
        if text is not None:
            words = VOCABULARY.encode(caption_tokenize(text), eos=True)[:LENGTH]
            row[: len(words)] = words
    return ids
