"""Claims of captions: written, read, and marked where they are false."""

from dataclasses import dataclass

from tensorboard_plugin_tfcap.metadata import short_text

#: Claims of a caption, and what it leaves out.
MOST_CLAIMS = 64


@dataclass(frozen=True)
class Claim:
    """A claim of a caption, and whether it is true.

    Args:
        text: String, what is claimed, such as `"ball: blue"`. What is longer
            than 200 letters is cut.
        start: Integer, its first letter in the caption. Optional: a claim may
            be at no place of its own.
        end: Integer, behind its last letter.

    Raises:
        TypeError: If the text is not a string, or `true` not a boolean.
        ValueError: If it begins and does not end.

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
            "`start` and `end` must be letters of the caption, the first and "
            f"that behind the last. Received: start={self.start}, "
            f"end={self.end}. Leave out both where a claim is at no place."
        )


def claims_content(caption: str, claims) -> list:
    """Claims of a caption, as a record has them.

    Raises:
        ValueError: If there are too many, or one is beyond the caption.
    """
    claims = list(claims)
    beyond = [c for c in claims if c.end is not None and c.end > len(caption)]
    if beyond or len(claims) > MOST_CLAIMS:
        raise ValueError(
            f"`claims` must be at most {MOST_CLAIMS}, at letters of their "
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
    """Claims of a record, those that can be read.

    Returns:
        List of `Claim`, or `None` where the record tells of none.
    """
    if not isinstance(content, list):
        return None
    claims = []
    for one in content[:MOST_CLAIMS]:
        text = short_text(one.get("text")) if isinstance(one, dict) else ""
        if not text or not isinstance(one.get("true"), bool):
            continue
        start, end = (_whole(one.get(name)) for name in ("start", "end"))
        if start is None or end is None or not start < end <= len(caption):
            start = end = None
        claims.append(Claim(text, one["true"], start, end))
    return claims


def read_missing(content) -> list:
    """Texts of a record, of what a caption leaves out."""
    texts = content if isinstance(content, list) else []
    return list(filter(None, map(short_text, texts[:MOST_CLAIMS])))


def marked_caption(caption: str, claims) -> list:
    """Pieces of a caption: what is false of each.

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


def _whole(value):
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None
