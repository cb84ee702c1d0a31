"""Captions as word ids."""

import dataclasses
import functools
import importlib
import itertools
import re
from typing import Any

import numpy as np

from tfcap._printed import printed
from tfcap.data.entry_problems import listed
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.text import as_vocabulary
from tfcap.text.caption_rules import DROPPED
from tfcap.text.caption_rules import RESTORED
from tfcap.text.caption_rules import RULES
from tfcap.text.caption_rules import TOKEN


def build_vocabulary(split: Any, min_count: int = 5) -> Vocabulary:
    """Builds the vocabulary of the captions or dialogs of a split.

    In dialogs, captions count once, questions and answers as often as they
    occur; other options do not count. Pass only the training split.

    Args:
        split: `CaptionSplit` or `VisDialSplit`.
        min_count: Integer, minimum number of occurrences of a word. Defaults
            to `5`. Papers on COCO and Flickr30k keep words that occur more
            than 5 times, `min_count=6`; their 9,487 words of COCO, with the
            unknown word, are from all splits.

    Returns:
        A `tfcap.text.Vocabulary`.

    Example:

    >>> split = tfcap.data.CaptionSplit(
    ...     [7, 9], [["A cat."], ["A dog!", "a dog"]], ["", ""], ["", ""]
    ... )
    >>> tfcap.data.build_vocabulary(split, min_count=2).words
    ('a', 'dog')

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4: words seen at least
      5 times in training. The authors' code asks for more than 5.
    """
    return Vocabulary.from_counts(split.word_counts(), min_count)


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedCaptions:
    """A `CaptionSplit` in word ids.

    M is the number of images, N the maximum number of captions of an image, T
    the number of words of a caption, with its end token.

    Attributes:
        image_ids: Array of shape `(M,)`: int64, or object where an id is
            text.
        references: Int32 array of shape `(M, N, T)`: words, then EOS, then
            padding (0, or that of a tokenizer). If an image has fewer
            captions, the last rows are all padding; a caption without words
            (of punctuation alone) is an EOS.
        texts: List of M lists of strings, the original captions, for scores
            on the host.
        vocabulary: The `tfcap.text.Vocabulary` of the ids.

    Example:

    >>> split = tfcap.data.CaptionSplit(
    ...     [7, 9], [["A cat."], ["A dog!", "a dog"]], ["", ""], ["", ""]
    ... )
    >>> vocabulary = tfcap.data.build_vocabulary(split, min_count=1)
    >>> captions = tfcap.data.EncodedCaptions.from_split(split, vocabulary, 4)
    >>> captions.references[1], captions.counts
    (array([[4, 5, 2, 0],
           [4, 5, 2, 0]], dtype=int32), array([1, 2]))
    """

    __repr__ = printed

    image_ids: np.ndarray
    references: np.ndarray
    texts: list
    vocabulary: Vocabulary

    @classmethod
    def from_split(
        cls, split, vocabulary: Any, max_length: int = 16
    ) -> "EncodedCaptions":
        """Encodes the captions of a split.

        Args:
            split: `CaptionSplit`.
            vocabulary: `tfcap.text.Vocabulary`, or a tokenizer that
                `tfcap.text.as_vocabulary()` reads.
            max_length: Integer, T, at least 2. Captions are cut to
                `max_length - 1` words and an end token; choose a length that
                cuts few. Defaults to `16`, as in the papers.

        Returns:
            An `EncodedCaptions`.

        Raises:
            ValueError: If an image has no caption.
        """
        if max_length < 2:
            raise ValueError(
                "`max_length` must be at least 2, a word and its end token. "
                f"Received: max_length={max_length}."
            )
        vocabulary = as_vocabulary(vocabulary)
        # A tokenizer of pieces reads captions as they are written.
        words = split.words if vocabulary.is_words else split.captions
        bare = [i for i, found in zip(split.image_ids, words) if not found]
        if bare:
            raise ValueError(
                "`split` must hold a caption of every image. Received: "
                f"{len(bare):,} of {len(split):,} images without a caption "
                f"({listed(bare)}). Leave these images out."
            )
        sentences = list(itertools.chain.from_iterable(words))
        counts = np.fromiter(map(len, words), np.int64, len(words))
        shape = len(counts), int(counts.max(initial=0)), max_length
        references = np.full(shape, vocabulary.pad, np.int32)
        present = np.arange(shape[1]) < counts[:, None]
        references[present] = vocabulary.encode_batch(
            sentences, max_length - 1, eos=True
        )
        text = any(isinstance(i, str) for i in split.image_ids)
        return cls(
            image_ids=np.array(split.image_ids, object if text else None),
            references=references,
            texts=split.captions,
            vocabulary=vocabulary,
        )

    def __len__(self):
        return len(self.image_ids)

    @functools.cached_property
    def counts(self):
        """Number of captions of each image, of shape `(M,)`."""
        first = self.references[..., 0]
        return np.count_nonzero(first != self.vocabulary.pad, axis=-1)

    def document_frequencies(self) -> DocumentFrequencies:
        """Returns document frequencies over the images, counted once.

        They count the encoded captions, which a reward reads in a batch: cut,
        with the unknown word, and with end tokens.

        Returns:
            A `tfcap.text.DocumentFrequencies`.
        """
        return self._document_frequencies

    @functools.cached_property
    def _document_frequencies(self):
        return DocumentFrequencies.from_references(
            self.references, self.vocabulary
        )


def tokenize_captions(texts: Any):
    """Splits captions into words as `tfcap.text.caption_tokenize()` does.

    For `tf.data` pipelines and models that are exported with their text
    processing. Host and graph share one list of rules. It needs the package
    tensorflow-text: `pip install 'tfcap[text]'`.

    Args:
        texts: String tensor of shape `(B,)`. Bytes that are not UTF-8 count as
            white space.

    Returns:
        String `tf.RaggedTensor` of shape `(B, None)`.

    Raises:
        ImportError: If tensorflow-text is not installed.
        ValueError: If `texts` has another rank.

    Example:

    >>> tokens = tfcap.data.tokenize_captions(["A dog's bed.", "Isn't it?"])
    >>> tokens.to_list()
    [[b'a', b'dog', b"'s", b'bed'], [b'is', b"n't", b'it']]
    """
    import tensorflow as tf

    split = _tensorflow_text().regex_split
    texts = tf.convert_to_tensor(texts, tf.string)
    if texts.shape.rank != 1:
        raise ValueError(
            "`texts` must have shape (B,). Received: texts.shape="
            f"{texts.shape}. Batch the data set before it is mapped, "
            "which is much faster, too, or reshape."
        )
    rewrite = tf.strings.regex_replace
    texts = tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", errors="replace", replacement_char=ord(" ")
    )
    texts = tf.strings.join(["  ", texts, "  "])
    for rule in RULES:
        texts = rewrite(texts, rule.pattern, rule.rewrite)
    texts = rewrite(texts, TOKEN, r" \0 ")
    for stand_in, original in RESTORED.items():
        texts = rewrite(texts, re.escape(stand_in), original)
    texts = rewrite(tf.strings.lower(texts, "utf-8"), " +", "  ")
    dropped = "|".join(map(re.escape, DROPPED))
    return split(rewrite(texts, f" (?:{dropped}) ", "  "), " +")


def _tensorflow_text():
    try:
        return importlib.import_module("tensorflow_text")
    except ImportError as error:
        raise ImportError(
            "`tokenize_captions()` needs the package tensorflow-text. Install "
            "it with `pip install 'tfcap[text]'`, or split captions on the "
            "host with `caption_tokenize_batch()`."
        ) from error
