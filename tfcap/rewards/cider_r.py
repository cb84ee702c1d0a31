"""CIDEr-R on token ids, with the weights of the training corpus."""

from keras import ops

from tfcap._ops import sentence_lengths
from tfcap.rewards.cider_d import CIDErD


class CIDErR(CIDErD):
    """CIDEr-D that is lenient on length and strict on repetition.

    The Gaussian of CIDEr-D makes a long caption of slightly wrong length
    worthless, and a model that is trained for it fills up with repeated
    words. Here a difference in length counts relative to the reference, and
    saying a word more often, or less often, than the reference costs.

    ```
    repetition = geometric mean over distinct words w of the caption of
        1 / (1 + |count_r(w) - count_c(w)|) if w is in the reference,
        1 / count_c(w) if not
    length = exp(-((length_c - length_r) / length_r)**2)
    penalty = repetition**repetition_weight * length**length_weight
    ```

    in place of the penalty of `CIDErD`.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus. Whether the end token counts is decided there.
        repetition_weight: Float, exponent of the penalty on repetition.
            Defaults to `0.8`.
        length_weight: Float, exponent of the penalty on length. Defaults to
            `0.2`.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        vocabulary: As that of `tfcap.rewards.ReferenceReward`. Defaults to
            the speaker's.
        name: String. Defaults to `"cider_r"`.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["two", "dogs", "play", "cats"])
    >>> corpus = [[["two", "dogs", "play"]], [["two", "cats"]]]
    >>> reward = tfcap.rewards.CIDErR(
    ...     tfcap.text.DocumentFrequencies.from_references(corpus, vocabulary)
    ... )
    >>> reward.name
    'cider_r'

    Reference:

    - Dos Santos et al., CIDEr-R: Robust Consensus-based Image Description
      Evaluation, W-NUT 2021. Words of the penalty on repetition are ids here,
      the end token among them where it counts; the authors' code splits words
      at punctuation.
    """

    def __init__(
        self,
        document_frequencies,
        repetition_weight=0.8,
        length_weight=0.2,
        references="references",
        jit_compile=True,
        name="cider_r",
        vocabulary=None,
    ):
        self.repetition_weight = repetition_weight
        self.length_weight = length_weight
        super().__init__(
            document_frequencies,
            references=references,
            jit_compile=jit_compile,
            name=name,
            vocabulary=vocabulary,
        )

    def penalty(self, words, references, own, counts):
        ours = ops.maximum(sentence_lengths(words), 1.0)[:, :, None]
        theirs = ops.maximum(sentence_lengths(references), 1.0)[:, None]
        length = -ops.square((ours - theirs) / theirs)
        times, counts = own[..., 0, :], counts[..., 0, :]
        excess = ops.where(
            counts > 0, ops.absolute(counts - times), times - 1.0
        )
        # A word that is said twice comes up twice, each time with half.
        shares = ops.cast(times > 0, "float32") / ops.maximum(times, 1.0)
        logs = ops.sum(shares * ops.log1p(ops.maximum(excess, 0.0)), axis=-1)
        distinct = ops.maximum(ops.sum(shares, axis=-1), 1.0)
        return ops.exp(
            self.length_weight * length
            - self.repetition_weight * logs / distinct
        )
