"""Controls of a ranking: a prior that asks no network, and other images."""

from collections import Counter

import numpy as np

from tfcap.metrics import RankingReport


def answer_prior(train, test):
    """Ranks the options of a split by their frequency in another.

    No model should fall below: it sees neither image, question nor history.

    Args:
        train: `tfcap.data.EncodedDialogs`, whose human answers are counted.
        test: `tfcap.data.EncodedDialogs` with options.

    Returns:
        `tfcap.metrics.RankingReport`. Options that nobody gave in `train` are
        ties.

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5: "answer prior"
    """

    def words(row):
        return tuple(int(i) for i in row if i)

    given = train.answer_index[train.answer_index >= 0]
    counts = Counter(words(train.answers[i]) for i in given)
    table = np.array([counts[words(row)] for row in test.answers], float)
    report = RankingReport()
    report.add(
        table[test.options],
        np.where(test.answer_index >= 0, test.gt_index, -1),
        test.relevance,
        test.options >= 0,
    )
    return report


def other_images(features, dialogs, seed: int = 0):
    """Features in which every dialog has the image of another dialog.

    A network that looks at images ranks worse with these. Each image is used
    once, and none by its own dialog.

    Args:
        dialogs: Integer, M, at least 2.

    Returns:
        Function from rows `(B,)` to features `(B, P, D)`.

    Raises:
        ValueError: If there is no other dialog.

    Example:

    >>> from reproduce.visdial.controls import other_images
    >>> features = np.arange(2.0)[:, None, None]
    >>> other_images(features, 2)(np.array([0, 1])).ravel()
    array([1., 0.], dtype=float32)
    """
    if dialogs < 2:
        raise ValueError(
            "`dialogs` must be at least 2, so that there is another image. "
            f"Received: dialogs={dialogs}. Take more dialogs."
        )
    # One cycle through all dialogs in random order has no fixed point.
    order = np.random.default_rng(seed).permutation(dialogs)
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)

    def others(rows):
        rows = other[np.asarray(rows)]
        chosen = features(rows) if callable(features) else features[rows]
        return np.asarray(chosen, "float32")

    return others
