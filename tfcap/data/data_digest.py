"""Digests of data sets."""

import hashlib
import json
import zlib

import numpy as np

from tfcap.data.mapped_features import PreparedFeatures

#: Rows that stand for features which cannot be digested without a long read.
_SAMPLE = 256


def data_digest(**parts):
    """Computes the SHA-256 of named parts of a data set.

    Args:
        **parts: Arrays, or values that JSON can hold: ids, captions, words,
            digests of features.

    Returns:
        String of 64 hexadecimal digits, the same on every machine.

    Example:

    >>> digest = tfcap.data.data_digest
    >>> one = digest(ids=[7, 9], captions=[["a cat"], ["a dog"]])
    >>> one == digest(captions=[["a cat"], ["a dog"]], ids=[7, 9])
    True
    >>> one == digest(ids=[7, 9], captions=[["a cat"], ["two dogs"]])
    False
    """
    digest = hashlib.sha256()
    for name in sorted(parts):
        kind, content = _content(parts[name])
        # Without lengths, content could move between parts unnoticed.
        head = json.dumps([name, kind, len(content)])
        digest.update(head.encode() + b"\n")
        digest.update(content)
    return digest.hexdigest()


def feature_digest(features, total: int | None = None):
    """Computes the SHA-256 of image features.

    It is the digest of a CRC-32 of every row. A feature file holds these, so
    that no features are read. For a function, 256 evenly spaced rows are read.

    Args:
        features: As in `tfcap.data.CaptionBatches`.
        total: Integer, number of rows of a function.

    Returns:
        String of 64 hexadecimal digits. A feature file has the digest of the
        array of its float16 rows.

    Example:

    >>> digest = tfcap.data.feature_digest
    >>> images = np.zeros((2, 1, 3), "float16")
    >>> digest(images) == digest(images + 1)
    False
    """
    if isinstance(features, PreparedFeatures):
        of = feature_digest(features.features, total)
        return data_digest(of=of, **features.about)
    known = getattr(features, "checksums", None)
    if known is not None:
        return data_digest(shape=list(features.shape), rows=known)
    if isinstance(features, np.ndarray):
        rows = [zlib.crc32(_bytes(row)) for row in features]
        rows = np.array(rows, np.uint32)
        return data_digest(shape=list(features.shape), rows=rows)
    total = total if callable(features) else len(features)
    rows = np.linspace(0, total - 1, min(total, _SAMPLE)).astype(np.int64)
    rows = np.unique(rows)
    some = features(rows) if callable(features) else features[rows]
    return data_digest(total=total, sample=np.asarray(some))


def _content(part):
    """Returns the kind of a part, and its bytes."""
    if isinstance(part, np.ndarray) and part.dtype.kind in "biuf":
        return [part.dtype.kind, part.dtype.itemsize, *part.shape], _bytes(part)
    if isinstance(part, np.ndarray):
        part = part.tolist()
    return "json", json.dumps(part, sort_keys=True).encode()


def _bytes(array):
    """Returns the values in one byte order, row by row."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
