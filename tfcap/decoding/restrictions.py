"""What a decoder may not say."""

from typing import NamedTuple

from tfcap.decoding.repetition import checked_no_repeat_ngram
from tfcap.decoding.repetition import without_repeats
from tfcap.decoding.suppression import check_suppress
from tfcap.decoding.suppression import never_said
from tfcap.decoding.suppression import suppressed
from tfcap.decoding.truncation import checked_truncation
from tfcap.decoding.truncation import truncated


class Restrictions(NamedTuple):
    """What a decoder may not say; log probabilities are of what it may.

    Args:
        suppress: Tuple of integers, ids that are never said.
        no_repeat_ngram: Integer, size of the n-grams that come but once; 0
            for none.
        top_k: Integer, how many of the most likely words may be said, or
            `None`.
        top_p: Float, the probability that the words have together that may be
            said, or `None`.
    """

    suppress: tuple = ()
    no_repeat_ngram: int = 0
    top_k: int | None = None
    top_p: float | None = None

    def checked(self):
        """The same, or a `ValueError` that names what is wrong."""
        size = checked_no_repeat_ngram(self.no_repeat_ngram)
        top_k, top_p = checked_truncation(self.top_k, self.top_p)
        return Restrictions(check_suppress(self.suppress), size, top_k, top_p)

    def of(self, speaker):
        """The same, and what no speaker says: padding and the start token.

        Args:
            speaker: `tfcap.decoding.Speaker`.

        Returns:
            `Restrictions`.
        """
        return self._replace(suppress=(*self.suppress, *never_said(speaker)))

    def check_continuations(self):
        """Refuses to speak on from any beginning where it looks back."""
        if self.no_repeat_ngram:
            raise ValueError(
                "`no_repeat_ngram` must be 0 for continuations. Received: "
                f"no_repeat_ngram={self.no_repeat_ngram}. Train without it, "
                "and use it to evaluate."
            )

    def apply(self, logits, told=None):
        """Logits of what may be said.

        Args:
            logits: Float tensor of shape `(n, V)`.
            told: Integer tensor of shape `(n, t)`, the words so far, or `None`
                before the first.

        Returns:
            Float tensor of shape `(n, V)`.
        """
        logits = suppressed(logits, self.suppress)
        logits = without_repeats(logits, told, self.no_repeat_ngram)
        return truncated(logits, self.top_k, self.top_p)


#: Everything may be said.
NONE = Restrictions()
