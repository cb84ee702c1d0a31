"""Variety of generated answers."""

from collections.abc import Iterable
from typing import Any

from tfcap.text import word_tokenize

YES_NO = (("yes",), ("no",))


def answer_statistics(
    answers: Iterable[str], corpus: Iterable[str]
) -> dict[str, Any]:
    """Says how varied, how new and how long generated answers are.

    A generator trained for likelihood alone falls back on a few safe answers.
    Answers are compared word by word after tokenization, so that case and
    spacing do not count.

    Args:
        answers: Strings, the generated answers.
        corpus: Strings, the answers of the training split.

    Returns:
        Dict of `"count"`, `"distinct"` (number of different answers),
        `"distinct_share"` (of the count), `"corpus_share"` (share of answers
        that occur in the corpus), `"mean_length"` in words and
        `"yes_no_share"` (share of answers that are exactly "yes" or "no").

    Raises:
        ValueError: If there are no answers.

    Example:

    >>> from reproduce.visdial.answer_statistics import answer_statistics
    >>> answer_statistics(
    ...     ["yes", "Yes", "a red one", "two"], corpus=["yes", "no"]
    ... )
    {'count': 4, 'distinct': 3, 'distinct_share': 0.75, 'corpus_share': 0.5,
     'mean_length': 1.5, 'yes_no_share': 0.5}

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.1 and table 3,
      compare answers of generators by their variety and length
    """
    tokenized = [tuple(word_tokenize(answer)) for answer in answers]
    if not tokenized:
        raise ValueError("`answers` must not be empty. Received: answers=[].")
    known = {tuple(word_tokenize(answer)) for answer in corpus}
    distinct = len(set(tokenized))
    return {
        "count": len(tokenized),
        "distinct": distinct,
        "distinct_share": distinct / len(tokenized),
        "corpus_share": sum(words in known for words in tokenized)
        / len(tokenized),
        "mean_length": sum(map(len, tokenized)) / len(tokenized),
        "yes_no_share": sum(words in YES_NO for words in tokenized)
        / len(tokenized),
    }
