"""JSON files whose objects tell whether they are as they were written.

The value of `"sha256"` is the SHA-256, in hexadecimal, of the rest of the
object as `json.dumps(rest, sort_keys=True)` gives it. Older files have none,
and are taken as they are.
"""

import hashlib
import json

from tfcap.io.json_file import malformed
from tfcap.io.json_file import read_json

_KEY = "sha256"


def sealed(content):
    """Adds its checksum to an object.

    Args:
        content: Dict that JSON can hold.

    Returns:
        Dict, as JSON gives it back, with the checksum last.

    Example:

    >>> from tfcap.io import sealed, unsealed
    >>> kept = sealed({"r@10": 55.0})
    >>> unsealed(kept)
    {'r@10': 55.0}
    >>> unsealed({**kept, "r@10": 95.0})
    Traceback (most recent call last):
    ValueError: its checksum is that of another content
    """
    content = json.loads(json.dumps(content))
    content.pop(_KEY, None)
    return {**content, _KEY: _digest(content)}


def unsealed(content):
    """Takes the checksum off an object, if it is as it was written.

    Args:
        content: What JSON holds. Without a checksum it is returned as it is.

    Returns:
        The content without its checksum.

    Raises:
        ValueError: If the checksum is another. The message is a clause.
    """
    if not isinstance(content, dict) or _KEY not in content:
        return content
    content = dict(content)
    if content.pop(_KEY) != _digest(content):
        raise ValueError("its checksum is that of another content")
    return content


def read_sealed(path, hint, layout=""):
    """Reads a JSON file whose object may have a checksum.

    Args:
        path: String or path.
        hint: String, a sentence that says what to do with a damaged file.
        layout: String, see `read_json()`.

    Returns:
        The content, without its checksum.

    Raises:
        ValueError: If the file is damaged.
        OSError: If there is no such file.
    """
    content = read_json(path, hint=hint, layout=layout)
    try:
        return unsealed(content)
    except ValueError as error:
        problem = f"there is something else than was written ({error})"
        raise malformed(path, "", problem, hint) from error


def _digest(content):
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
