"""Limits on the memory and time that an untrusted file may take.

Published data sets stay far below the default of each limit, and an environment
variable raises it.
"""

import os

#: Defaults of the limits, by the environment variables that replace them.
LIMITS = {
    # Bytes of a file that is read whole, unpacked: VisDial v1.0 has a tenth.
    "TFCAP_MAX_BYTES": 4 << 30,
    # Words of a caption that is scored: paragraphs have some hundreds.
    "TFCAP_MAX_WORDS": 1000,
}


def limit(name: str) -> int:
    """Returns a limit, from the environment or else its default.

    Raises:
        ValueError: If the environment variable is not a positive integer.

    Example:

    >>> from tfcap._io.file_limits import limit
    >>> limit("TFCAP_MAX_WORDS")
    1000
    """
    text = os.environ.get(name) or str(LIMITS[name])
    if not text.isdecimal():
        raise ValueError(
            f"`{name}` must be a positive integer. Received: {text!r:.40}. "
            f"Unset it for the default, {LIMITS[name]:,}."
        )
    return int(text)


def raise_limit(name: str) -> str:
    """Returns the sentence that says how to raise a limit."""
    return f"If the file is right, raise the limit: set {name} to more."
