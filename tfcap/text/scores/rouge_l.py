"""ROUGE-L of captions."""

from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.comparison import blocks
from tfcap.text.scores.comparison import compare_with_references
from tfcap.text.scores.comparison import count_common
from tfcap.text.scores.scores import Scores


def rouge_l(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    beta: float = 1.2,
) -> Scores:
    """ROUGE-L of captions against their references.

    `lcs` is the length of the longest common subsequence. The largest precision
    and the largest recall may come from different references:

    ```python
    precision = max(lcs(candidate, r) / len(candidate) for r in references)
    recall = max(lcs(candidate, r) / len(r) for r in references)
    ROUGE_L = (1 + beta**2) * precision * recall
              / (recall + beta**2 * precision)
    ```

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        beta: Float, weight of recall against precision. Defaults to `1.2`.

    Returns:
        `Scores` in [0, 1]; `corpus` is the mean of `each`. An empty caption
        gets 0.

    Raises:
        ValueError: If lists are empty or of different lengths.
        TypeError: If captions are not tokenized.

    Example:

    >>> tfcap.text.rouge_l(
    ...     [["a", "dog", "runs"]], [[["a", "black", "dog", "runs"]]]
    ... ).each.round(4)
    array([0.8356])

    Reference:

    - Lin, ROUGE, 2004; `beta` and the maxima of pycocoevalcap, equal to it
      except for an empty caption with an empty reference (0 here, 1 there)
    """
    comparison = compare_with_references(candidates, references)
    lengths = np.maximum(comparison.lengths, 1)
    precision = np.zeros(len(comparison.left))
    recall = np.zeros_like(precision)
    for block in blocks(comparison):
        common = count_common(block.equal).astype(float)
        of_others = common / lengths[comparison.right[block.pairs]]
        most = np.maximum.reduceat(common, block.starts)
        precision[block.left] = most / lengths[comparison.left[block.left]]
        recall[block.left] = np.maximum.reduceat(of_others, block.starts)
    weight = beta**2
    # Precision and recall are 0 together.
    denominator = np.where(recall == 0, 1, recall + weight * precision)
    each = (1 + weight) * precision * recall / denominator
    return Scores(float(each.mean()), each)
