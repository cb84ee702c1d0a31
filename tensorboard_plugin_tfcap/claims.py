"""Claims of captions: written, read, and marked where they are false."""

from dataclasses import dataclass

from tensorboard_plugin_tfcap.metadata import natural
from tensorboard_plugin_tfcap.metadata import short_text

#: How many claims, and how many omissions, a caption may have.
MOST_CLAIMS = 64


@dataclass(frozen=True)
class Claim:
    """A claim of a caption, and whether it is true.

    Args:
        text: String, what is claimed, such as `"ball: blue"`; it is cut
            after 200 characters.
        start: Integer, offset of its first character in the caption.
            Optional: a claim may have no place of its own.
        end: Integer, offset behind its last character.

    Raises:
        TypeError: If the text is not a string, or `true` not a boolean.
        ValueError: If only one of `start` and `end` is given.

    Example:

    >>> from tensorboard_plugin_tfcap.summary import Claim, Sample
    >>> wrong = Claim("ball: blue", False, start=2, end=6)
    >>> said = Sample(7, "a blue ball", claims=[wrong, Claim("ball", True)])
    """

    text: str
    true: bool
    start: int | None = None
    end: int | None = None

    def __post_init__(self):
        if not isinstance(self.text, str):
            raise TypeError(
                f"`text` must be a string. Received: text={self.text!r}."
            )
        if self.true not in (True, False):
            raise TypeError(
                f"`true` must be a boolean. Received: true={self.true!r}."
            )
        placed = self.start is not None and self.end is not None
        if (placed and 0 <= self.start < self.end) or (
            self.start is None and self.end is None
        ):
            return
        raise ValueError(
            "`start` and `end` must be offsets of characters with "
            f"start < end. Received: start={self.start}, end={self.end}. "
            "Leave out both if the claim has no place in the caption."
        )


def claims_content(caption: str, claims) -> list:
    """Claims of a caption, as they are recorded.

    Raises:
        ValueError: If there are too many, or one is beyond the caption.
    """
    claims = list(claims)
    beyond = [c for c in claims if c.end is not None and c.end > len(caption)]
    if beyond or len(claims) > MOST_CLAIMS:
        raise ValueError(
            f"`claims` must be at most {MOST_CLAIMS}, within their "
            f"caption. Received: {len(claims)} claims of {caption!r:.80}"
            + (f", with {beyond[0]}." if beyond else ".")
        )
    return [
        {
            "text": short_text(claim.text),
            "true": bool(claim.true),
            "start": None if claim.start is None else int(claim.start),
            "end": None if claim.end is None else int(claim.end),
        }
        for claim in claims
    ]


def read_claims(content, caption: str):
    """Reads the claims of a record, without those that are malformed.

    Returns:
        List of `Claim`, or `None` where the record has no list of them.
    """
    if not isinstance(content, list):
        return None
    claims = []
    for one in content[:MOST_CLAIMS]:
        text = short_text(one.get("text")) if isinstance(one, dict) else ""
        if not text or not isinstance(one.get("true"), bool):
            continue
        start, end = (natural(one.get(name)) for name in ("start", "end"))
        if start is None or end is None or not start < end <= len(caption):
            start = end = None
        claims.append(Claim(text, one["true"], start, end))
    return claims


def read_missing(content) -> list:
    """Reads what a caption leaves out."""
    texts = content if isinstance(content, list) else []
    return list(filter(None, map(short_text, texts[:MOST_CLAIMS])))


def marked_caption(caption: str, claims) -> list:
    """Splits a caption where its false claims begin and end.

    Args:
        claims: List of `Claim`, or `None`.

    Returns:
        List of pairs of a piece and the false claims there, as one string,
        `""` where there is none.

    Example:

    >>> from tensorboard_plugin_tfcap.claims import Claim, marked_caption
    >>> marked_caption("a blue ball", [Claim("blue", False, 2, 6)])
    [('a ', ''), ('blue', 'blue'), (' ball', '')]
    """
    wrong = [c for c in claims or () if not c.true and c.start is not None]
    ends = {0, len(caption), *(e for c in wrong for e in (c.start, c.end))}
    cuts, pieces = sorted(ends), []
    for start, end in zip(cuts, cuts[1:]):
        texts = [c.text for c in wrong if c.start <= start and end <= c.end]
        pieces.append((caption[start:end], ", ".join(dict.fromkeys(texts))))
    return pieces
