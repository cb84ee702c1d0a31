"""CIDEr-R, for long captions and captions of many lengths."""

import functools
import re
from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.blocks import blocks
from tfcap.text.scores.blocks import earlier_occurrences
from tfcap.text.scores.blocks import occurrences
from tfcap.text.scores.cider import consensus
from tfcap.text.scores.comparison import compare_with_references


def cider_r(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    document_frequencies=None,
    vocabulary=None,
    repetition_weight: float = 0.8,
    length_weight: float = 0.2,
):
    """CIDEr-R: CIDEr-D that is lenient on length and strict on repetition.

    The Gaussian of CIDEr-D makes a long caption of slightly wrong length
    worthless, and a model that learns from it fills up with repeated words.
    CIDEr-R measures the difference in length relative to the reference, and
    makes saying a word more often, or less often, than the reference cost.

    ```python
    repetition = geometric mean over distinct words w of the candidate of
        1 / (1 + abs(count_r(w) - count_c(w))) if w in reference
        else 1 / count_c(w)
    length = exp(-((length_c - length_r) / length_r) ** 2)
    similarity_n *= repetition**0.8 * length**0.2    # of clipped cosines
    CIDEr_R = 10 * mean over references, mean over n (similarity_n)
    ```

    Words of the repetition penalty are runs of letters and digits, so that
    punctuation may repeat and "t-shirt" is two; ids are taken as they are.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        document_frequencies: A `tfcap.text.DocumentFrequencies`, optional,
            see `cider_d()`. Defaults to those of `references`.
        vocabulary: The `Vocabulary` of the document frequencies, for captions
            given as words.
        repetition_weight: Float, exponent of the repetition penalty. Defaults
            to `0.8`.
        length_weight: Float, exponent of the length penalty. Defaults to
            `0.2`.

    Returns:
        `Scores` in [0, 10]; `corpus` is the mean of `each`. An empty caption
        gets 0.

    Raises:
        ValueError: If lists are empty or of different lengths, or if there
            are references of only one image and no document frequencies.
        TypeError: If captions are not tokenized.

    Example:

    >>> from tfcap.text.scores.cider_r import cider_r
    >>> candidates = [["two", "two", "dogs"], ["a", "bus"]]
    >>> references = [[["two", "dogs", "play"]], [["a", "red", "bus"]]]
    >>> cider_r(candidates, references).each.round(4)
    array([1.9257, 1.9964])

    Reference:

    - Dos Santos et al., CIDEr-R: Robust Consensus-based Image Description
      Evaluation, W-NUT 2021; equal to gabrielsantosrv/coco-caption
    """

    def penalty(comparison):
        words = compare_with_references(*_split(candidates, references))
        repetition = _repetition_penalty(words)
        length = _length_penalty(comparison)
        return repetition**repetition_weight * length**length_weight

    return consensus(
        candidates,
        references,
        document_frequencies,
        vocabulary,
        penalty=penalty,
    )


def _length_penalty(comparison):
    lengths = np.maximum(comparison.lengths, 1)
    ours = lengths[np.repeat(comparison.left, comparison.sizes)]
    theirs = lengths[comparison.right]
    return np.exp(-(((ours - theirs) / theirs) ** 2))


def _repetition_penalty(comparison):
    ranks = earlier_occurrences(comparison, 1, comparison.left)[0]
    counts = occurrences(comparison, 1, comparison.left)[0].astype(float)
    penalty = np.ones(len(comparison.right))
    for block in blocks(comparison):
        ours = counts[block.words]
        theirs = block.count_runs(1)[0].astype(float)
        excess = np.where(theirs > 0, np.abs(theirs - ours), ours - 1)
        once = (ranks[block.words] == 0) & (ours > 0)
        logs = (np.log1p(excess, where=once, out=np.zeros_like(ours))).sum(0)
        penalty[block.pairs] = np.exp(-logs / np.maximum(once.sum(0), 1))
    return penalty


def _split(candidates, references):
    """Captions of runs of letters and digits; shared lists stay shared."""

    @functools.cache
    def parts(word):
        return re.findall(r"\w+", word) if isinstance(word, str) else [word]

    @functools.cache
    def split_at(i):
        return split(by_id[i])

    def split(captions):
        return [[p for w in words for p in parts(w)] for words in captions]

    references = list(references)
    by_id = {id(captions): captions for captions in references}
    return split(candidates), [split_at(id(x)) for x in references]
