"""How many different words a model uses."""

from tfcap.text.scores.checks import check_captions


def vocabulary_size(captions):
    """Number of distinct words in captions.

    Captions of the same images are what may be compared: more captions hold
    more words. Also called gDiv-1.

    Args:
        captions: List of tokenized captions.

    Returns:
        Integer.

    Raises:
        ValueError: If there are no captions.
        TypeError: If captions are not tokenized.

    Example:

    >>> tfcap.text.vocabulary_size([["a", "red", "bus"], ["a", "bus"]])
    3
    """
    check_captions(captions, "captions")
    return len(set().union(*captions))
