"""Decoder that returns the references."""

from tfcap._ops import check_shape
from tfcap._ops import reference_mask
from tfcap.decoding.decoder import Decoder
from tfcap.decoding.rollout import Rollout


class GroundTruth(Decoder):
    """Makes the speaker say the references.

    With a constant reward this is teacher forcing.

    Example:

    >>> class Scribe:
    ...     eos = 2
    >>> references = np.array([[[5, 2, 0]]])
    >>> rollout = tfcap.decoding.GroundTruth().decode(Scribe, None, references)
    >>> print(rollout.mask.numpy())
    [[[1. 1. 0.]]]
    """

    def decode(self, speaker, state, references=None, training=False):
        check_references(references, "GroundTruth")
        pad = getattr(speaker, "pad", 0)
        return Rollout(references, reference_mask(references, speaker.eos, pad))


def check_references(references, decoder):
    """Refuses a batch without human words for a decoder that says them."""
    if references is None:
        raise ValueError(
            "`references` must hold the human words, of shape (B, S, T), "
            f"for the {decoder} decoder. Received: references=None. "
            "Return them from the speaker's `references()`."
        )
    check_shape(references, "B S T", "references")
