"""Rewards that compare captions with human references, by ids."""

import numpy as np
from keras import ops

from tfcap._ops import NGramTable
from tfcap._ops import call_on_host
from tfcap._ops import check_shape
from tfcap._ops import compiled
from tfcap._ops import is_end
from tfcap._ops import ngram_counts
from tfcap._ops import reference_mask
from tfcap._ops import sentence_lengths
from tfcap._ops import without_start
from tfcap._ops import words_only
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import batch_entry
from tfcap.rewards.host_words import HostWords
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import check_several
from tfcap.text import as_vocabulary
from tfcap.text import rouge_l
from tfcap.text.scores.bleu import FLOOR
from tfcap.text.scores.bleu import SMALL
from tfcap.text.scores.bleu import TINY
from tfcap.text.scores.bleu import check_smoothing
from tfcap.text.scores.cider import check_sigma

#: More than any two sentences differ in length.
_LONGEST = 4096.0


class ReferenceReward(Reward):
    """Scores captions by their similarity to human references.

    The references are part of the batch, `inputs["references"]`, integers of
    shape `(B, N, T)`: N captions of each image, ended by the end token and
    padded with the speaker's `pad`. A row of padding is absent, and an image
    without references gives 0. A start token, the speaker's `bos`, is left
    out.

    If ids are pieces of words, captions and references are decoded on the
    host, and their words are compared.

    To write one, override `score()`, a function of tensors alone.

    Args:
        name: String, under which it is logged.
        count_eos: Boolean, whether the end token counts as a word, so that
            captions lose if they stop too late or within a phrase. Several end
            tokens count as one. A caption without words shares it with every
            reference, which BLEU-1 and ROUGE-L reward a little. Defaults to
            `True`.
        references: String, the key of the references. Defaults to
            `"references"`.
        jit_compile: Boolean, whether to compile the score, but not the rest
            of the step, with XLA on TensorFlow, where it then costs a
            fraction. Every new shape of captions or references is compiled
            once: pad them to fixed lengths. Defaults to `True`.
        vocabulary: Vocabulary or tokenizer of the ids, see
            `tfcap.text.as_vocabulary()`. Defaults to the attribute
            `vocabulary` of the speaker; without one, ids are words.
    """

    #: Words that have ids of their own, where strings are compared.
    words = None

    def __init__(
        self,
        name,
        count_eos=True,
        references="references",
        jit_compile=True,
        vocabulary=None,
    ):
        self.name = name
        self.count_eos = count_eos
        self.references = references
        self.jit_compile = jit_compile
        self.vocabulary = vocabulary
        if vocabulary is not None:
            self.vocabulary = as_vocabulary(vocabulary)
        self._score = compiled(self.score) if jit_compile else self.score
        self._readers = {}

    def call(self, rollout, episode):
        eos = episode.speaker.eos
        human = human_captions(episode, self.references, self.name)
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        words = words_only(rollout.tokens, rollout.mask)
        pad = getattr(episode.speaker, "pad", 0)
        references = words_only(human, reference_mask(human, eos, pad))
        present = ops.cast(ops.greater_equal(references[..., 0], 0), "float32")
        reader = self.reader(episode)
        if reader is not None:
            words, references = reader(words, references, eos)
        else:
            words = with_one_end(words, eos, self.count_eos)
            references = with_one_end(references, eos, self.count_eos)
        return self._score(words, references, present, *self.tensors())

    def reader(self, episode):
        """`HostWords` where ids are not words to the score, else `None`."""
        vocabulary = self.known_vocabulary(episode)
        if vocabulary is None or (
            self.words is None and getattr(vocabulary, "is_words", True)
        ):
            return None
        source = getattr(vocabulary, "tokenizer", vocabulary)
        if id(source) not in self._readers:
            words = () if self.words is None else self.words
            reader = HostWords(vocabulary, words, self.count_eos)
            self._readers[id(source)] = reader
        return self._readers[id(source)]

    def known_vocabulary(self, episode):
        """Returns the vocabulary of the ids, or `None`."""
        found = self.vocabulary
        if found is None:
            found = getattr(episode.speaker, "vocabulary", None)
        if found is None or hasattr(found, "is_words"):
            return found
        return as_vocabulary(found)

    def tensors(self):
        """Further arguments of `score()`: constants such as a table."""
        return ()

    def score(self, words, references, present, *tensors):
        """Scores captions.

        Args:
            words: Int32 tensor of shape `(B, S, T)`, -1 where no word counts.
            references: Int32 tensor of shape `(B, N, U)`, as `words`.
            present: Float32 tensor of shape `(B, N)`, 0 where there is no
                caption.
            *tensors: What `tensors()` returned.

        Returns:
            Float32 tensor of shape `(B, S)`.
        """
        raise NotImplementedError


