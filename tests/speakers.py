"""Small caption speakers and batches for tests."""

import numpy as np

from tfcap import models

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
