"""Variety and faults of captions, images aside."""

import itertools

import numpy as np

from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.scores.bad_ending_rate import bad_ending_rate
from tfcap.text.scores.repeated_ngrams import repeated_ngrams
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.self_bleu import self_bleu
from tfcap.text.scores.vocabulary_size import vocabulary_size

#: Captions that Self-BLEU is published of, the first of a split.
SELF_BLEU_CAPTIONS = 1000


def caption_language(captions, training=None):
    """Scores of captions that need no image and no reference.

    Args:
        captions: List of strings.
        training: `TrainingCaptions`, optional.

    Returns:
        Dict of floats for the whole and of `Scores` where each caption has
        one. `"vocabulary_size"`, `"distinct_captions"`, `"mean_length"` in
        words, `"self_bleu"`; shares of captions: `"repeat_rate"`, that say a
        word twice in a row, `"repeated_bigram_rate"`, that say some bigram
        twice, `"bad_ending_rate"`; shares of n-grams: `"repeated_bigrams"`
        and `"repeated_trigrams"`, see `repeated_ngrams()`. With `training`,
        what `TrainingCaptions.scores()` gives.

    Example:

    >>> from tfcap.text.caption_language import caption_language
    >>> found = caption_language(["a dog and a dog", "a dog runs"])
    >>> found["repeat_rate"].corpus, found["repeated_bigram_rate"].corpus
    (0.0, 0.5)
    """
    words = [caption.split() for caption in captions]
    bigrams = repeated_ngrams(words, 2)
    found = {
        "vocabulary_size": float(vocabulary_size(words)),
        "distinct_captions": float(len(set(captions))),
        "mean_length": _share(map(len, words)),
        "repeat_rate": _share(
            any(a == b for a, b in itertools.pairwise(row)) for row in words
        ),
        "repeated_bigram_rate": _share(bigrams.each > 0),
        "repeated_bigrams": bigrams,
        "repeated_trigrams": repeated_ngrams(words, 3),
        "bad_ending_rate": bad_ending_rate(words),
    }
    if len(words) > 1:
        few = [words[:SELF_BLEU_CAPTIONS]]
        found["self_bleu"] = self_bleu(few, 5, smoothing="nltk")[-1].corpus
    if training is not None:
        found |= training.scores(caption_tokenize_batch(captions))
    return found


def _share(values):
    each = np.array(list(values), "float64")
    return Scores(float(each.mean()), each)
