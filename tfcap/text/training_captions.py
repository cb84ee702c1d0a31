"""Distance of captions from those of the training split."""

import functools
from collections.abc import Sequence

import numpy as np

from tfcap.text.caption_tokenization import caption_tokenize
from tfcap.text.ngram_language_model import NgramLanguageModel
from tfcap.text.ngrams import NgramTables
from tfcap.text.ngrams import word_positions
from tfcap.text.scores.caption_statistics import novelty
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_captions

#: N-grams that are looked up, by the name of their score.
_NOVEL = {"novel_bigrams": 2, "novel_trigrams": 3}


class TrainingCaptions:
    """Captions of a training split, to compare generated ones with.

    Made once for many evaluations: the language model and the tables of
    n-grams are built when they are first asked for.

    Args:
        captions: Iterable of captions, strings or lists of words. Strings are
            split by `tfcap.text.caption_tokenize()`.
        order: Integer, of the language model. Defaults to `4`.
        min_count: Integer, of the language model. Defaults to `2`.

    Raises:
        ValueError: If there are no captions.

    Example:

    >>> training = tfcap.text.TrainingCaptions(["A dog runs.", "A cat runs."])
    >>> found = training.scores([["a", "dog", "runs"], ["a", "runs", "cat"]])
    >>> {k: round(s.corpus, 2) for k, s in found.items()}
    {'novelty': 0.5, 'novel_bigrams': 0.5, 'novel_trigrams': 0.5, ...}
    """

    def __init__(self, captions, order: int = 4, min_count: int = 2):
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
        self.order = order
        self.min_count = min_count

    @functools.cached_property
    def language_model(self):
        """The `NgramLanguageModel` of these captions."""
        return NgramLanguageModel(self.captions, self.order, self.min_count)

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
