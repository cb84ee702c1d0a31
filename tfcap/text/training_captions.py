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

#: Orders of the n-grams that are looked up, by the name of the score.
_NOVEL = {"novel_bigrams": 2, "novel_trigrams": 3}


class TrainingCaptions:
    """Captions of a training split, for measures of novelty.

    Make it once for many evaluations: the language model and the tables of
    n-grams are built at first use.

    Args:
        captions: Iterable of captions, strings or lists of words. Strings are
            split by `tfcap.text.caption_tokenize()`.

    Raises:
        ValueError: If there are no captions.
        TypeError: If `captions` is a string.

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
                "`captions` must be a list of captions. Received: "
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
        """Measures how far captions are from the training captions.

        Args:
            captions: List of tokenized captions.

        Returns:
            Dict of `Scores`: `"novelty"`, see `novelty()`;
            `"novel_bigrams"` and `"novel_trigrams"`, the share of n-grams of
            words, counted as often as they occur, that no training caption
            has, `each` 0 for a caption without an n-gram; and
            `"lm_log_prob"`, see `NgramLanguageModel.log_prob()`.
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
#: Discounts of counts 1, 2 and more, for a corpus too small to estimate them.
_FALLBACK = (0.5, 1.0, 1.5)


class NgramLanguageModel:
    """An n-gram language model of a corpus of captions.

    CIDEr-D and BLEU compare a caption with a few references of its image, and
    do not notice that it is not a sentence. A language model of human captions
    does: an odd continuation is improbable.

    The model uses interpolated modified Kneser-Ney smoothing, for a word `w`
    after the words `h`, with `h'` as `h` without its first word:

    ```
    p(w | h) = max(c(h w) - D(c(h w)), 0) / sum_v c(h v) + gamma(h) p(w | h')
    gamma(h) = sum_v D(c(h v)) / sum_v c(h v), or 1 where c(h v) is 0 for all v
    p(w)     = max(c(w) - D(c(w)), 0) / sum_v c(v) + gamma() / words
    ```

    `c` is the count of the longest n-grams and of those that begin a caption;
    of others, it is the number of distinct words before them. `D(1)`, `D(2)`
    and `D(3)`, which also applies to all greater counts, are estimated for each
    order from the numbers of n-grams with counts 1 to 4; if one of these is 0,
    or a discount is outside `(0, k]`, they are 0.5, 1 and 1.5.

    The vocabulary is closed: the words that occur at least `min_count` times in
    the corpus, the end of a caption, and one unknown word that stands for all
    others, in the corpus and in scored captions. Their probabilities sum to 1
    in any context.

    Args:
        captions: List of tokenized captions.
        order: Integer, length of the longest n-gram. Defaults to `4`.
        min_count: Integer, least number of occurrences of a known word.
            Defaults to `2`, so that the probability of the unknown word is
            estimated from words that occur once.

    Attributes:
        words: Tuple of the strings of the vocabulary, `"<eos>"` and `"<unk>"`
            first.
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
      which counts n-grams at the beginning like others
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
        """Mean log probability per word, the end of the caption included.

        Every caption is scored with an end after its last word, which is
        improbable if the caption breaks off.

        Args:
            captions: List of tokenized captions.

        Returns:
            `Scores` in nats, 0 at most: `each` is the mean over the words and
            the end of a caption; `corpus` is the mean over the words and ends
            of all captions, the negative logarithm of the perplexity.
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
        """Computes discounted shares of n-grams, and the rest per context."""
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
            # The last entries are for missing n-grams, number -1.
            self._shares.append(np.append((count - taken) / total[context], 0))
            self._left.append(np.append(left, 1.0))

    def _counts(self, numbers, positions):
        """Counts of n-grams by order, or of distinct words before them."""
        sizes, found = self._tables.counts(), []
        for k, (number, size) in enumerate(zip(numbers, sizes), 1):
            known = number >= 0
            count = np.bincount(number[known], minlength=size)
            if k < len(sizes):
                # A longer n-gram is a word followed by an n-gram of order k.
                longer, long = numbers[k], numbers[k] >= 0
                suffix = np.zeros(sizes[k], np.int64)
                suffix[longer[long]] = number[long]
                first = np.zeros(size, bool)
                first[number[known & (positions == k - 1)]] = True
                follows = np.bincount(suffix, minlength=size)
                # No word precedes the beginning of a caption.
                count = np.where(first & (k > 1), count, follows)
            if k == 1:
                count[_BOS] = 0
            found.append(count)
        return found

    def _probs(self, ids, positions):
        """Probability of each word given those before it, shape `(n,)`."""
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
