"""METEOR 1.5 of English captions."""

import functools
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.meteor_alignment import WEIGHTS
from tfcap.text.scores.meteor_alignment import align
from tfcap.text.scores.meteor_alignment import count_chunks
from tfcap.text.scores.meteor_alignment import find_matches
from tfcap.text.scores.meteor_resources import meteor_resources
from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths
from tfcap.text.worker_processes import called
from tfcap.text.worker_processes import process_pool

#: Parameters for English of the ranking task, the program's default.
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
_WEIGHTS = np.array(WEIGHTS)
_KINDS = np.array([DELTA, 1 - DELTA] * 2)
_FEW = 64


def meteor(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    progress: Callable | None = None,
    num_workers: int = 0,
) -> Scores:
    """METEOR: matches by word, stem and synonym.

    Words are aligned with those of a reference: equal ones, those of one
    stem, synonyms, and phrases with a known paraphrase. With `m` the matched
    words of a caption and of a reference, weighted by the matcher (1, .6, .8,
    .6) and by `delta` for content and `1 - delta` for function words, like
    the lengths:

    ```python
    P, R = m_caption / len(caption), m_reference / len(reference)
    F = 1 / ((1 - alpha) / P + alpha / R)
    METEOR = F * (1 - gamma * (chunks / mean_matched_words)**beta)
    ```

    The best reference counts. The score of the corpus is the formula of the
    summed counts, not the mean.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        progress: Function of the number of captions done and of their number,
            optional, called now and then.
        num_workers: Integer, processes among which the captions are shared
            out, each of 250 MB. Defaults to `0`: the caller's own.

    Returns:
        `Scores`, in `[0, 1]`.

    Raises:
        ValueError: If lists are empty or of different lengths, or a caption
            has more than `TFCAP_MAX_WORDS` words.
        TypeError: If captions are not lists of strings.
        MissingScoreError: If its tables are missing, which are in the package
            pycocoevalcap, or the package snowballstemmer.

    Example:

    >>> try:
    ...     scores = tfcap.text.meteor([["two", "cats"]], [[["two", "dogs"]]])
    ...     assert 0 < scores.corpus < 1
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5 for
      English, with normalization, as in the COCO caption evaluation. Equal
      to its program, metric `"meteor_java"`, also in how ties between
      alignments end.
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    meteor_resources()  # raises here what every process would
    rows, total = [], len(candidates)
    for found in _all_counts(candidates, references, num_workers):
        rows.extend(found)
        if progress is not None:
            progress(len(rows), total)
    rows = np.array(rows)
    corpus = float(_scores(rows.sum(axis=0)))
    resample = functools.partial(_resample, rows)
    return ResampledScores(corpus, _scores(rows), resample)


def _resample(rows, weights):
    """METEOR of drawn corpora; see `Scores.resampled()`."""
    return _scores(np.tensordot(weights, rows, 1))


def _all_counts(candidates, references, num_workers):
    """Yields lists of the counts of some captions, see `_counts()`."""
    starts = range(0, len(candidates), _FEW)
    parts = [
        (candidates[i : i + _FEW], references[i : i + _FEW]) for i in starts
    ]
    if not num_workers:
        yield from (_few_counts(*part) for part in parts)
        return
    with process_pool(_few_counts, num_workers) as pool:
        yield from pool.map(called, *zip(*parts))


def _few_counts(candidates, references):
    """Counts of each caption with the first reference of its best ones."""
    resources, best = meteor_resources(), []
    for candidate, several in zip(candidates, references):
        caption = resources.words(" ".join(candidate))
        others = [resources.words(" ".join(words)) for words in several]
        counts = [_counts(caption, other, resources) for other in others]
        counts = np.array(counts, float)
        best.append(counts[np.argmax(_scores(counts))])
    return best


def _counts(caption, reference, resources):
    """Counts from which the score is computed.

    Returns:
        List of shape `(6, 4)`. Columns: content and function words of
        the caption, the same of the reference. First row: how many there are;
        the next four: how many of them each matcher matched; the last one
        begins with the number of chunks, 0 where all words are in one.
    """
    counts = [[0] * 4 for _ in range(6)]
    matches = find_matches(caption, reference, resources)
    matches = align(caption, matches)
    parts = [(0, caption, reference)]
    for matcher, start, length, caption_start, caption_length in matches:
        matched = caption[caption_start : caption_start + caption_length]
        parts.append((1 + matcher, matched, reference[start : start + length]))
    for row, *sides in parts:
        for column, words in zip((0, 2), sides):
            for word in words:
                kind = word in resources.function_words
                counts[row][column + kind] += 1
    chunks = count_chunks(matches)
    if chunks > 1 or counts[0] != [*map(sum, zip(*counts[1:5]))]:
        counts[5][0] = chunks
    return counts


def _scores(counts):
    """The formula of counts, of shape `(..., 6, 4)`, and what is 0."""
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
