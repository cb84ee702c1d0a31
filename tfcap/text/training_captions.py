"""Distance of captions from those of the training split."""

import functools
import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tfcap._printed import printed
from tfcap.text.caption_tokenization import caption_tokenize
from tfcap.text.ngrams import NgramTables
from tfcap.text.ngrams import word_positions
from tfcap.text.scores.caption_statistics import novelty
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_captions

#: N-grams that are looked up, by the name of their score.
_NOVEL = {"novel_bigrams": 2, "novel_trigrams": 3}


class TrainingCaptions:
    """Captions of a training split, for measures of novelty.

    Made once for many evaluations: the language model and the tables of
    n-grams are built when they are first asked for.

    Args:
        captions: Iterable of captions, strings or lists of words. Strings are
            split by `tfcap.text.caption_tokenize()`.

    Raises:
        ValueError: If there are no captions.

    Example:

    >>> training = tfcap.text.TrainingCaptions(["A dog runs.", "A cat runs."])
    >>> found = training.scores([["a", "dog", "runs"], ["a", "runs", "cat"]])
    >>> {k: round(s.corpus, 2) for k, s in found.items()}
    {'novelty': 0.5, 'novel_bigrams': 0.5, 'novel_trigrams': 0.5, ...}
    """

    __repr__ = printed

    def __init__(self, captions):
        if isinstance(captions, str):
            raise TypeError(
                "`captions` must be several captions. Received: "
                f"captions={captions!r}. Put it in a list."
            )
        self.captions = [
            caption_tokenize(c) if isinstance(c, str) else list(c)
            for c in captions
        ]
        check_captions(self.captions, "captions")

    @functools.cached_property
    def language_model(self):
        """The `NgramLanguageModel` of these captions."""
        return NgramLanguageModel(self.captions)

    def scores(self, captions: Sequence[Sequence]) -> dict:
        """N-grams of captions that the training captions do not have.

        Args:
            captions: List of tokenized captions.

        Returns:
            Dict of `Scores`: `"novelty"`, see `novelty()`;
            `"novel_bigrams"` and `"novel_trigrams"`, the share of n-grams of
            words, counted as often as they occur, that no training caption
            has, `each` 0 for a caption without an n-gram; and
            `"lm_log_prob"`, that of `NgramLanguageModel.log_prob()`.
        """
        check_captions(captions, "captions")
        scores = {"novelty": novelty(captions, self.captions)}
        rows = [[self._ids.get(w, 0) for w in words] for words in captions]
        ids, positions = word_positions(rows)
        numbers = self._tables.numbers(ids, positions)
        row = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        for name, order in _NOVEL.items():
            ends = positions >= order - 1
            new = np.bincount(
                row[ends], numbers[order - 1][ends] < 0, len(rows)
            )
            of = np.bincount(row[ends], minlength=len(rows))
            share = float(new.sum() / max(of.sum(), 1))
            scores[name] = Scores(share, new / np.maximum(of, 1))
        scores["lm_log_prob"] = self.language_model.log_prob(captions)
        return scores

    @functools.cached_property
    def _ids(self):
        """Ids of the words from 1; 0 is for all others."""
        words = dict.fromkeys(w for words in self.captions for w in words)
        return {word: i for i, word in enumerate(words, 1)}

    @functools.cached_property
    def _tables(self):
        rows = [[self._ids[word] for word in c] for c in self.captions]
        size = len(self._ids) + 1
        return NgramTables(*word_positions(rows), size, max(_NOVEL.values()))


#: Ids of the beginning, the end and the unknown word; words follow.
_BOS, _EOS, _UNK = range(3)
#: Discounts of counts 1, 2 and more where a corpus is too small to tell.
_FALLBACK = (0.5, 1.0, 1.5)


class NgramLanguageModel:
    """An n-gram language model of a corpus of captions.

    CIDEr-D and BLEU compare a caption with a few references of its image; they
    do not see that it is not a sentence. A language model of what people say
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
        ValueError: If `order` is not a positive integer.

    Example:

    >>> from tfcap.text.training_captions import NgramLanguageModel
    >>> corpus = [c.split() for c in ("a dog runs", "a cat runs", "a dog sits")]
    >>> model = NgramLanguageModel(corpus, order=2, min_count=1)
    >>> scores = model.log_prob([["a", "dog", "runs"], ["runs", "a", "a"]])
    >>> scores.each.round(2)
    array([-0.76, -2.51])

    Reference:

    - Chen and Goodman, An Empirical Study of Smoothing Techniques for
      Language Modeling, Computer Speech and Language 13, 1999, section 3,
      which counts n-grams at the beginning as others
    """

    def __init__(
        self, captions: Sequence[Sequence], order: int = 4, min_count: int = 2
    ):
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
        ids, positions = word_positions([self._encode(c) for c in captions])
        logs = np.where(positions > 0, np.log(self._probs(ids, positions)), 0.0)
        ends = np.flatnonzero(ids == _EOS)
        totals = np.diff(np.cumsum(logs)[ends], prepend=0.0)
        lengths = positions[ends]
        return Scores(float(totals.sum() / lengths.sum()), totals / lengths)

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
