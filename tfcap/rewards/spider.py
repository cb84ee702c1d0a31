"""CIDEr-D and SPICE at once."""

from tfcap.rewards.cider_d import CIDErD
from tfcap.rewards.reward import WeightedSum
from tfcap.rewards.spice import SPICE
from tfcap.text.scores.mixtures import SPIDER_WEIGHTS


class SPIDEr(WeightedSum):
    """The sum of CIDEr-D and SPICE.

    CIDEr-D asks for fluency, SPICE for what is said of the image. It is twice
    the score of `tfcap.text.spider()`, which is reported as a mean.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus. Whether the end token counts is decided there; SPICE never
            sees it.
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        name: String. Defaults to `"spider"`.
        spice: Reward, optional, that stands for SPICE, such as
            `tfcap.rewards.SPICESpaCy`: the sum is then another score, to be
            reported under its name, such as "SPIDEr (spaCy)". Defaults to
            `tfcap.rewards.SPICE`.

    Raises:
        tfcap.text.MissingScoreError: If SPICE cannot be had: no other score
            takes its place.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["two", "dogs", "play", "cats"])
    >>> corpus = [[["two", "dogs", "play"]], [["two", "cats"]]]
    >>> table = tfcap.text.DocumentFrequencies.from_references(
    ...     corpus, vocabulary
    ... )
    >>> try:
    ...     reward = tfcap.rewards.SPIDEr(table, vocabulary)
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "SPICE is absent" in str(error)

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017
    """

    def __init__(
        self,
        document_frequencies,
        vocabulary,
        references="references",
        jit_compile=True,
        name="spider",
        spice=None,
    ):
        document_frequencies.check_vocabulary(vocabulary)
        parts = {
            "cider_d": CIDErD(
                document_frequencies,
                references=references,
                jit_compile=jit_compile,
                vocabulary=vocabulary,
            ),
            "spice": spice or SPICE(vocabulary, references),
        }
        weighted = [(SPIDER_WEIGHTS[part], parts[part]) for part in parts]
        super().__init__(weighted, name)
