"""Reads document frequencies in the format of self-critical.pytorch."""

import gzip
import json

import numpy as np

from tfcap.text.ngrams import MAX_ORDER
from tfcap.text.ngrams import flatten_rows
from tfcap.text.ngrams import pack_ngrams

#: Id of the end token, and names of the unknown word, in that format.
_END, _UNKNOWN = 0, ("UNK", "<unk>")


def read_self_critical(source, words, vocabulary):
    """Translates a table of n-grams of other ids.

    Args:
        source: Dict of that format, or the path of a JSON file that holds it.
        words: Dict from its ids to words.
        vocabulary: `tfcap.text.Vocabulary` to translate to.

    Returns:
        A triple: int64 arrays `keys` and `counts` of shape `(n,)`, and the
        integer number of documents.
    """
    table, num_documents = _content(source)
    translate = _translation(words, vocabulary)
    try:
        ngrams = [
            [translate[int(i)] for i in ngram.split(" ")] for ngram in table
        ]
    except KeyError as error:
        raise ValueError(
            "`words` must name every id of the n-grams. Received: no word for "
            f"id {error}. Pass the `ix_to_word` of the data set that the "
            "table was counted on."
        ) from error
    ids, lengths = flatten_rows(ngrams)
    if len(lengths) and not 1 <= lengths.min() <= lengths.max() <= MAX_ORDER:
        raise ValueError(
            f"`source` must hold n-grams of 1 to {MAX_ORDER} ids. Received: "
            f"from {lengths.min()} to {lengths.max()}."
        )
    starts = np.cumsum(lengths) - lengths
    keys = pack_ngrams(ids, lengths)[lengths - 1, starts]
    return keys, np.array([*table.values()], np.int64), num_documents


def _content(source):
    if isinstance(source, dict):
        content = source
    else:
        opener = gzip.open if str(source).endswith(".gz") else open
        with opener(source, "rt", encoding="utf-8") as file:
            content = json.load(file)
    try:
        return content["document_frequency"], int(content["ref_len"])
    except (KeyError, TypeError) as error:
        raise ValueError(
            "`source` must be a dict of 'document_frequency' and 'ref_len'. "
            f"Received: {type(content).__name__} without {error}. It is what "
            "prepro_ngrams.py of self-critical.pytorch writes, as JSON."
        ) from error


def _translation(words, vocabulary):
    """Dict from their ids to ours."""
    ids = {
        int(i): vocabulary.unk
        if word in _UNKNOWN
        else vocabulary.encode([word])[0]
        for i, word in words.items()
    }
    unknown = [words[i] for i in words if ids[int(i)] == vocabulary.unk]
    if len(unknown) > 1:
        raise ValueError(
            "`vocabulary` must have the words of the table: the counts of "
            "words that become the same unknown one cannot be added up. "
            f"Received: {len(unknown)} words that it lacks, such as "
            f"{', '.join(map(repr, unknown[:5]))}. Build it from `words`, or "
            "count the captions with `DocumentFrequencies.from_references()`."
        )
    return {**ids, _END: vocabulary.eos}
