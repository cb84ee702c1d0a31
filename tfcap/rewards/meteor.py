"""METEOR of what is said, from its authors' program."""

from tfcap import text
from tfcap.rewards.text_reward import TextReward
from tfcap.rewards.text_score import text_score


class METEOR(TextReward):
    """METEOR: words that match a reference exactly, by stem or by meaning.

    The score of `tfcap.text.METEOR`, which is a program for Java: without it
    the reward is refused where it is made. It is started by the first step,
    which takes some seconds, and ends with the reward or with Python. The
    words leave the graph; identical captions of one image are scored once.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        java: String or path of a `java`, optional. Defaults to `$TFCAP_JAVA`,
            else the one on the PATH.
        heap: String, memory of the program at most. Defaults to `"2G"`.
        timeout: Float, seconds that it may be silent. Defaults to `300`.
        remember: Integer, number of scores kept for captions that are said
            again of their image. Defaults to `100000`, 30 MB.
        name: String. Defaults to `"meteor"`.

    Raises:
        tfcap.text.JavaError: If Java or the program is missing, with what to
            do about it; while training, if the program dies or hangs.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     tfcap.rewards.METEOR(vocabulary, java="/no/java")
    ... except tfcap.text.JavaError as error:
    ...     print(error)
    METEOR is absent: there is no Java at '/no/java'. Install a Java ...

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5, in
      `[0, 1]`, as in the COCO caption evaluation
    """

    def __init__(
        self,
        vocabulary,
        references="references",
        java=None,
        heap="2G",
        timeout=300.0,
        remember=100_000,
        name="meteor",
    ):
        self.scorer = text.METEOR(java, heap, timeout)
        self.scorer.check()
        function = text_score(self.scorer.score)
        super().__init__(
            function, vocabulary, references, remember=remember, name=name
        )
