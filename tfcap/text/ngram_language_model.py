"""An n-gram language model with modified Kneser-Ney smoothing."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import NgramTables
from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import word_positions
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_captions

#: Ids of the beginning, the end and the unknown word; words follow.
_BOS, _EOS, _UNK = range(3)
#: Discounts of counts 1, 2 and more where a corpus is too small to tell.
_FALLBACK = (0.5, 1.0, 1.5)


class NgramLanguageModel:
    """An n-gram language model of a corpus of captions.

    CIDEr-D and BLEU compare a caption with a few references of its image; they
    do not see that it is no sentence. A language model of what people say
    does: an odd continuation is improbable.

    Interpolated modified Kneser-Ney smoothing, for a word `w` after the words
    `h`, and `h'`, the same without the first:

    ```
    p(w | h) = max(c(h w) - D(c(h w)), 0) / sum_v c(h v) + gamma(h) p(w | h')
    gamma(h) = sum_v D(c(h v)) / sum_v c(h v), or 1 where c(h v) is 0 for all v
    p(w)     = max(c(w) - D(c(w)), 0) / sum_v c(v) + gamma() / words
    ```

    `c` are counts for the longest n-grams and those that begin a caption; for
    others, of how many words they follow on. `D(1)`, `D(2)` and `D(3)`, which
    holds for all greater counts, are estimated for each order from the numbers
    of n-grams that have counts 1 to 4; where one of these is 0, or a discount
    would leave `(0, k]`, they are 0.5, 1 and 1.5.

    The vocabulary is closed: the words that the corpus says `min_count` times
    or more, the end of a caption, and one unknown word that stands for all
    others, in the corpus and in what is scored. Probabilities of these sum
    to 1 after any words.

    Args:
        captions: List of tokenized captions.
        order: Integer, words of the longest n-gram. Defaults to `4`.
        min_count: Integer, least number of occurrences of a word that is
            known. Defaults to `2`, so that words that are said once tell how
            likely an unknown one is.

    Attributes:
        words: Tuple of the strings that may follow, `"<eos>"` and `"<unk>"`
            the first of them.
        discounts: Float array of shape `(order, 3)`.

    Raises:
        ValueError: If there are no captions, or `order` or `min_count` are
            not positive integers.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.ngram_language_model import NgramLanguageModel
    >>> corpus = [c.split() for c in ("a dog runs", "a cat runs", "a dog sits")]
    >>> model = NgramLanguageModel(corpus, order=2, min_count=1)
    >>> scores = model.log_prob([["a", "dog", "runs"], ["runs", "a", "a"]])
    >>> scores.each.round(2)
    array([-0.76, -2.51])
    >>> float(model.next_word_probs(["a", "dog"]).sum().round(6))
    1.0

    Reference:

    - Chen and Goodman, An Empirical Study of Smoothing Techniques for
      Language Modeling, Computer Speech and Language 13, 1999, section 3,
      which counts n-grams at the beginning as others
    """

    def __init__(
        self, captions: Sequence[Sequence], order: int = 4, min_count: int = 2
    ):
        check_order(order, name="order")
        check_order(min_count, name="min_count")
        check_captions(captions, "captions")
        counts = Counter(itertools.chain.from_iterable(captions))
        known = sorted(w for w, count in counts.items() if count >= min_count)
        self.words = ("<eos>", "<unk>", *known)
        self._ids = {word: i for i, word in enumerate(known, _UNK + 1)}
        ids, positions = word_positions([self._encode(c) for c in captions])
        size = len(self.words) + 1
        self._tables = NgramTables(ids, positions, size, order)
        self._fit(self._tables.numbers(ids, positions), positions)

    def log_prob(self, captions: Sequence[Sequence]) -> Scores:
        """Mean log probability a word, the end of the caption included.

        Every caption is read as if it ended after its last word, so one that
        breaks off is as improbable as its end.

        Args:
            captions: List of tokenized captions.

        Returns:
            `Scores` in nats, 0 at most: `each` is the mean over a caption's
            words and its end; `corpus` is that over the words and ends of all
            captions, minus the logarithm of the perplexity.
        """
        check_captions(captions, "captions")
        ids, positions = word_positions([self._encode(c) for c in captions])
        logs = np.where(positions > 0, np.log(self._probs(ids, positions)), 0.0)
        ends = np.flatnonzero(ids == _EOS)
        totals = np.diff(np.cumsum(logs)[ends], prepend=0.0)
        lengths = positions[ends]
        return Scores(float(totals.sum() / lengths.sum()), totals / lengths)

    def next_word_probs(self, context=()) -> NDArray:
        """Probability of every word after those of a context.

        Args:
            context: List of strings, the caption so far. Defaults to none,
                its beginning.

        Returns:
            Float array of shape `(len(words),)`, in the order of `words`.
        """
        prefix = self._encode(context)[:-1]
        rows = [[*prefix, i] for i in range(_EOS, len(self.words) + 1)]
        ids, positions = word_positions(rows)
        return self._probs(ids, positions)[len(prefix) :: len(prefix) + 1]

    def _encode(self, caption):
        ids = [self._ids.get(word, _UNK) for word in caption]
        return [_BOS, *ids, _EOS]

    def _fit(self, numbers, positions):
        """Discounted shares of n-grams, and what is left of each context."""
        counts = self._counts(numbers, positions)
        self.discounts = np.array([_discounts(c) for c in counts])
        self._shares, self._left = [], []
        sizes = [1, *self._tables.counts()]
        for k, count in enumerate(counts, 1):
            taken = np.append(0.0, self.discounts[k - 1])[np.minimum(count, 3)]
            if k == 1:
                context = np.zeros(len(count), np.int64)
            else:
                context = self._tables.contexts(k)
            total = np.bincount(context, count, sizes[k - 1])
            left = np.bincount(context, taken, sizes[k - 1])
            left = np.where(total > 0, left / np.maximum(total, 1), 1.0)
            # The last entries are for what is not there, number -1.
            self._shares.append(np.append((count - taken) / total[context], 0))
            self._left.append(np.append(left, 1.0))

    def _counts(self, numbers, positions):
        """Counts of n-grams by order, or of the words they follow on."""
        sizes, found = self._tables.counts(), []
        for k, (number, size) in enumerate(zip(numbers, sizes), 1):
            known = number >= 0
            count = np.bincount(number[known], minlength=size)
            if k < len(sizes):
                # Each longer n-gram is one word before its last k.
                longer, long = numbers[k], numbers[k] >= 0
                suffix = np.zeros(sizes[k], np.int64)
                suffix[longer[long]] = number[long]
                first = np.zeros(size, bool)
                first[number[known & (positions == k - 1)]] = True
                follows = np.bincount(suffix, minlength=size)
                # Nothing comes before a beginning.
                count = np.where(first & (k > 1), count, follows)
            if k == 1:
                count[_BOS] = 0
            found.append(count)
        return found

    def _probs(self, ids, positions):
        """Probability of each word after those before it, shape `(n,)`."""
        probs = np.full(len(ids), 1 / len(self.words))
        numbers = self._tables.numbers(ids, positions)
        context = np.zeros(len(ids), np.int64)
        for number, share, left in zip(numbers, self._shares, self._left):
            probs = share[number] + left[context] * probs
            before = np.concatenate([[-1], number[:-1]])
            context = np.where(positions > 0, before, -1)
        return probs


def _discounts(counts):
    """Discounts of counts 1, 2, and 3 or more."""
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5]
    if n.min() > 0:
        share = n[0] / (n[0] + 2 * n[1])
        found = [k - (k + 1) * share * n[k] / n[k - 1] for k in (1, 2, 3)]
        if min(found) > 0:
            return found
    return _FALLBACK
