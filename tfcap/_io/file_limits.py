"""Limits on what a file may cost, since it may come from a stranger.

Each has a default that published data sets stay far below, and an environment
variable that raises it.
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
    """A limit, as the environment or its default sets it.

    Raises:
        ValueError: If the environment holds something else than a positive
            integer.

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
    """The sentence that says how a limit is raised."""
    return f"Where that is right, raise the limit: set {name} to more."
