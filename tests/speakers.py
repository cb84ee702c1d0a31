"""Small caption speakers and batches for tests."""

import keras
import numpy as np

from tfcap import models
from tfcap.layers import SoftEmbedding

VOCABULARY, BOS, EOS = 13, 1, 2
SIZES = {"units": 6, "embeddings_initializer": "he_normal"}
#: Name to class and arguments.
KINDS = {
    "show_tell_start": (models.ShowTellSpeaker, {"image_at": "start"}),
    "show_tell_every_step": (models.ShowTellSpeaker, {}),
    "att2in": (models.Att2inSpeaker, {"attention_units": 5}),
    "up_down": (models.UpDownSpeaker, {"attention_units": 5}),
    "transformer": (
        models.TransformerSpeaker,
        {"layers": 2, "heads": 2, "max_length": 9, "block_dropout": 0.0},
    ),
}


def speaker(kind, **arguments):
    """A built speaker; its words differ clearly in probability."""
    made, own = KINDS[kind]
    arguments = {**SIZES, **own, **arguments}
    if kind != "transformer":
        arguments = {"embedding_units": 5, **arguments}
    made = made(VOCABULARY, **arguments)
    shapes = {"image": (None, None, 3), "caption": (None, None, None)}
    made.build(shapes)
    made.head.kernel.assign(3.0 * made.head.kernel)
    return made


class Cell(keras.layers.Layer):
    """A recurrence of somebody's own."""

    def __init__(self):
        super().__init__()
        self.words = SoftEmbedding(VOCABULARY, 4, mask_zero=False)
        self.gru = keras.layers.GRUCell(4)
        self.head = keras.layers.Dense(VOCABULARY)

    def call(self, words, state):
        hidden, state = self.gru(self.words(words), state)
        return self.head(hidden), state


IDS = {"vocabulary_size": VOCABULARY, "bos": BOS, "eos": EOS}


def stepwise(**options):
    """A speaker of somebody's step."""
    encoder = keras.Sequential(
        [keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(4)]
    )
    options = {"from_logits": True, "reads_ids": False, **IDS, **options}
    return models.StepwiseSpeaker(Cell(), encoder, **options)


def teacher_forced(**options):
    """A speaker of somebody's model of whole captions."""
    image = keras.Input((None, 3))
    words = keras.Input((None,), dtype="int32")
    hidden = keras.layers.GRU(3, return_sequences=True)(
        keras.layers.Embedding(VOCABULARY, 3)(words),
        initial_state=keras.layers.GlobalAveragePooling1D()(image),
    )
    model = keras.Model([image, words], keras.layers.Dense(VOCABULARY)(hidden))
    options = {"from_logits": True, **IDS, **options}
    return models.TeacherForcedSpeaker(model, ["image", "caption"], **options)


def lively(speaker):
    """The speaker, built, with words that differ clearly in probability."""
    speaker(batch())
    rng = np.random.default_rng(0)
    for weight in speaker.trainable_variables:
        weight.assign(rng.normal(0, 0.7, weight.shape))
    return speaker


def batch(images=5, samples=2, positions=4, length=6, seed=0):
    """Images, and captions of one to `length` words with the end token."""
    rng = np.random.default_rng(seed)
    caption = np.zeros((images, samples, length), "int32")
    for index in np.ndindex(images, samples):
        words = rng.integers(0, length)
        caption[index][:words] = rng.integers(3, VOCABULARY, words)
        caption[index][words] = EOS
    image = rng.normal(size=(images, positions, 3))
    return {"image": image.astype("float32"), "caption": caption}