def with_one_end(words, eos, counted):
    """Replaces every end token by the first of `eos`, or by no word.

    Args:
        words: Integer tensor, -1 for no word.
        eos: Integer or tuple of integers, the end tokens.
        counted: Boolean, whether the end counts as a word.

    Returns:
        Tensor like `words`.
    """
    end = int(np.ravel(eos)[0]) if counted else -1
    return ops.where(is_end(words, eos), end, words)


def human_captions(episode, key: str, reward: str):
    """Returns the references of a batch.

    Returns:
        Integer tensor of shape `(B, N, T)`.
    """
    found = batch_entry(
        episode.inputs,
        key,
        "the human captions of every image, integers of shape (B, N, T), for "
        f"the reward {reward!r}",
        "Add them to the batches, or pass their key as `references` of the "
        "reward; for a function of strings, make it "
        "`tfcap.rewards.TextReward(function, references=...)`.",
        pad=getattr(episode.speaker, "pad", 0),
    )
    check_shape(found, "B N T", key)
    return without_start(found, episode.speaker)


class CIDErD(ReferenceReward):
    """CIDEr-D of a caption, computed in the graph.

    ```
    idf = log(documents) - log(max(1, documents_with_n_gram))
    c, r = idf * counts_of_caption, idf * counts_of_reference
    similarity_n = sum(minimum(c, r) * r) / (norm(c) * norm(r))
    penalty = exp(-(bigrams_of_caption - bigrams_of_reference)**2
                  / (2 * sigma**2))
    reward = 10 * mean over references, mean over n = 1..4
             (similarity_n * penalty)
    ```

    It counts ids, without strings, unless ids are pieces of words.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus; of strings, if the speaker's ids are pieces of words. They
            determine whether the end token counts.
        sigma: Float, difference in length that costs a factor `exp(-1/2)`.
            Defaults to `6.0`.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`: N captions of each image, padded with the
            speaker's `pad`; a row of padding is absent, and an image without
            references gives 0. Defaults to `"references"`.
        jit_compile: Boolean, whether to compile the score with XLA, on
            TensorFlow, where it then costs a fraction. Every new shape of
            captions or references is compiled once: pad them to fixed
            lengths. Defaults to `True`.
        vocabulary: Vocabulary or tokenizer of the ids, see
            `tfcap.text.as_vocabulary()`; if they are pieces of words, captions
            are decoded on the host, and their words compared. Defaults to the
            attribute `vocabulary` of the speaker; without one, ids are words.
        name: String. Defaults to `"cider_d"`.

    Raises:
        ValueError: While a step is traced, if the speaker's vocabulary is not
            that of the document frequencies.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["two", "dogs", "play", "cats"])
    >>> corpus = [[["two", "dogs", "play"]], [["two", "cats"]]]
    >>> reward = tfcap.rewards.CIDErD(
    ...     tfcap.text.DocumentFrequencies.from_references(corpus, vocabulary)
    ... )
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward,
    ...     tfcap.decoding.Sample(num_samples=5),
    ...     tfcap.objectives.LeaveOneOutBaseline(),
    ... )

    Reference:

    - Vedantam et al., CIDEr, CVPR 2015, equation 12; equal to the CiderD of
      self-critical.pytorch, which counts the end token, and takes the number
      of bigrams as length
    """

    def __init__(
        self,
        document_frequencies,
        sigma=6.0,
        name="cider_d",
        **options,
    ):
        check_sigma(sigma)
        self.document_frequencies = document_frequencies
        self.sigma = sigma
        self.words = document_frequencies.words
        self.table = NGramTable(
            document_frequencies.keys,
            document_frequencies.weights(document_frequencies.keys),
            default=document_frequencies.largest_weight,
        )
        super().__init__(name, document_frequencies.count_eos, **options)

    def reader(self, episode):
        reader = super().reader(episode)
        if (reader is None) != (self.words is None):
            strings = "ids" if self.words is None else "strings"
            raise ValueError(
                "`document_frequencies` must count the words of strings if the "
                "speaker's ids are pieces of words, with a `vocabulary` of the "
                f"reward {self.name!r}, and ids otherwise. Received: counts of "
                f"{strings}. Count "
                "`DocumentFrequencies.from_references(captions)` of strings, "
                "and pass the speaker's tokenizer; or count with its "
                "`tfcap.text.Vocabulary`."
            )
        if reader is None:
            speaker = episode.speaker
            self.document_frequencies.check_speaker(
                speaker.vocabulary_size,
                int(np.ravel(speaker.eos)[0]),
                self.known_vocabulary(episode),
            )
        return reader

    def tensors(self):
        return (self.table.rows(),)

    def score(self, words, references, present, rows):
        own, weights, norms = self._vectors(words, rows)
        _, _, their_norms = self._vectors(references, rows)
        counts = ngram_counts(words[:, :, None], references[:, None])
        own, weights = own[:, :, None], weights[:, :, None]
        # The sum over distinct n-grams, as one over words: an n-gram that is
        # said `own` times comes up `own` times, each time with that share.
        shares = ops.minimum(own, counts) * counts / ops.maximum(own, 1.0)
        products = ops.sum(shares * weights, axis=-1)
        scale = norms[:, :, None] * their_norms[:, None]
        similarity = products / ops.where(ops.greater(scale, 0), scale, 1.0)
        pairs = ops.mean(similarity, axis=-1)
        ours, theirs = _bigrams(words)[:, :, None], _bigrams(references)
        squares = ops.square(ours - theirs[:, None])
        pairs = pairs * ops.exp(squares / (-2.0 * self.sigma**2))
        total = ops.sum(pairs * present[:, None], axis=-1)
        count = ops.maximum(ops.sum(present, axis=-1), 1.0)
        # The mean over references; 0 where there are none.
        return 10.0 * total / count[:, None]

    def _vectors(self, words, rows):
        """Counts in the sentence itself, squared weights, and norms."""
        own = ngram_counts(words, words)
        weights = ops.square(self.table.lookup(words, rows=rows))
        return own, weights, ops.sqrt(ops.sum(own * weights, axis=-1))


