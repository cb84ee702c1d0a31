"""BLEU, CIDEr-D, METEOR and ROUGE-L at once."""

from tfcap.rewards.bleu import BLEU
from tfcap.rewards.cider_d import CIDErD
from tfcap.rewards.meteor import METEOR
from tfcap.rewards.reward import WeightedSum
from tfcap.rewards.rouge_l import ROUGEL
from tfcap.text.scores.mixtures import BCMR_BLEU_WEIGHTS
from tfcap.text.scores.mixtures import BCMR_WEIGHTS


class BCMR(WeightedSum):
    """A weighted sum of the scores of the COCO caption evaluation.

    ```
    reward = 0.5 * BLEU-1 + 0.5 * BLEU-2 + BLEU-3 + BLEU-4
             + CIDEr-D + 5 * METEOR + 2 * ROUGE-L
    ```

    The score of `tfcap.text.bcmr()`. What is trained for one of its parts
    learns what that part does not see; for all of them, less of it.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus. Whether the end token counts is decided there, for all
            parts but METEOR, which never sees it.
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        smoothing: See `tfcap.rewards.BLEU`. Defaults to None.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        name: String. Defaults to `"bcmr"`.

    Raises:
        tfcap.text.MissingScoreError: If METEOR cannot be had: no other
            score takes its place.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["two", "dogs", "play", "cats"])
    >>> corpus = [[["two", "dogs", "play"]], [["two", "cats"]]]
    >>> table = tfcap.text.DocumentFrequencies.from_references(
    ...     corpus, vocabulary
    ... )
    >>> try:
    ...     reward = tfcap.rewards.BCMR(table, vocabulary)
    ...     assert reward.name == "bcmr"
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, who call the sum BCMR
    """

    def __init__(
        self,
        document_frequencies,
        vocabulary,
        references="references",
        smoothing=None,
        jit_compile=True,
        name="bcmr",
    ):
        document_frequencies.check_vocabulary(vocabulary)
        shared = {
            "references": references,
            "jit_compile": jit_compile,
            "vocabulary": vocabulary,
        }
        eos = {"count_eos": document_frequencies.count_eos}
        bleu = BLEU(
            smoothing=smoothing,
            order_weights=BCMR_BLEU_WEIGHTS,
            **eos,
            **shared,
        )
        parts = {
            "cider_d": CIDErD(document_frequencies, **shared),
            "meteor": METEOR(vocabulary, references),
            "rouge_l": ROUGEL(**eos, **shared),
        }
        weighted = [(BCMR_WEIGHTS[part], parts[part]) for part in parts]
        super().__init__([(1.0, bleu), *weighted], name)
