"""Human and corrupted captions, to train and evaluate grammar classifiers."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap.data import DatasetBatches

#: Most words of a phrase that is repeated or removed, most repetitions of it,
#: and most words that are inserted or swapped.
MOST = 3


def repeat_words(words, others, room, rng):
    """Puts copies of a phrase at places drawn at random."""
    size = _draw(min(MOST, len(words), room), rng)
    start = rng.integers(len(words) - size + 1)
    phrase = words[start : start + size]
    for _ in range(_draw(min(MOST, room // size), rng)):
        index = rng.integers(len(words) + 1)
        words = [*words[:index], *phrase, *words[index:]]
    return words


def remove_words(words, others, room, rng):
    """Leaves out a phrase, but not all words."""
    size = _draw(min(MOST, len(words) - 1), rng)
    start = rng.integers(len(words) - size + 1)
    return [*words[:start], *words[start + size :]]


def insert_words(words, others, room, rng):
    """Puts other words between these."""
    for _ in range(_draw(min(MOST, room), rng)):
        index = rng.integers(len(words) + 1)
        words = [*words[:index], _any_of(others, rng), *words[index:]]
    return words


def swap_words(words, others, room, rng):
    """Puts other words in the place of some."""
    swapped = list(words)
    size = _draw(min(MOST, len(words)), rng)
    for index in rng.permutation(len(words))[:size]:
        while swapped[index] == words[index]:
            swapped[index] = _any_of(others, rng)
    return swapped


def shuffle_words(words, others, room, rng):
    """Puts the words in another order."""
    shuffled = words
    while shuffled == words:
        shuffled = [words[index] for index in rng.permutation(len(words))]
    return shuffled


#: Kinds of corruption by name. Each is a function of a list of a caption's
#: words, an array of others to draw from, how many words may be added, and a
#: random generator.
CORRUPTIONS = {
    "repeat": repeat_words,
    "remove": remove_words,
    "insert": insert_words,
    "swap": swap_words,
    "shuffle": shuffle_words,
}


def corrupt_captions(
    captions: NDArray,
    words: NDArray,
    rng: np.random.Generator,
    kinds: Sequence[str] = tuple(CORRUPTIONS),
    eos: int | tuple[int, ...] = 2,
    pad: int = 0,
):
    """Corrupts captions: each becomes an ungrammatical or odd one.

    - `"repeat"`: a phrase of one to three words is said up to three times
      more, each time in a place of its own;
    - `"remove"`: a phrase of one to three words is left out;
    - `"insert"`: one to three random words are put between the others;
    - `"swap"`: one to three words are replaced by random ones;
    - `"shuffle"`: the words are put in another order.

    The kind is drawn among those that fit the caption: one word cannot be
    shuffled, and a caption of full length cannot grow. The result always
    differs from the caption. It is likely, not certain, to be ungrammatical.

    Args:
        captions: Integer array of shape `(n, T)`, each row words, then EOS,
            then padding.
        words: Integer array of two or more distinct ids, which random words
            are drawn from.
        rng: NumPy random generator.
        kinds: Sequence of strings, keys of `CORRUPTIONS`. Defaults
            to all of them.
        eos: Integer or tuple of integers, ids of EOS. Defaults to `2`.
        pad: Integer, id of padding. Defaults to `0`.

    Returns:
        Integer array of shape `(n, T)` like `captions`, and an object array
        of shape `(n,)`, the kinds that were drawn.

    Raises:
        ValueError: If no kind fits some caption.

    Example:

    >>> captions = np.array([[5, 6, 7, 2, 0], [8, 9, 5, 2, 0]])
    >>> rng = np.random.default_rng(0)
    >>> found, kinds = corrupt_captions(
    ...     captions, np.arange(4, 10), rng, kinds=["shuffle"]
    ... )
    >>> np.sort(found)
    array([[0, 2, 5, 6, 7],
           [0, 2, 5, 8, 9]])

    Reference:

    - Cho et al., Fine-grained Image Captioning with CLIP Reward, Findings of
      NAACL 2022, section 3.2, and the authors' code, whose "shuffle" may leave
      a caption as it is
    """
    captions, words = np.asarray(captions), np.asarray(words)
    corrupted = np.full_like(captions, pad)
    drawn = np.empty(len(captions), object)
    for row, caption in enumerate(captions):
        length = np.argmax(np.isin(caption, eos))
        spoken, end = caption[:length].tolist(), caption[length]
        room = captions.shape[1] - 1 - len(spoken)
        fitting = [kind for kind in kinds if _fits(kind, spoken, room)]
        if not fitting:
            raise ValueError(
                "`kinds` must hold one that fits every caption. Received: "
                f"kinds={tuple(kinds)}, and caption {row}, {caption.tolist()}."
                " Add others, or leave the caption out."
            )
        drawn[row] = fitting[rng.integers(len(fitting))]
        wrong = CORRUPTIONS[drawn[row]](spoken, words, room, rng)
        corrupted[row, : len(wrong) + 1] = [*wrong, end]
    return corrupted, drawn


def _fits(kind, words, room):
    """Check whether a caption can be corrupted in a way."""
    if kind == "repeat":
        return len(words) > 0 and room > 0
    if kind == "insert":
        return room > 0
    if kind == "swap":
        return len(words) > 0
    if kind == "remove":
        return len(words) > 1
    return len(set(words)) > 1


def _any_of(words, rng):
    return words[rng.integers(len(words))]


def _draw(most, rng):
    """A number from 1 to `most`."""
    return int(rng.integers(1, most + 1))


class GrammarBatches(DatasetBatches):
    """Feeds captions, each beside a corrupted one, to a grammar classifier.

    As of `CaptionBatches`, the batch of a global step depends on seed and
    step alone. An epoch has each caption once, and corrupts it anew. A batch is
    a pair: a dict of `caption` `(B, 2, T)`, int32, a human caption and a
    corrupted one, and labels `(B, 2)`, 1 and 0.

    Args:
        captions: `EncodedCaptions`. Captions without words are left out.
        batch_size: Integer, human captions in a batch, B.
        seed: Integer. Defaults to `0`.

    Example:

    >>> split = tfcap.data.CaptionSplit(
    ...     [7, 9], [["A cat."], ["A dog!", "a dog"]], ["", ""], ["", ""]
    ... )
    >>> vocabulary = tfcap.data.build_vocabulary(split, min_count=1)
    >>> captions = tfcap.data.EncodedCaptions.from_split(split, vocabulary, 4)
    >>> from reproduce.grammar_batches import GrammarBatches
    >>> batches = GrammarBatches(captions, batch_size=3)
    >>> inputs, labels = batches.batch(0)
    >>> inputs["caption"].shape, labels[0]
    ((3, 2, 4), array([1., 0.], dtype=float32))
    """

    def __init__(self, captions, batch_size: int, seed: int = 0):
        vocabulary = captions.vocabulary
        first = captions.references[..., 0]
        self.eos, self.pad = vocabulary.eos, vocabulary.pad
        spoken = (first != self.pad) & ~np.isin(first, self.eos)
        self.captions = captions.references[spoken]
        special = {self.pad, vocabulary.bos, vocabulary.unk}
        special |= set(np.ravel(self.eos).tolist())
        tokens = vocabulary.tokens
        self.words = np.array(
            [i for i, x in enumerate(tokens) if x and i not in special]
        )
        self.batch_size, self.seed = batch_size, seed
        # One order serves an epoch; steps may be made out of order.
        self.order = functools.lru_cache(maxsize=2)(self._order)
        steps = len(self.captions) // batch_size
        super().__init__(self._batch, steps)

    def _order(self, epoch):
        rng = np.random.default_rng([self.seed, 0, epoch])
        return rng.permutation(len(self.captions))

    def _batch(self, step):
        epoch, index = divmod(int(step), self.steps_per_epoch)
        rows = self.order(epoch)[index * self.batch_size :][: self.batch_size]
        captions = self.captions[rows]
        rng = np.random.default_rng([self.seed, 1, int(step)])
        corrupted, _ = self.corrupt(captions, rng)
        labels = np.tile(np.array([1.0, 0.0], "float32"), (len(captions), 1))
        return {"caption": np.stack([captions, corrupted], axis=1)}, labels

    def corrupt(self, captions, rng):
        """`corrupt_captions()` with the words of these captions."""
        return corrupt_captions(
            captions, self.words, rng, eos=self.eos, pad=self.pad
        )


def grammar_accuracy(
    classifier, captions, seed: int = 0, batch_size: int = 500
):
    """Share of captions that a classifier recognizes, by kind of corruption.

    Args:
        captions: `tfcap.data.EncodedCaptions`, best of images that were not
            trained on. Each caption is judged as it is and corrupted once.

    Returns:
        Dict of floats in `[0, 1]`: `"human"`, each
        kind of corruption that occurs, and `"mean"`, the mean of
        `"human"` and of all that is corrupted.

    Example:

    >>> split = tfcap.data.CaptionSplit([7], [["A red cat."]], [""], [""])
    >>> vocabulary = tfcap.data.build_vocabulary(split, min_count=1)
    >>> captions = tfcap.data.EncodedCaptions.from_split(split, vocabulary, 9)
    >>> classifier = tfcap.models.GrammarClassifier(vocabulary.size, 4)
    >>> from reproduce.grammar_batches import grammar_accuracy
    >>> found = grammar_accuracy(classifier, captions)
    >>> 0.0 <= found["mean"] <= 1.0
    True
    """
    batches = GrammarBatches(captions, batch_size=1, seed=seed)
    human = batches.captions
    corrupted, kinds = batches.corrupt(human, np.random.default_rng(seed))
    pairs = {"caption": np.stack([human, corrupted], axis=1)}
    logits = classifier.predict(pairs, batch_size=batch_size, verbose=0)
    right, wrong = logits[:, 0] > 0, logits[:, 1] <= 0
    accuracy = {"human": right.mean()}
    for kind in CORRUPTIONS:
        if np.any(kinds == kind):
            accuracy[kind] = wrong[kinds == kind].mean()
    accuracy["mean"] = (right.mean() + wrong.mean()) / 2
    return {name: float(value) for name, value in accuracy.items()}