def _bigrams(words):
    """Returns the number of bigrams of sentences, their length in CIDEr-D."""
    return ops.maximum(sentence_lengths(words) - 1.0, 0.0)


class BLEU(ReferenceReward):
    """BLEU of a caption, computed in the graph.

    ```
    precision_n = clipped matches of order n / n-grams of order n
    reward = prod(precision_1..K)**(1 / K)
             * exp(min(1 - closest_length / length, 0))
    ```

    The matches of an n-gram are limited by its largest count in a reference;
    the closest length is that of the reference closest in length, the shorter
    of two.

    Args:
        max_order: Integer `K`, longest n-gram. Defaults to `4`.
        smoothing: Treatment of orders without a match. `None` takes
            `(matches + 1e-15) / (n-grams + 1e-9)`, as in pycocoevalcap: such a
            caption, and one that is too short for the order, gets about 0.
            `"add_one"` adds 1 to both for orders above 1; `"floor"` counts
            0.1 matches; `"exponential"` counts 1/2 for the first order
            without a match, 1/4 for the second, and so on. With these three, a
            caption without any matching word gets 0; with the last two, so
            does a caption of fewer than `K` words. A smoothed reward ranks
            captions that share no 4-gram with a reference. Defaults to `None`.
        order_weights: Sequence of `K` numbers, weights of BLEU-1 to BLEU-K,
            whose sum costs as much as one of them. Defaults to `None`, BLEU-K
            alone.
        count_eos: Boolean, whether the end token counts as a word, so that
            captions lose if they stop too late or within a phrase. Defaults to
            `True`.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        jit_compile: Boolean, see `tfcap.rewards.CIDErD`. Defaults to `True`.
        vocabulary: As in `tfcap.rewards.CIDErD`. Defaults to the speaker's.
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
        order_weights=None,
        name=None,
        **options,
    ):
        self.max_order = checked_integer(max_order, "max_order")
        check_smoothing(smoothing)
        if order_weights is not None and len(order_weights) != max_order:
            raise ValueError(
                "`order_weights` must hold one number for each of BLEU-1 to "
                f"BLEU-{max_order}. Received: order_weights={order_weights!r}. "
                "Set `max_order` to the number of weights."
            )
        self.smoothing = smoothing
        self.order_weights = order_weights
        if order_weights is not None:
            self.order_weights = tuple(float(x) for x in order_weights)
        alone = order_weights is None
        name = name or (f"bleu_{max_order}" if alone else "bleu")
        super().__init__(name, **options)

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
        )
        if self.order_weights is None:
            scores = scores[..., -1]
        else:
            weights = ops.convert_to_tensor(self.order_weights, "float32")
            scores = ops.sum(scores * weights, axis=-1)
        return scores * ops.max(present, axis=-1, keepdims=True)


def sentence_bleu(
    own, counts, lengths, others, smoothing=None, effective_order: bool = False
):
    """Computes BLEU-1 to BLEU-K; `effective_order` leaves out empty orders.

    Args:
        own: Float tensor of shape `(..., K, T)`, counts of the n-grams at each
            word in the sentence itself.
        counts: Float tensor of the same shape, their largest count in one of
            the references.
        lengths: Float tensor of shape `(...)`, words of the sentence.
        others: Float tensor of shape `(...)`, words of the reference.

    Returns:
        Float tensor of shape `(..., K)`.
    """
    shares = ops.minimum(own, counts) / ops.maximum(own, 1.0)
    correct = ops.sum(shares, axis=-1)
    orders = ops.arange(correct.shape[-1], dtype="float32")
    guess = ops.maximum(lengths[..., None] - orders, 0.0)
    there = ops.cast(guess > 0, "float32")
    if smoothing is None:
        logs = ops.log(correct + TINY) - ops.log(guess + SMALL)
        scale = 1.0
    else:
        logs, possible = _smoothed(correct, guess, orders, smoothing)
        scale = ops.cast(correct[..., :1] > 0, "float32")
        scale = scale * ops.cumprod(possible, axis=-1)
    if effective_order:
        used = ops.maximum(ops.cumsum(there, axis=-1), 1.0)
        logs = ops.where(there > 0, logs, 0.0)
    else:
        used = orders + 1.0
    means = ops.exp(ops.cumsum(logs, axis=-1) / used)
    ratio = (lengths + TINY) / (others + SMALL)
    brevity = ops.exp(ops.minimum(1.0 - 1.0 / ratio, 0.0))
    return scale * means * brevity[..., None]


def _smoothed(correct, guess, orders, smoothing):
    """Logarithms of precisions, and 1 where there can be one."""
    # Sums of shares such as 1/3 + 1/3 + 1/3.
    missed = correct < 0.5
    if smoothing == "add_one":
        more = ops.cast(orders > 0, "float32")
        correct, guess = correct + more, guess + more
    elif smoothing == "floor":
        correct = ops.where(missed, FLOOR, correct)
    else:
        zeros = ops.cumsum(ops.cast(missed, "float32"), axis=-1)
        correct = ops.where(missed, ops.power(0.5, zeros), correct)
    possible = ops.cast(guess > 0, "float32")
    logs = ops.log(ops.maximum(correct, 1e-30))
    return logs - ops.log(ops.maximum(guess, 1.0)), possible


def closest_length(lengths, others, present):
    """Returns the length of the reference closest in length, or the shorter.

    Args:
        lengths: Float tensor of shape `(B, S)`.
        others: Float tensor of shape `(B, S, N)`, or one that broadcasts.
        present: Float tensor of the shape of `others`, 0 where absent.

    Returns:
        Float tensor of shape `(B, S)`.
    """
    away = ops.absolute(lengths[:, :, None] - others)
    keys = ops.where(present > 0, away * _LONGEST + others, _LONGEST**2 - 1.0)
    return ops.mod(ops.min(keys, axis=-1), _LONGEST)


class ROUGEL(ReferenceReward):
    """ROUGE-L of a caption and its references.

    With `lcs` the length of the longest common subsequence:

    ```
    precision = max(lcs(caption, r) / len(caption) for r in references)
    recall = max(lcs(caption, r) / len(r) for r in references)
    reward = (1 + beta**2) * precision * recall
             / (recall + beta**2 * precision),  beta = 1.2
    ```

    `tfcap.text.rouge_l` scores the words on the host.

    Args:
        count_eos: Boolean, whether the end token counts as a word, so that
            captions lose if they stop too late or within a phrase. Defaults to
            `True`.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        vocabulary: As in `tfcap.rewards.CIDErD`. Defaults to the speaker's.
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

    def __init__(self, name="rouge_l", **options):
        super().__init__(name, jit_compile=False, **options)

    def score(self, words, references, present):
        arrays = words, references
        return call_on_host(self._on_host, arrays, words.shape[:2])

    def _on_host(self, words, references):
        words, references = np.asarray(words), np.asarray(references)
        human = [
            [row[row >= 0].tolist() for row in rows if row[0] >= 0]
            for rows in references
        ]
        values = np.zeros(words.shape[:2], "float32")
        for rows, several, found in zip(words, human, values):
            if several:
                said = [row[row >= 0].tolist() for row in rows]
                found[:] = rouge_l(said, [several] * len(said)).each
        return values


