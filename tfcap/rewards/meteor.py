"""METEOR of captions."""

from tfcap import text
from tfcap.rewards.text_reward import TextReward
from tfcap.rewards.text_score import text_score
from tfcap.text.scores.meteor_resources import meteor_resources


class METEOR(TextReward):
    """METEOR: words that match a reference exactly, by stem or by meaning.

    The score of `tfcap.text.meteor`, whose tables are read where the reward
    is made. The words leave the graph; identical captions of one image are
    scored once.

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
        name: String. Defaults to `"meteor"`.

    Raises:
        tfcap.text.MissingScoreError: If its tables are missing, with what to
            do about it.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     reward = tfcap.rewards.METEOR(vocabulary)
    ...     assert reward.name == "meteor"
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5, in
      `[0, 1]`, as in the COCO caption evaluation
    """

    def __init__(
        self,
        vocabulary,
        references="references",
        remember=100_000,
        name="meteor",
    ):
        meteor_resources()
        super().__init__(
            text_score(text.meteor),
            vocabulary,
            references,
            remember=remember,
            name=name,
        )
