"""Base class of the decoders."""

from tfcap.ops.arguments import checked_integer


class Decoder:
    """How words come.

    A decoder knows no reward and no paper. To write one, override `decode()`.
    Two terms of an objective that are given the same decoder object share its
    rollout.
    """

    #: Whether gradients can pass through the words of its rollouts.
    pathwise = False
    #: Whether words come as at inference, with dropout off, in training, too.
    inference = False

    def decode(self, speaker, state, references=None, training=False):
        """Lets a speaker speak.

        Args:
            speaker: `tfcap.decoding.Speaker`.
            state: Nest of tensors with leading axis `B`, from
                `speaker.begin()`; from `speaker.begin(training=False)` if the
                decoder has `inference`.
            references: Integer tensor of shape `(B, S, T)`, the human words,
                for decoders that need them.
            training: Boolean, passed on to the speaker.

        Returns:
            `tfcap.decoding.Rollout`.
        """
        raise NotImplementedError


def checked_max_length(max_length):
    """Returns a maximum length; refuses what is not a positive integer."""
    return checked_integer(
        max_length,
        "max_length",
        "a positive integer, the number of words with the end token",
    )
