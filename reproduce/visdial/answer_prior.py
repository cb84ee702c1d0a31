"""Ranking answers by how often they are given, whatever the question."""

from collections import Counter

import numpy as np

from tfcap.metrics import RankingReport


def answer_prior(train, test):
    """Ranks the options of a split by their frequency in another.

    What no model should fall below: it has seen neither image, question nor
    history.

    Args:
        train: `tfcap.data.EncodedDialogs`, whose human answers are counted.
        test: `tfcap.data.EncodedDialogs` with options.

    Returns:
        `tfcap.metrics.RankingReport`. Options that nobody gave in `train` are
        ties.

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5: "answer prior"
    """
    given = train.answer_index[train.answer_index >= 0]
    counts = Counter(_words(train.answers[i]) for i in given)
    table = np.array([counts[_words(row)] for row in test.answers], float)
    report = RankingReport()
    report.add(
        table[test.options],
        np.where(test.answer_index >= 0, test.gt_index, -1),
        test.relevance,
        test.options >= 0,
    )
    return report


def _words(row):
    return tuple(int(i) for i in row if i)
