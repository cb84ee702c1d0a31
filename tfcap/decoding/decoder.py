"""Base class of the decoders."""


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


def check_max_length(max_length):
    """Refuses a maximum length that is not a positive integer."""
    if not isinstance(max_length, int) or max_length < 1:
        raise ValueError(
            "`max_length` must be a positive integer, the number of words "
            f"with the end token. Received: max_length={max_length}."
        )