class PairwiseDiversity(Reward):
    """Mean distance of a sample from the other samples of its image.

    ```
    reward_j = mean over k != j of distance(y_j, y_k)
    ```

    This reward explores whole captions, while an entropy bonus explores words.
    Since distances are symmetric,

    ```
    gradient of sum_y sum_y' distance(y, y') p(y) p(y')
        = 2 * E[reward_j * gradient of log p(y_j)]
    ```

    so that the objective of the paper, `alpha` times CIDEr plus `1 - alpha`
    times diversity, is `alpha` times one `ScoreFunction` plus
    `2 * (1 - alpha)` times another, on the same rollout. The factor 2 is the
    effect of a sample on the rewards of the others, so that the credit is
    the reward alone; for `"self_bleu"`, which is not symmetric, it is an
    approximation. Identical samples have equal rewards, and thus no gradient
    with their mean as baseline. Absent references are ignored; a single one
    gets 0.

    Args:
        distance: `"bleu"`: 2 minus BLEU-3 minus BLEU-4 between two captions,
            averaged over both directions, from 0 to 2; `"self_bleu"`: 2 minus
            BLEU-3 minus BLEU-4 of a caption with all others as references,
            from 0 to 2, as in code of the paper's first author. Defaults to
            `"bleu"`.
        count_eos: Boolean, whether the end token counts as a word. Defaults
            to `True`.
        jit_compile: Boolean, see `tfcap.rewards.CIDErD`. Defaults to `True`.
        name: String. Defaults to `"pairwise_diversity"`.

    Raises:
        ValueError: While a step is traced, if an image has a single sample.

    Example:

    >>> from types import SimpleNamespace as Namespace
    >>> episode = Namespace(speaker=Namespace(eos=2), inputs={})
    >>> tokens = np.array([[[5, 6, 7, 2], [5, 6, 7, 2], [8, 9, 2, 0]]])
    >>> said = tfcap.decoding.Rollout(tokens, (tokens > 0).astype("float32"))
    >>> reward = tfcap.rewards.PairwiseDiversity(count_eos=False)
    >>> print(reward(said, episode).numpy())
    [[1. 1. 2.]]

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, equations 8 to 16. The paper sums over `k = j` as well and
      divides by the number of samples, which scales the same gradient by
      `(S - 1) / S`. Short captions have BLEU of the orders that they are long
      enough for; with the constants of the usual code, such a caption would
      differ from itself.
    """

    compares_samples = True

    def __init__(
        self,
        distance="bleu",
        count_eos=True,
        jit_compile=True,
        name="pairwise_diversity",
    ):
        check_choice(distance, "distance", _DISTANCES)
        self.distance = distance
        self.count_eos = count_eos
        self.jit_compile = jit_compile
        self.name = name
        self._score = compiled(self.score) if jit_compile else self.score

    def call(self, rollout, episode):
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        check_several(rollout.tokens, "PairwiseDiversity")
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
    distance = 2.0 - (similar + ops.swapaxes(similar, 1, 2)) / 2.0
    count = ops.maximum(ops.sum(others, axis=-1), 1.0)
    return ops.sum(distance * others, axis=-1) / count


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


_DISTANCES = {
    "bleu": _mean_bleu_distance,
    "self_bleu": _self_bleu_distance,
}
