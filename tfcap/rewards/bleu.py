"""BLEU on token ids."""

from keras import ops

from tfcap._ops import ngram_counts
from tfcap._ops import sentence_lengths
from tfcap.rewards.reference_reward import ReferenceReward
from tfcap.rewards.sentence_bleu import closest_length
from tfcap.rewards.sentence_bleu import sentence_bleu
from tfcap.text.scores.bleu import check_smoothing


class BLEU(ReferenceReward):
    """Share of a caption's n-grams that are in its references.

    ```
    precision_n = clipped matches of order n / n-grams of order n
    reward = prod(precision_1..K)**(1 / K)
             * exp(min(1 - closest_length / length, 0))
    ```

    An n-gram counts no more often than in the reference that holds it most
    often; the closest length is that of the reference closest in length, the
    shorter of two.

    Args:
        max_order: Integer `K`, longest n-gram. Defaults to `4`.
        smoothing: How an order without a match is treated. None takes
            `(matches + 1e-15) / (n-grams + 1e-9)`, as pycocoevalcap does:
            such a caption gets about 0, and so does one that is too short for
            the order. `"add_one"` adds 1 to both for orders above 1;
            `"floor"` counts 0.1 matches instead of none; `"exponential"`
            counts 1/2 for the first order without one, 1/4 for the second,
            and so on; with these three a caption without any matching word
            gets 0, with the last two also one of fewer than `K` words, be it
            perfect: see `effective_order`. A smoothed reward still ranks
            captions that share no 4-gram with a reference. Defaults to None.
        effective_order: Boolean, whether the mean is over those orders only
            that the caption is long enough for. Defaults to `False`.
        order_weights: Sequence of `K` numbers: the reward is BLEU-1 to BLEU-K
            so weighted and added up, at the cost of one. Defaults to None,
            BLEU-K alone.
        count_eos: Boolean, whether the end token counts as a word. Defaults
            to `True`, see `tfcap.rewards.ReferenceReward`.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        vocabulary: As that of `tfcap.rewards.ReferenceReward`. Defaults to
            the speaker's.
        name: String. Defaults to `"bleu_"` and the order, or `"bleu"` for
            several.

    Example:

    >>> from types import SimpleNamespace as Namespace
    >>> references = np.array([[[5, 6, 7, 2], [5, 8, 2, 0]]])
    >>> episode = Namespace(
    ...     speaker=Namespace(eos=2), inputs={"references": references}
    ... )
    >>> tokens = np.array([[[5, 6, 7, 2], [5, 8, 7, 2]]])
    >>> said = tfcap.decoding.Rollout(tokens, np.ones(tokens.shape))
    >>> print(tfcap.rewards.BLEU(2)(said, episode).numpy().round(3))
    [[1.    0.816]]

    Reference:

    - Papineni et al., BLEU, ACL 2002; constants of pycocoevalcap
    - Chen and Cherry, A Systematic Comparison of Smoothing Techniques for
      Sentence-Level BLEU, WMT 2014: its methods 2, 1 and 3 in this order
    """

    def __init__(
        self,
        max_order=4,
        smoothing=None,
        effective_order=False,
        order_weights=None,
        count_eos=True,
        references="references",
        jit_compile=True,
        name=None,
        vocabulary=None,
    ):
        if max_order < 1 or int(max_order) != max_order:
            raise ValueError(
                "`max_order` must be a positive integer. Received: "
                f"max_order={max_order}."
            )
        check_smoothing(smoothing)
        if order_weights is not None and len(order_weights) != max_order:
            raise ValueError(
                "`order_weights` must hold a number for each of BLEU-1 to "
                f"BLEU-{max_order}. Received: order_weights={order_weights!r}. "
                "Set `max_order` to their number."
            )
        self.max_order = int(max_order)
        self.smoothing = smoothing
        self.effective_order = effective_order
        self.order_weights = order_weights
        if order_weights is not None:
            self.order_weights = tuple(float(x) for x in order_weights)
        alone = order_weights is None
        name = name or (f"bleu_{max_order}" if alone else "bleu")
        super().__init__(name, count_eos, references, jit_compile, vocabulary)

    def score(self, words, references, present):
        own = ngram_counts(words, words, self.max_order)
        counts = ngram_counts(
            words[:, :, None], references[:, None], self.max_order
        )
        lengths = sentence_lengths(words)
        scores = sentence_bleu(
            own,
            ops.max(counts, axis=2),
            lengths,
            closest_length(
                lengths, sentence_lengths(references)[:, None], present[:, None]
            ),
            self.smoothing,
            self.effective_order,
        )
        if self.order_weights is None:
            scores = scores[..., -1]
        else:
            weights = ops.convert_to_tensor(self.order_weights, "float32")
            scores = ops.sum(scores * weights, axis=-1)
        return scores * ops.max(present, axis=-1, keepdims=True)
