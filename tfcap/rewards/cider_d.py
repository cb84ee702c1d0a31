"""CIDEr-D on token ids, with the weights of the training corpus."""

import numpy as np
from keras import ops

from tfcap._ops import NGramTable
from tfcap._ops import Resident
from tfcap._ops import ngram_counts
from tfcap._ops import sentence_lengths
from tfcap._ops.ngrams import as_integers
from tfcap.rewards.reference_reward import ReferenceReward
from tfcap.rewards.reference_reward import mean_over_references
from tfcap.text.scores.cider import check_sigma


class CIDErD(ReferenceReward):
    """Agreement of a caption with what people say of its image.

    ```
    idf = log(documents) - log(max(1, documents_with_n_gram))
    c, r = idf * counts_of_caption, idf * counts_of_reference
    similarity_n = sum(minimum(c, r) * r) / (norm(c) * norm(r))
    penalty = exp(-(bigrams_of_caption - bigrams_of_reference)**2
                  / (2 * sigma**2))
    reward = 10 * mean over references, mean over n = 1..4
             (similarity_n * penalty)
    ```

    Everything is computed inside the graph, on ids; no word is looked up on
    the host, unless ids are pieces of words.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus; of words in strings, where the speaker's ids are pieces of
            words. Whether the end token counts is decided there.
        sigma: Float, difference in length that costs a factor `exp(-1/2)`.
            Defaults to `6.0`.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        jit_compile: Boolean, see `tfcap.rewards.ReferenceReward`. Defaults to
            `True`.
        vocabulary: As that of `tfcap.rewards.ReferenceReward`. Defaults to
            the speaker's.
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
      self-critical.pytorch, which counts the end token, and whose length is
      the number of bigrams
    """

    def __init__(
        self,
        document_frequencies,
        sigma=6.0,
        references="references",
        jit_compile=True,
        name="cider_d",
        vocabulary=None,
    ):
        check_sigma(sigma)
        if document_frequencies.max_order < 4:
            raise ValueError(
                "`document_frequencies` must count n-grams of up to 4 words. "
                f"Received: up to {document_frequencies.max_order}. Count "
                "them again with `max_order=4`."
            )
        self.document_frequencies = document_frequencies
        self.sigma = sigma
        self.words = document_frequencies.words
        # Eager calls would else digest all words each time.
        self._checked = None
        codes = document_frequencies.codes()
        # As floating point, since integers stay on the host beside a GPU.
        self._codes = None if codes is None else Resident(codes.view("f4"))
        self.table = NGramTable(
            document_frequencies.keys,
            document_frequencies.weights(document_frequencies.keys),
            default=document_frequencies.largest_weight,
        )
        super().__init__(
            name,
            document_frequencies.count_eos,
            references,
            jit_compile,
            vocabulary,
        )

    def reader(self, episode):
        reader = super().reader(episode)
        counted, speaker = self.document_frequencies, episode.speaker
        if self.words is not None:
            if reader is None:
                raise ValueError(
                    f"`vocabulary` must be known to the reward {self.name!r}, "
                    "whose document frequencies are those of words of strings. "
                    "Received: None, and a speaker without the attribute "
                    "`vocabulary`. Pass the tokenizer of the speaker."
                )
            return reader
        if reader is not None:
            raise ValueError(
                "`document_frequencies` must be those of words, where the "
                "speaker's ids are pieces of words. Received: counts of ids. "
                "Count `DocumentFrequencies.from_references(captions)` of "
                "strings."
            )
        eos = int(np.ravel(speaker.eos)[0])
        wanted = counted.vocabulary_size, counted.eos
        if (speaker.vocabulary_size, eos) != wanted:
            raise ValueError(
                "`document_frequencies` must be those of the speaker's "
                f"vocabulary. Received: counts over {wanted[0]} ids with end "
                f"token {wanted[1]}, and a speaker of "
                f"{speaker.vocabulary_size} ids with end token {speaker.eos}. "
                "Count the references with the vocabulary that the speaker "
                "was built for."
            )
        self._check_words(self.known_vocabulary(episode))
        return None

    def _check_words(self, vocabulary):
        """Refuses a vocabulary that is as large, and another."""
        counted = self.document_frequencies
        source = getattr(vocabulary, "tokenizer", vocabulary)
        if source is self._checked or not all(
            hasattr(vocabulary, x) for x in ("size", "eos", "unk", "words")
        ):
            return  # one that only decodes tells nothing to compare
        told = vocabulary.size, int(np.ravel(vocabulary.eos)[0])
        # A speaker may have more ids than its tokenizer, or an end of its own.
        if told == (counted.vocabulary_size, counted.eos):
            counted.check_vocabulary(vocabulary)
        self._checked = source

    def tensors(self):
        codes = () if self._codes is None else (self._codes.tensor(),)
        return (self.table.rows(), *codes)

    def score(self, words, references, present, *tables):
        own, weights, norms = self._vectors(words, *tables)
        _, _, their_norms = self._vectors(references, *tables)
        counts = ngram_counts(words[:, :, None], references[:, None])
        own, weights = own[:, :, None], weights[:, :, None]
        # The sum over distinct n-grams, as one over words: an n-gram that is
        # said `own` times comes up `own` times, each time with that share.
        shares = ops.minimum(own, counts) * counts / ops.maximum(own, 1.0)
        products = ops.sum(shares * weights, axis=-1)
        scale = norms[:, :, None] * their_norms[:, None]
        similarity = products / ops.where(ops.greater(scale, 0), scale, 1.0)
        pairs = ops.mean(similarity, axis=-1)
        pairs = pairs * self.penalty(words, references, own, counts)
        return 10.0 * mean_over_references(pairs, present)

    def _vectors(self, words, rows, codes=None):
        """Counts in the sentence itself, squared weights, and norms."""
        own = ngram_counts(words, words)
        if codes is not None:
            known_codes = ops.take(codes, ops.maximum(words, 0), axis=0)
            words = ops.where(words < 0, -1, as_integers(known_codes))
        weights = ops.square(self.table.lookup(words, rows=rows))
        return own, weights, ops.sqrt(ops.sum(own * weights, axis=-1))

    def penalty(self, words, references, own, counts):
        """Factor of every pair.

        Args:
            words, references: As those of `score()`.
            own: Float tensor of shape `(B, S, 1, 4, T)`, counts of n-grams in
                the caption itself.
            counts: Float tensor of shape `(B, S, N, 4, T)`, in the references.

        Returns:
            Float tensor of shape `(B, S, N)`.
        """
        ours, theirs = _bigrams(words)[:, :, None], _bigrams(references)
        squares = ops.square(ours - theirs[:, None])
        return ops.exp(squares / (-2.0 * self.sigma**2))


def _bigrams(words):
    """Number of bigrams of sentences: what CIDEr-D takes for their length."""
    return ops.maximum(sentence_lengths(words) - 1.0, 0.0)
