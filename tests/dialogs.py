"""Small dialog networks and batches for tests."""

import numpy as np

from reproduce.visdial import DialogSettings
from reproduce.visdial import make_discriminator
from reproduce.visdial import make_generator
from tfcap.data import DialogBatches
from tfcap.data import EncodedDialogs
from tfcap.data import build_vocabulary
from tfcap.data.visdial_split import VisDialSplit

SETTINGS = DialogSettings(
    units=6,
    embedding_units=5,
    embedding_stddev=0.5,
    dropout=0.0,
    batch_size=4,
    learning_rate=1e-2,
    generator_epochs=2,
    discriminator_epochs=1,
    softmax_negatives=4,
    negatives=3,
    in_batch_negatives=2,
    transfer_epochs=1,
    transfer_learning_rate=1e-3,
    evaluation_batch_size=4,
)
WORDS = "yes no red blue two maybe it is a on the left".split()


def split(dialogs=8, rounds=3, answers=12, seed=0):
    """Dialogs of random words, some of them a round short."""
    rng = np.random.default_rng(seed)

    def say(length):
        return " ".join(rng.choice(WORDS, rng.integers(1, length + 1)))

    texts = sorted({say(4) for _ in range(10 * answers)})[:answers]
    options = np.stack(
        [rng.permutation(answers)[:6] for _ in range(dialogs * rounds)]
    ).reshape(dialogs, rounds, 6)
    gt = rng.integers(0, 6, (dialogs, rounds))
    question = rng.integers(0, 5, (dialogs, rounds))
    answer = np.take_along_axis(options, gt[..., None], -1)[..., 0]
    for array in (question, answer, gt, options):
        array[::4, -1] = -1
    return VisDialSplit(
        image_ids=np.arange(dialogs),
        captions=[say(6) for _ in range(dialogs)],
        questions=[say(5) + " ?" for _ in range(5)],
        answers=texts,
        question_index=question,
        answer_index=answer,
        options=options,
        gt_index=gt,
    )


def encoded(**arguments):
    made = split(**arguments)
    return EncodedDialogs.from_split(made, build_vocabulary(split(), 1))


def features(dialogs=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(dialogs, 4, 3)).astype("float32")


def batches(batch_size=4, dialogs=8, **arguments):
    data = encoded(dialogs=dialogs)
    return DialogBatches(data, features(dialogs), batch_size, **arguments)


def generator(encoder="hciae", settings=SETTINGS):
    return make_generator(encoder, settings, batches())


def discriminator(encoder="hciae", settings=SETTINGS):
    return make_discriminator(encoder, settings, batches())
