"""Reads document frequencies in the format of self-critical.pytorch."""

import numpy as np

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap.text.ngrams import MAX_ORDER
from tfcap.text.ngrams import flatten_rows
from tfcap.text.ngrams import pack_ngrams

#: Id of the end token, and names of the unknown word, in that format.
_END, _UNKNOWN = 0, ("UNK", "<unk>")
_LAYOUT = (
    "Give what prepro_ngrams.py of self-critical.pytorch writes, as JSON: "
    "`document_frequency`, a dict from ids with blanks between to counts, and "
    "`ref_len`, the number of documents."
)


def read_self_critical(source, words: dict, vocabulary):
    """Translates a table of n-grams of other ids.

    Args:
        source: Dict of that format, or the path of a JSON file that holds it,
            gzipped or not.

    Returns:
        A triple: int64 arrays `keys` and `counts` of shape `(n,)`, and the
        integer number of documents.
    """
    name = "a dict" if isinstance(source, dict) else source
    table, num_documents = _content(source, name)
    translate = _translation(words, vocabulary)
    ngrams = [_ngram(ngram, translate, name) for ngram in table]
    ids, lengths = flatten_rows(ngrams)
    starts = np.cumsum(lengths) - lengths
    keys = pack_ngrams(ids, lengths)[lengths - 1, starts]
    return keys, np.array([*table.values()], np.int64), num_documents


def _content(source, name):
    content = source if isinstance(source, dict) else read_json(source)
    found = content if isinstance(content, dict) else {}
    table, total = found.get("document_frequency"), found.get("ref_len")
    if not isinstance(table, dict) or not _is_count(total):
        problem = "are no dict `document_frequency` and number `ref_len`"
        raise malformed(name, "", problem, _LAYOUT)
    for ngram, count in table.items():
        if not _is_count(count) or not 1 <= count <= total:
            problem = f"there is the count {count!r:.40} of {total} documents"
            raise malformed(name, f"n-gram {ngram!r:.40}", problem, _LAYOUT)
    return table, int(total)


def _is_count(value):
    """Check whether a value is a whole number, perhaps written as a float."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < 2**31 and value == int(value)


def _ngram(text, translate, name):
    """Our ids of an n-gram."""
    ids = text.split(" ") if isinstance(text, str) else []
    numbers = all(i.isdecimal() and len(i) < 20 for i in ids)
    if not 1 <= len(ids) <= MAX_ORDER or not numbers:
        problem = f"there are no 1 to {MAX_ORDER} ids with blanks between"
        raise malformed(name, f"n-gram {text!r:.40}", problem, _LAYOUT)
    absent = [i for i in ids if int(i) not in translate]
    if absent:
        raise ValueError(
            "`words` must name every id of the n-grams. Received: no word for "
            f"id {absent[0]!r:.40} in source={str(name)!r}. Pass the "
            "`ix_to_word` of the data set that the table was counted on."
        )
    return [translate[int(i)] for i in ids]


def _translation(words, vocabulary):
    """Dict from their ids to ours."""
    ids = {
        int(i): vocabulary.unk
        if word in _UNKNOWN
        else vocabulary.encode([word])[0]
        for i, word in words.items()
    }
    ids[_END] = vocabulary.eos
    unknown = [words[i] for i in words if ids[int(i)] == vocabulary.unk]
    if len(unknown) > 1:
        raise ValueError(
            "`vocabulary` must have the words of the table: the counts of "
            "words that become the same unknown one cannot be added up. "
            f"Received: {len(unknown)} words that it lacks, such as "
            f"{', '.join(map(repr, unknown[:5]))}. Build it from `words`, or "
            "count the captions with `DocumentFrequencies.from_references()`."
        )
    return ids
