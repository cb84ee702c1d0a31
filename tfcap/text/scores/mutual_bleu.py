"""mBLEU: how alike the captions of an image are."""

from tfcap.text.ngrams import check_order
from tfcap.text.scores.bleu_counts import BLEUCounts
from tfcap.text.scores.bleu_counts import bleu_of
from tfcap.text.scores.bleu_counts import count_matches
from tfcap.text.scores.checks import check_caption_sets
from tfcap.text.scores.comparison import compare_within
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.smoothing import check_smoothing


def mutual_bleu(sets, max_order=4, smoothing=None):
    """mBLEU: BLEU of each caption of an image against the image's others.

    The first captions of all images are scored as one corpus, with the other
    captions of each image as references; then the second ones, and so on.
    mBLEU is the mean of these corpus scores. The lower, the more diverse.

    Args:
        sets: List with, for every image, the list of its tokenized captions,
            as many for every image, at least two.
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: See `bleu()`. Defaults to None, the constants of
            pycocoevalcap.

    Returns:
        List of `max_order` `Scores` in [0, 1], mBLEU-1 first. `each` is the
        mean of the single captions' BLEU of every image, of which `corpus`
        is not the mean.

    Raises:
        ValueError: If a list is empty, or images have different numbers of
            captions (`self_bleu()` takes those), or less than two.
        TypeError: If captions are not tokenized.

    Example:

    >>> sets = [
    ...     [["a", "man", "rides"], ["a", "man", "walks"]],
    ...     [["two", "dogs", "play"], ["dogs", "run"]],
    ... ]
    >>> scores = tfcap.text.mutual_bleu(sets, max_order=2)
    >>> [round(score.corpus, 4) for score in scores]
    [0.4956, 0.3599]

    Reference:

    - Shetty et al., Speaking the Same Language, ICCV 2017; equal to
      `eval_div_stats` of self-critical.pytorch
    """
    check_order(max_order)
    check_smoothing(smoothing)
    check_caption_sets(sets, "sets", least=2)
    captions = len(sets[0])
    for i, members in enumerate(sets):
        if len(members) != captions:
            raise ValueError(
                "`sets` must hold as many captions of every image. Received: "
                f"{captions} in sets[0], {len(members)} in sets[{i}]. Use "
                "`tfcap.text.self_bleu()`."
            )
    counts = count_matches(compare_within(sets), max_order)
    each = bleu_of(counts, smoothing).reshape(max_order, -1, captions)
    # The first captions of all images, then the second ones, and so on.
    corpora = BLEUCounts(
        *(x.reshape(*x.shape[:-1], -1, captions).sum(axis=-2) for x in counts)
    )
    corpus = bleu_of(corpora, smoothing).mean(axis=1)
    return [Scores(float(c), e) for c, e in zip(corpus, each.mean(axis=2))]
