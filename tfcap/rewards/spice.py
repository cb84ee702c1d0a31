"""SPICE of what is said, from its authors' program."""

from tfcap.rewards.text_reward import TextReward
from tfcap.rewards.text_score import text_score
from tfcap.text.scores.java import check_spice
from tfcap.text.scores.java import spice


class SPICE(TextReward):
    """SPICE: what a caption and its references say of things, parsed.

    The score of pycocoevalcap, a program for Java with models of its own:
    where one is missing the reward is refused where it is made. The program is
    run once a step, and each time reads its models, which alone takes seconds;
    references are parsed once, where it has a cache. Identical captions of one
    image are scored once.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        remember: Integer, number of scores kept for captions that are said
            again of their image. Defaults to `100000`, 30 MB.
        name: String. Defaults to `"spice"`.

    Raises:
        tfcap.text.MissingScoreError: If Java, the program or its models are
            missing, with what to do about it; while training, if the program
            fails.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     reward = tfcap.rewards.SPICE(vocabulary)
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "SPICE is absent" in str(error)

    Reference:

    - Anderson et al., SPICE, ECCV 2016; version 1.0, in `[0, 1]`
    """

    def __init__(
        self,
        vocabulary,
        references="references",
        remember=100_000,
        name="spice",
    ):
        check_spice()
        super().__init__(
            text_score(spice),
            vocabulary,
            references,
            remember=remember,
            name=name,
        )
