"""Corrupted copies of human answers as further wrong candidates."""

import functools

import numpy as np
from numpy.typing import NDArray

from tfcap.data import DialogBatches


class CorruptedBatches(DialogBatches):
    """Adds corrupted copies of the truth to the candidates of `DialogBatches`.

    Words are appended, repeated, shuffled or cut. Not in the paper; makes the
    discriminator harder to fool.

    Args:
        *data: As of `DialogBatches`.
        corrupted_negatives: Integer, copies of each truth. Defaults to `0`.
        **options: As of `DialogBatches`.
    """

    def __init__(self, *data, corrupted_negatives: int = 0, **options):
        super().__init__(*data, **options)
        self.corrupted_negatives = corrupted_negatives

    def candidates(self, rows, rng):
        """Those of `DialogBatches`, then the copies, and their labels."""
        words, labels = super().candidates(rows, rng)
        if not self.corrupted_negatives:
            return words, labels
        truth = words[:, :, 0].reshape(-1, words.shape[-1])
        size, eos = self.corrupted_negatives, self.dialogs.vocabulary.eos
        copies = corrupt(truth, self._said_words, size, eos, rng)
        copies *= truth.any(-1)[:, None, None]
        # A copy may be the truth again, and what is absent has none.
        ignored = np.all(copies == truth[:, None], axis=-1)
        more = np.where(ignored, -1.0, 0.0).astype(np.float32)
        copies = copies.reshape(*words.shape[:2], size, -1)
        more = more.reshape(*labels.shape[:2], size)
        return (
            np.concatenate([words, copies], axis=2),
            np.concatenate([labels, more], axis=2),
        )

    @functools.cached_property
    def _said_words(self):
        """All words of the human answers, as often as they occur."""
        index = self.dialogs.answer_index
        words = self.dialogs.answers[index[index >= 0]]
        return words[words > self.dialogs.vocabulary.unk]


def corrupt(
    answers: NDArray,
    words: NDArray,
    size: int,
    eos: int,
    rng: np.random.Generator,
):
    """Makes wrong answers out of right ones.

    One of four ways for each copy: append one to three random words, repeat
    the last word one to three times, shuffle the words, or cut the answer
    somewhere and append two random words. By such answers a generator fools a
    discriminator that was trained on human answers alone.

    Args:
        answers: Integer array of shape `(Q, Ta)`, each row words, then EOS,
            then 0.
        words: Integer array of shape `(n,)` that the random words are drawn
            from; frequent words are in it often.

    Returns:
        Integer array of shape `(Q, size, Ta)` like `answers`. A copy may
        equal its answer: one that was too long to grow, or a single word that
        was shuffled.
    """
    rows, width = len(answers), answers.shape[1] - 1
    length = np.argmax(answers == eos, axis=-1)[:, None, None]
    shape = (rows, size, 1)
    way = rng.integers(0, 4, shape)
    way = np.where(length == 0, 0, way)  # nothing to repeat, shuffle or cut
    kept = np.where(way == 3, rng.random(shape) * length, length).astype(int)
    grown = np.where(way == 3, 2, rng.integers(1, 4, shape))
    new_length = np.minimum(kept + np.where(way == 2, 0, grown), width)
    steps = np.arange(width)
    # Places in [the answer's words | three random words].
    append = np.where(steps < kept, steps, width + np.minimum(steps - kept, 2))
    repeat = np.minimum(steps, np.maximum(length - 1, 0))
    keys = rng.random((rows, size, width)) + (steps >= length)
    shuffle = np.argsort(keys, axis=-1)
    place = np.where(way == 1, repeat, np.where(way == 2, shuffle, append))
    drawn = words[rng.integers(0, len(words), (rows, size, 3))]
    original = np.broadcast_to(answers[:, None, :width], (rows, size, width))
    source = np.concatenate([original, drawn], axis=-1)
    copies = np.zeros((rows, size, width + 1), np.int32)
    copies[..., :width] = np.take_along_axis(source, place, -1)
    copies *= np.arange(width + 1) < new_length
    np.put_along_axis(copies, new_length, eos, axis=-1)
    return copies
