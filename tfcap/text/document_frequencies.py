"""Document frequencies of the n-grams of a corpus."""

import functools
import hashlib
import json
import os
import zipfile

import numpy as np
from numpy.typing import NDArray

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap._io.cache import cache_folder
from tfcap._io.cache import keep
from tfcap.text.missing_score import find_file
from tfcap.text.ngram_counting import as_documents
from tfcap.text.ngram_counting import count_documents
from tfcap.text.ngram_counting import words_of
from tfcap.text.ngrams import MAX_ORDER
from tfcap.text.ngrams import MAX_PACKED_ID
from tfcap.text.ngrams import check_order
from tfcap.text.ngrams import pack_ngrams
from tfcap.text.tokenizers import as_vocabulary
from tfcap.text.vocabulary import Vocabulary

_FORMAT = "tfcap-document-frequencies"
_FIELDS = ("keys", "counts", "num_documents", "count_eos")
_ABOUT = ("fingerprint", "vocabulary_size", "eos")
#: COCO's captions in pycocoevalcap.
_MEMBER = "coco/annotations/captions_{}.json"
_SPLITS = ("train2014", "val2014")


class DocumentFrequencies:
    """Document frequencies of the n-grams of a corpus.

    CIDEr-D weights an n-gram by `log(documents) - log(max(1, holding it))`. A
    document is an image, with all of its captions. For a reward, count the
    training corpus, not the batch: call `from_references()` once, save the
    table beside the model, and load it with the vocabulary, which is checked.

    N-grams are stored as sorted 64-bit keys (see `tfcap.text.ngrams`), 12 bytes
    each. An n-gram of a single document has the weight of an unseen one, since
    `log(1) = 0`: leaving it out saves memory and changes no weight.

    A key has room for four of 65,534 words. For strings, and for tokenizers
    whose ids are subwords, words are counted (`words`), split as in an
    evaluation.

    Args:
        keys: Integer array of shape `(n,)`, packed n-grams, distinct.
        counts: Integer array of shape `(n,)`, the documents that hold each,
            from 1 to `num_documents`.
        num_documents: Integer, at least 2.
        vocabulary: `tfcap.text.Vocabulary`, or a tokenizer, whose ids the keys
            are made of.
        count_eos: Boolean, whether the end token counts as a word of a
            caption. Defaults to `True`: without it, a third of the captions of
            models trained for CIDEr-D end badly.

    Attributes:
        words: Tuple of the words of a table counted in strings, with the ids
            of `tfcap.text.Vocabulary(words)`; `None` for a table of ids.
        fingerprint: String, a digest of the vocabulary.
        vocabulary_size: Integer, number of ids of the vocabulary.
        eos: Integer, id of the end token.

    Raises:
        ValueError: If there are fewer than two documents, so that all weights
            would be 0, or the vocabulary has more than 65,534 ids.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["a", "dog", "cat"])
    >>> frequencies = tfcap.text.DocumentFrequencies.from_references(
    ...     [[["a", "dog"], ["dog"]], [["a", "cat"]]], vocabulary
    ... )
    >>> frequencies
    <DocumentFrequencies of 2 n-grams in 2 documents>
    >>> keys = tfcap.text.ngrams.pack_ngrams(
    ...     np.array(vocabulary.encode(["a", "dog"])), np.array([2]), 2
    ... )
    >>> print(frequencies.weights(keys).round(2))
    [[0.   0.69]
     [0.69 0.69]]

    Reference:

    - Vedantam et al., CIDEr, CVPR 2015, equation 1; the table of
      self-critical.pytorch (`prepro_ngrams.py`), which counts the end token.
    """

    def __init__(
        self,
        keys: NDArray,
        counts: NDArray,
        num_documents: int,
        vocabulary,
        count_eos: bool = True,
    ):
        if num_documents < 2:
            raise ValueError(
                "`num_documents` must be at least 2: with one document every "
                "n-gram has weight log(1) = 0. Received: "
                f"num_documents={num_documents}. Count the references of the "
                "whole training corpus."
            )
        vocabulary = as_vocabulary(vocabulary)
        if vocabulary.size > MAX_PACKED_ID:
            raise ValueError(
                f"`vocabulary` must have at most {MAX_PACKED_ID} ids, because "
                "four of them are packed into 64 bits. Received: "
                f"{vocabulary.size} ids. Keep fewer words, or count captions "
                "that are strings, without a vocabulary."
            )
        self.words = None
        self.keys, self.counts = _sorted(keys, counts)
        self.num_documents = int(num_documents)
        self.count_eos = bool(count_eos)
        self.fingerprint = fingerprint(vocabulary)
        self.vocabulary_size = int(vocabulary.size)
        self.eos = int(np.ravel(vocabulary.eos)[0])

    @classmethod
    def from_references(
        cls,
        references,
        vocabulary=None,
        count_eos: bool = True,
        min_count: int = 2,
    ) -> "DocumentFrequencies":
        """Counts the n-grams of a corpus.

        Args:
            references: Iterable of documents: for each image a sequence of
                captions, each a sequence of words, or of ids of `vocabulary`;
                also an integer array of shape `(B, N, T)`, or a ragged
                tensor. In captions of ids, a start token is dropped, and
                everything from the first end token or padding on. Without a
                vocabulary of words, captions may be strings.
            vocabulary: `tfcap.text.Vocabulary` or a tokenizer, whose ids are
                counted. If they are subwords, and by default, words are
                counted as strings.
            count_eos: Boolean, whether an end token is counted after every
                caption. Defaults to `True`.
            min_count: Integer, least number of documents of an n-gram that is
                kept. Defaults to `2`, which changes no weight; `1` keeps all.

        Returns:
            A `DocumentFrequencies`.
        """
        check_order(min_count, name="min_count")
        references = as_documents(references)
        words = None
        if vocabulary is not None:
            vocabulary = as_vocabulary(vocabulary)
        if not getattr(vocabulary, "is_words", vocabulary is not None):
            references, held = words_of(references, vocabulary)
            vocabulary = Vocabulary.from_counts(held, min_count)
            words = vocabulary.words
        table = cls([], [], len(references), vocabulary, count_eos)
        table.words = words
        keys, counts = count_documents(
            *(references, vocabulary, count_eos),
            lambda x: table._codes(x, vocabulary.unk),
        )
        kept = counts >= min_count
        table.keys, table.counts = _sorted(keys[kept], counts[kept])
        return table

    def pack(self, ids: NDArray, lengths: NDArray):
        """Packs n-grams of ids into keys of the table.

        See `tfcap.text.ngrams.pack_ngrams()`.
        """
        return pack_ngrams(self._codes(ids), lengths)

    def _codes(self, ids, unknown=None):
        """Codes of ids; unknown words share the largest code."""
        if self.words is None:
            return ids
        known = (ids < self.vocabulary_size) & (ids != unknown)
        return np.where(known, ids, MAX_PACKED_ID)

    def lookup(self, keys: NDArray) -> NDArray:
        """Counts the documents that hold each n-gram; 0 for one not kept.

        Args:
            keys: Integer array, packed n-grams.

        Returns:
            Integer array of the shape of `keys`.
        """
        keys = np.asarray(keys, np.int64)
        if not len(self.keys):
            return np.zeros(keys.shape, self.counts.dtype)
        # Sorted keys are found faster: neighbors are close in the table.
        order = np.argsort(keys, axis=None)
        asked = keys.ravel()[order]
        at = np.searchsorted(self.keys, asked)
        at = np.minimum(at, len(self.keys) - 1)
        counts = np.empty(keys.shape, self.counts.dtype)
        counts.flat[order] = np.where(
            self.keys[at] == asked, self.counts[at], 0
        )
        return counts

    def weights(self, keys: NDArray) -> NDArray:
        """Inverse document frequencies of n-grams.

        `log(num_documents) - log(max(1, documents that hold it))`.

        Args:
            keys: Integer array, packed n-grams.

        Returns:
            Float64 array of the shape of `keys`.
        """
        return self.largest_weight - np.log(np.maximum(self.lookup(keys), 1))

    @property
    def largest_weight(self):
        """Weight of an n-gram in one document, or in none."""
        return float(np.log(self.num_documents))

    def check_vocabulary(self, vocabulary):
        """Raises a ValueError unless `vocabulary` is that of the table.

        A table counted in strings suits any vocabulary.
        """
        if not hasattr(vocabulary, "words"):
            vocabulary = as_vocabulary(vocabulary)
        if self.words is None and fingerprint(vocabulary) != self.fingerprint:
            raise ValueError(
                "`vocabulary` must be the one that the document frequencies "
                f"were counted with, of {self.vocabulary_size} ids and "
                f"fingerprint {self.fingerprint}. Received: {vocabulary!r} "
                f"with fingerprint {fingerprint(vocabulary)}. Load the "
                "vocabulary that was saved with them, or count again."
            )

    def check_speaker(self, size: int, eos: int, vocabulary=None):
        """Raises a ValueError unless a speaker has the ids of the table.

        Args:
            size: Integer, number of ids of the speaker.
            eos: Integer, its end token.
            vocabulary: Its vocabulary, if known.
        """
        if (size, eos) != (self.vocabulary_size, self.eos):
            raise ValueError(
                "`document_frequencies` must be those of the speaker's "
                f"vocabulary. Received: counts over {self.vocabulary_size} "
                f"ids with end token {self.eos}, and a speaker of {size} ids "
                f"with end token {eos}. Count the references with the "
                "vocabulary that the speaker was built for."
            )
        # A vocabulary that only decodes cannot be compared, and a speaker may
        # have more ids than its tokenizer, or another end token.
        if (
            all(hasattr(vocabulary, x) for x in ("size", "unk", "words"))
            and vocabulary.size == size
            and np.ravel(vocabulary.eos)[0] == eos
        ):
            self.check_vocabulary(vocabulary)

    def save(self, path):
        """Writes the table to a `.npz` file that holds no pickle."""
        fields = {name: getattr(self, name) for name in _FIELDS + _ABOUT}
        if self.words is not None:
            fields["words"] = np.array(self.words)
        about = {"format": _FORMAT, "max_order": MAX_ORDER}
        save_arrays(path, {**about, **fields}, compressed=True)

    @classmethod
    def load(cls, path: str | os.PathLike, vocabulary=None):
        """Reads a table that `save()` wrote.

        Args:
            path: Path of the file.
            vocabulary: `tfcap.text.Vocabulary` or tokenizer, which must be the
                one that the table was counted with. Not needed for a table of
                strings.

        Raises:
            ValueError: If the file is not such a table, or was counted with
                another vocabulary.
        """
        fields = _read(path)
        words = fields.get("words")
        if words is not None:
            vocabulary = Vocabulary(np.ravel(words).tolist())
        vocabulary = as_vocabulary(vocabulary)
        options = {k: fields[k] for k in _FIELDS}
        table = cls(vocabulary=vocabulary, **options)
        vars(table).update((name, fields[name]) for name in _ABOUT)
        table.words = None if words is None else vocabulary.words
        table.check_vocabulary(vocabulary)
        return table

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of a table of words."""
        return Vocabulary(self.words)

    def __len__(self):
        return len(self.keys)

    def __repr__(self):
        return (
            f"<DocumentFrequencies of {len(self):,} n-grams in "
            f"{self.num_documents:,} documents>"
        )


def fingerprint(vocabulary):
    """Digest of the words of a vocabulary and of its special ids."""
    special = f"{vocabulary.size} {vocabulary.eos} {vocabulary.unk}"
    text = "\n".join([special, *vocabulary.words])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _sorted(keys, counts):
    keys = np.asarray(keys, np.int64)
    order = np.argsort(keys)
    return keys[order], np.asarray(counts, np.int32)[order]


def _read(path):
    try:
        fields = load_arrays(path, ("format", "max_order", *_FIELDS, *_ABOUT))
        if str(fields["format"]) != _FORMAT or fields["max_order"] != MAX_ORDER:
            raise ValueError("it holds other arrays")
    except ValueError as error:
        raise ValueError(
            "`path` must name a table of document frequencies. Received: "
            f"path={str(path)!r}, which is another file ({error}). Write one "
            "with `DocumentFrequencies.save()`."
        ) from error
    return {k: v if v.ndim else v.item() for k, v in fields.items()}


def coco_document_frequencies(count_eos: bool = True) -> DocumentFrequencies:
    """Document frequencies of the training captions of COCO.

    The captions are those of train2014 in the package pycocoevalcap, 82,783
    images with five each. They are counted as words, split as in an evaluation.
    The table is kept in the cache folder (`$TFCAP_CACHE`, else
    `~/.cache/tfcap`); the first call takes ten seconds.

    Args:
        count_eos: Boolean, whether the end of a caption counts as a word.
            Defaults to `True`, as a reward requires.

    Returns:
        A `tfcap.text.DocumentFrequencies` of words.

    Raises:
        tfcap.text.MissingScoreError: If pycocoevalcap is not installed.

    Reference:

    - Chen et al., Microsoft COCO Captions: Data Collection and Evaluation
      Server, 2015; the annotations are licensed under CC BY 4.0
    """
    with _archive() as archive:
        member = _member(archive, "train2014")
        end = "eos" if count_eos else "words"
        path = cache_folder("coco") / f"train2014-{end}-{member.CRC:08x}.npz"
        try:
            return DocumentFrequencies.load(path)
        except (OSError, ValueError):  # missing, unreadable, or damaged
            captions = _captions_of(archive, member)
    table = DocumentFrequencies.from_references(
        [texts for texts, _ in captions.values()], count_eos=count_eos
    )
    keep("COCO's document frequencies", path, table.save)
    return table


def coco_captions(split: str = "train2014") -> dict[int, tuple[list, str]]:
    """Loads the COCO captions that pycocoevalcap contains.

    Args:
        split: String, `"train2014"` (82,783 images) or `"val2014"` (40,504).
            Defaults to `"train2014"`.

    Returns:
        Dict of image id to a pair: its captions, at least five strings, and
        the name of its file.

    Raises:
        ValueError: If `split` is another string.
        tfcap.text.MissingScoreError: If pycocoevalcap is not installed.

    Example:

    >>> try:
    ...     tfcap.text.coco_captions("test2014")
    ... except ValueError as error:
    ...     print(error)
    `split` must be one of ('train2014', 'val2014'). Received: 'test2014'.

    Reference:

    - Chen et al., Microsoft COCO Captions: Data Collection and Evaluation
      Server, 2015; the annotations are licensed under CC BY 4.0
    """
    with _archive() as archive:
        return _captions_of(archive, _member(archive, split))


def _archive():
    program = find_file("COCO's captions", "spice", "spice-1.0.jar")
    return zipfile.ZipFile(program)


def _member(archive, split):
    if split not in _SPLITS:
        raise ValueError(
            f"`split` must be one of {_SPLITS}. Received: {split!r}."
        )
    return archive.getinfo(_MEMBER.format(split))


def _captions_of(archive, member):
    content = json.loads(archive.read(member))
    captions = {
        image["id"]: ([], image.get("file_name", ""))
        for image in content["images"]
    }
    for annotation in content["annotations"]:
        captions[annotation["image_id"]][0].append(annotation["caption"])
    return captions
