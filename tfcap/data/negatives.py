"""Drawing wrong answers for a discriminator to tell from the truth."""

import numpy as np


def draw_wrong_options(options, gt_index, size, rng):
    """Draws wrong options of each question, without replacement.

    Args:
        options: Integer array of shape `(Q, N)`, the answer ids.
        gt_index: Integer array of shape `(Q,)`, the truth's place; -1 in
            questions without one.
        size: Integer, how many to draw, less than N.
        rng: NumPy random generator.

    Returns:
        Integer array of shape `(Q, size)` of answer ids.
    """
    keys = rng.random(options.shape, dtype=np.float32)
    keys[np.arange(len(keys)), gt_index] = 2.0
    chosen = np.argpartition(keys, size - 1, axis=-1)[:, :size]
    return np.take_along_axis(options, chosen, axis=-1)


def draw_in_batch(wrong, present, size, rng):
    """Draws from the wrong options that the batch's other questions drew.

    Args:
        wrong: Integer array of shape `(Q, W)`.
        present: Boolean array of shape `(Q,)`, which questions exist.
        size: Integer, how many to draw, with replacement.
        rng: NumPy random generator.

    Returns:
        Integer array of shape `(Q, size)` of answer ids; -1 where there is no
        other question.
    """
    drawn = np.full((len(wrong), size), -1, np.int32)
    count, width = int(present.sum()), wrong.shape[1]
    if count < 2:
        return drawn
    pool = wrong[present].reshape(-1)
    place = rng.integers(0, (count - 1) * width, (count, size))
    own = np.arange(count)[:, None] * width
    drawn[present] = pool[np.where(place >= own, place + width, place)]
    return drawn


def corrupt(answers, words, size, eos, rng):
    """Makes wrong answers out of right ones.

    One of four ways for each copy: append one to three random words, repeat
    the last word one to three times, shuffle the words, or cut the answer
    somewhere and append two random words. Such answers are what a generator
    finds out to fool a discriminator that has met human answers only.

    Args:
        answers: Integer array of shape `(Q, Ta)`, each row words, then EOS,
            then 0.
        words: Integer array of shape `(n,)` that the random words are drawn
            from; frequent words are in it often.
        size: Integer, copies of each answer.
        eos: Integer, id of EOS.
        rng: NumPy random generator.

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
