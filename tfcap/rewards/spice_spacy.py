"""SPICE (spaCy) of captions."""

import functools

from tfcap import text
from tfcap.rewards.text_reward import TextReward
from tfcap.rewards.text_score import text_score
from tfcap.text.scores.spice_spacy import load_parser


class SPICESpaCy(TextReward):
    """SPICE (spaCy): what a caption and its references say of things, parsed.

    The score of `tfcap.text.spice_spacy`, whose parser and synonyms are
    loaded where the reward is made. The words leave the graph; a distinct
    caption is parsed once, some 2 ms, and identical captions of one image are
    scored once.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        model: String, optional, see `tfcap.text.SceneGraphParser`.
        remember: Integer, number of scores kept for captions that are said
            again of their image. Defaults to `100000`, 30 MB.
        name: String. Defaults to `"spice_spacy"`.

    Raises:
        tfcap.text.MissingScoreError: If spaCy, its model or the synonyms are
            missing, with what to do.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     reward = tfcap.rewards.SPICESpaCy(vocabulary)
    ...     assert reward.name == "spice_spacy"
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "Install it" in str(error)

    Reference:

    - Anderson et al., SPICE, ECCV 2016, section 3, on another parser, in
      `[0, 1]`
    """

    def __init__(
        self,
        vocabulary,
        references="references",
        model=None,
        remember=100_000,
        name="spice_spacy",
    ):
        load_parser(model)  # raises here what the first step would
        score = functools.partial(text.spice_spacy, model=model)
        super().__init__(
            text_score(score),
            vocabulary,
            references,
            remember=remember,
            name=name,
        )
