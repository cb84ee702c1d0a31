"""Distances between the samples of an image as a reward."""

from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import compiled
from tfcap._ops import edit_distance
from tfcap._ops import ngram_counts
from tfcap._ops import sentence_lengths
from tfcap._ops import words_only
from tfcap.rewards.reference_reward import with_one_end
from tfcap.rewards.reward import Reward
from tfcap.rewards.sentence_bleu import closest_length
from tfcap.rewards.sentence_bleu import sentence_bleu


class PairwiseDiversity(Reward):
    """Mean distance of a sample to the other samples of its image.

    ```
    reward_j = mean over k != j of distance(y_j, y_k)
    ```

    Rewarding it explores whole captions, where an entropy bonus explores
    words. Distances are symmetric, which makes

    ```
    gradient of sum_y sum_y' distance(y, y') p(y) p(y')
        = 2 * E[reward_j * gradient of log p(y_j)]
    ```

    so that the objective of the paper, `alpha` times CIDEr plus `1 - alpha`
    times diversity, is `alpha` times one `ScoreFunction` plus
    `2 * (1 - alpha)` times another, on the same rollout. The 2 stands for the
    effect of a sample on the rewards of the others, so that `credited()` is
    the reward alone; `"self_bleu"` is not symmetric, and the factor is no
    more than an approximation there. Samples that are all alike have equal
    rewards: with their mean for a baseline, no gradient. Of references,
    those that are absent are nobody's other; one without another gets 0.

    Args:
        distance: `"bleu"`: 2 minus BLEU-3 minus BLEU-4 of either caption
            against the other, in both directions, averaged, from 0 to 2;
            `"edit"`: the edit distance in words over the length of the longer
            caption, from 0 to 1; `"self_bleu"`, of no pairs: 2 minus BLEU-3
            minus BLEU-4 of a caption with all others as its references, from
            0 to 2, as in code of the paper's first author. Defaults to
            `"bleu"`.
        count_eos: Boolean, whether the end token counts as a word. Defaults
            to `True`.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        name: String. Defaults to `"pairwise_diversity"`.

    Raises:
        ValueError: While a step is traced, if there is one sample an image.

    Example:

    >>> from types import SimpleNamespace as Namespace
    >>> episode = Namespace(speaker=Namespace(eos=2), inputs={})
    >>> tokens = np.array([[[5, 6, 7, 2], [5, 6, 7, 2], [8, 9, 2, 0]]])
    >>> said = tfcap.decoding.Rollout(tokens, (tokens > 0).astype("float32"))
    >>> reward = tfcap.rewards.PairwiseDiversity("edit", count_eos=False)
    >>> print(reward(said, episode).numpy())
    [[0.5 0.5 1. ]]

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, equations 8 to 16. The paper sums over `k = j` as well and
      divides by the number of samples: its weight on the same gradient is
      smaller by `(S - 1) / S`. A caption shorter than an n-gram has BLEU of
      the orders that it is long enough for; with the constants of the usual
      code it would be unlike itself.
    """

    compares_samples = True

    def __init__(
        self,
        distance="bleu",
        count_eos=True,
        jit_compile=True,
        name="pairwise_diversity",
    ):
        if distance not in _DISTANCES:
            raise ValueError(
                f"`distance` must be one of {tuple(_DISTANCES)}. Received: "
                f"distance={distance!r}."
            )
        self.distance = distance
        self.count_eos = count_eos
        self.jit_compile = jit_compile
        self.name = name
        self._score = compiled(self.score) if jit_compile else self.score

    def call(self, rollout, episode):
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        if rollout.tokens.shape[1] == 1:
            raise ValueError(
                "PairwiseDiversity needs at least 2 samples of each image. "
                f"Received: shape={tuple(rollout.tokens.shape)}. Set "
                "`num_samples` of the decoder."
            )
        words = words_only(rollout.tokens, rollout.mask)
        words = with_one_end(words, episode.speaker.eos, self.count_eos)
        return self._score(words, ops.cast(rollout.nonempty, "float32"))

    def score(self, words, nonempty):
        """Scores samples.

        Args:
            words: Int32 tensor of shape `(B, S, T)`, -1 for no word.
            nonempty: Float32 tensor of shape `(B, S)`, 0 for an absent sample.

        Returns:
            Float32 tensor of shape `(B, S)`.
        """
        samples = ops.arange(ops.shape(words)[1])
        apart = ops.not_equal(samples[:, None], samples)
        others = ops.cast(apart, "float32") * nonempty[:, None]
        return _DISTANCES[self.distance](words, others)


def _mean_bleu_distance(words, others):
    """Distance to `others` `(B, S, S)` by BLEU, the mean of both directions."""
    lengths = sentence_lengths(words)
    ours = lengths[:, :, None] + ops.zeros_like(lengths[:, None])
    similar = _bleu(
        ngram_counts(words, words)[:, :, None],
        ngram_counts(words[:, :, None], words[:, None]),
        ours,
        ops.swapaxes(ours, 1, 2),
    )
    return _mean(2.0 - (similar + ops.swapaxes(similar, 1, 2)) / 2.0, others)


def _mean_edit_distance(words, others):
    """Mean of edits to `others` `(B, S, S)`, each over the longer length."""
    lengths = sentence_lengths(words)
    longer = ops.maximum(lengths[:, :, None], lengths[:, None])
    edits = edit_distance(words[:, :, None], words[:, None])
    return _mean(edits / ops.maximum(longer, 1.0), others)


def _self_bleu_distance(words, others):
    """Distance to the set of `others` `(B, S, S)` by BLEU."""
    counts = ngram_counts(words[:, :, None], words[:, None])
    counts = ops.max(counts * others[..., None, None], axis=2)
    lengths = sentence_lengths(words)
    closest = closest_length(lengths, lengths[:, None], others)
    similar = _bleu(ngram_counts(words, words), counts, lengths, closest)
    return (2.0 - similar) * ops.max(others, axis=-1)


def _bleu(own, counts, lengths, others):
    """BLEU-3 plus BLEU-4."""
    scores = sentence_bleu(own, counts, lengths, others, effective_order=True)
    # Captions without a word are alike, though they have no n-gram.
    wordless = ops.equal(lengths + others, 0)
    return ops.where(wordless, 2.0, scores[..., 2] + scores[..., 3])


def _mean(pairs, others):
    """Mean over the other samples, `(B, S, S)` to `(B, S)`."""
    count = ops.maximum(ops.sum(others, axis=-1), 1.0)
    return ops.sum(pairs * others, axis=-1) / count


_DISTANCES = {
    "bleu": _mean_bleu_distance,
    "edit": _mean_edit_distance,
    "self_bleu": _self_bleu_distance,
}
