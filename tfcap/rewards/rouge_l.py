"""ROUGE-L on token ids."""

from keras import ops

from tfcap._ops import common_subsequence
from tfcap._ops import sentence_lengths
from tfcap.rewards.reference_reward import ReferenceReward


class ROUGEL(ReferenceReward):
    """Longest common subsequence of a caption and a reference.

    With `lcs` the length of the longest common subsequence:

    ```
    precision = max(lcs(caption, r) / len(caption) for r in references)
    recall = max(lcs(caption, r) / len(r) for r in references)
    reward = (1 + beta**2) * precision * recall
             / (recall + beta**2 * precision)
    ```

    Captions and references must have lengths that are known when a graph is
    traced; those of at most 31 words are compared by bits.

    Args:
        beta: Float, weight of recall against precision. Defaults to `1.2`.
        count_eos: Boolean, whether the end token counts as a word. Defaults
            to `True`, see `tfcap.rewards.ReferenceReward`.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        vocabulary: As that of `tfcap.rewards.ReferenceReward`. Defaults to
            the speaker's.
        name: String. Defaults to `"rouge_l"`.

    Example:

    >>> from types import SimpleNamespace as Namespace
    >>> references = np.array([[[5, 6, 7, 2]]])
    >>> episode = Namespace(
    ...     speaker=Namespace(eos=2), inputs={"references": references}
    ... )
    >>> tokens = np.array([[[5, 6, 7, 2], [7, 5, 2, 0]]])
    >>> said = tfcap.decoding.Rollout(tokens, (tokens > 0).astype("float32"))
    >>> print(tfcap.rewards.ROUGEL()(said, episode).numpy().round(3))
    [[1.    0.557]]

    Reference:

    - Lin, ROUGE, 2004; `beta` and the separate maxima of pycocoevalcap
    """

    def __init__(
        self,
        beta=1.2,
        count_eos=True,
        references="references",
        jit_compile=True,
        name="rouge_l",
        vocabulary=None,
    ):
        if not beta > 0:
            raise ValueError(f"`beta` must be positive. Received: beta={beta}.")
        self.beta = beta
        super().__init__(name, count_eos, references, jit_compile, vocabulary)

    def score(self, words, references, present):
        common = common_subsequence(words[:, :, None], references[:, None])
        theirs = ops.maximum(sentence_lengths(references), 1.0)
        ours = ops.maximum(sentence_lengths(words), 1.0)
        precision = ops.max(common, axis=-1) / ours
        recall = ops.max(common / theirs[:, None], axis=-1)
        weight = self.beta**2
        # Precision and recall are 0 together.
        below = ops.where(recall > 0, recall + weight * precision, 1.0)
        return (1.0 + weight) * precision * recall / below
