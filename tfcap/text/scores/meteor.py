"""METEOR 1.5 for English captions."""

import functools
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.meteor_alignment import WEIGHTS
from tfcap.text.scores.meteor_alignment import Sentences
from tfcap.text.scores.meteor_alignment import align
from tfcap.text.scores.meteor_alignment import count_chunks
from tfcap.text.scores.meteor_alignment import find_matches
from tfcap.text.scores.meteor_paraphrases import expand
from tfcap.text.scores.meteor_resources import meteor_resources
from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths

#: Parameters for English of the ranking task, the program's default.
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
_WEIGHTS = np.array(WEIGHTS)
_KINDS = np.array([DELTA, 1 - DELTA] * 2)
#: Words of captions, once for each reference, that are compared at a time.
_WORDS = 1 << 15


def meteor(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    progress: Callable | None = None,
) -> Scores:
    """METEOR: matches by word, stem, synonym and paraphrase.

    Words of a caption and a reference are aligned if they are equal, have the
    same stem, or are synonyms, and phrases if they are known paraphrases. `m`
    counts the matched words, weighted by the matcher (1, 0.6, 0.8, 0.6). These
    counts and the lengths weight content words by `delta` and function words
    by `1 - delta`:

    ```python
    P, R = m_caption / len(caption), m_reference / len(reference)
    F = 1 / ((1 - alpha) / P + alpha / R)
    METEOR = F * (1 - gamma * (chunks / mean_matched_words)**beta)
    ```

    The best reference counts. The corpus score is computed from the summed
    counts; it is not the mean.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        progress: Function, optional, called from time to time with the number
            of captions done and their total.

    Returns:
        `Scores` in `[0, 1]`.

    Raises:
        ValueError: If lists are empty or of different lengths, or a caption
            has more than `TFCAP_MAX_WORDS` words.
        TypeError: If captions are not lists of strings.
        MissingScoreError: If the package pycocoevalcap, which contains its
            tables, or the package snowballstemmer is missing.

    Example:

    >>> try:
    ...     scores = tfcap.text.meteor([["two", "cats"]], [[["two", "dogs"]]])
    ...     assert 0 < scores.corpus < 1
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5 for
      English, with normalization, as in the COCO caption evaluation. Equal
      to its program, metric `"meteor_java"`, also in the choice between tied
      alignments.
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    rows, total = [], len(candidates)
    for counts in _all_counts(candidates, references):
        rows.extend(counts)
        if progress is not None:
            progress(len(rows), total)
    rows = np.array(rows)
    corpus = float(_scores(rows.sum(axis=0)))
    resample = functools.partial(_resample, rows)
    return ResampledScores(corpus, _scores(rows), resample)


def _resample(rows, weights):
    """METEOR of drawn corpora; see `Scores.resampled()`."""
    return _scores(np.tensordot(weights, rows, 1))


def _all_counts(candidates, references):
    """Yields arrays of the counts of some captions, see `_counts()`."""
    sizes = [
        (1 + len(words)) * len(several)
        for words, several in zip(candidates, references)
    ]
    parts = np.cumsum(sizes) // _WORDS
    ends = np.append(np.flatnonzero(np.diff(parts)) + 1, len(parts))
    for start, end in zip((0, *ends), ends):
        yield _best_counts(candidates[start:end], references[start:end])


def _best_counts(candidates, references):
    """Counts of each caption with the first of its best references."""
    resources, rows, pairs = meteor_resources(), {}, {}

    def number(words):
        line = resources.words(" ".join(words))
        return rows.setdefault(line, len(rows))

    which = [
        pairs.setdefault((number(words), number(other)), len(pairs))
        for words, several in zip(candidates, references)
        for other in several
    ]
    sentences = Sentences.of(rows)
    counts = _counts(sentences, np.array([*pairs]).T, resources)[which]
    caption, place = expand(np.array([*map(len, references)]))
    # The first of the best.
    order = np.lexsort((-_scores(counts), caption))
    return counts[order[place == 0]]


def _counts(sentences, pairs, resources):
    """Counts from which the scores are computed.

    Returns:
        Array of shape `(pairs, 6, 4)`. Columns: content and function words of
        the caption, the same of the reference. First row: how many there are;
        the next four: how many of them each matcher matched; the last one
        begins with the number of chunks, 0 where all words are in one.
    """
    lengths = sentences.lengths[pairs]
    matches = find_matches(sentences, pairs, resources)
    matches = matches.rows(align(matches, lengths[1], lengths[0]))
    counts = np.zeros((len(pairs[0]), 6, 4))
    functions = [x in resources.function_words for x in sentences.vocabulary]
    before = np.array(functions, int)[sentences.words]
    before = np.append(0, np.cumsum(before))
    every = np.arange(len(counts))
    for column, side, (starts, lengths) in (
        (0, pairs[0], matches[4:]),
        (2, pairs[1], matches[2:4]),
    ):
        first = sentences.starts[side]
        matched = first[matches.pair] + starts, lengths
        for pair, row, start, length in (
            (every, 0, first, sentences.lengths[side]),
            (matches.pair, 1 + matches.matcher, *matched),
        ):
            function = before[start + length] - before[start]
            np.add.at(counts, (pair, row, column), length - function)
            np.add.at(counts, (pair, row, column + 1), function)
    chunks = count_chunks(matches, len(counts))
    whole = (counts[:, 0] == counts[:, 1:5].sum(axis=1)).all(axis=-1)
    counts[:, 5, 0] = np.where((chunks > 1) | ~whole, chunks, 0)
    return counts


def _scores(counts):
    """METEOR from counts of shape `(..., 6, 4)`; 0 without matches."""
    lengths, matched = counts[..., 0, :] * _KINDS, counts[..., 1:5, :]
    weighted = np.einsum("m,...mc->...c", _WEIGHTS, matched) * _KINDS
    of_caption = weighted[..., :2].sum(axis=-1)
    of_reference = weighted[..., 2:].sum(axis=-1)
    # Words of the caption and of the reference.
    words = matched.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = of_caption / lengths[..., :2].sum(axis=-1)
        recall = of_reference / lengths[..., 2:].sum(axis=-1)
        mean = 1 / ((1 - ALPHA) / precision + ALPHA / recall)
        penalty = GAMMA * (counts[..., 5, 0] / (words / 2)) ** BETA
        scores = np.maximum(mean * (1 - penalty), 0.0)
    return np.where((of_caption > 0) & (of_reference > 0), scores, 0.0)
