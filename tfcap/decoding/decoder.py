"""Base class of the decoders."""

from typing import Any

from tfcap._ops.arguments import checked_integer
from tfcap.decoding.logits_processors import NONE
from tfcap.decoding.rollout import Rollout


class Decoder:
    """Makes words of a speaker.

    A decoder knows no reward and no paper. To write one, override `decode()`.
    Two terms of an objective that are given the same decoder object share its
    rollout.
    """

    #: True if gradients can pass through the words of its rollouts.
    pathwise = False
    #: True if words come as at inference, with dropout off, in training, too:
    #: `decode()` is then given the state and the `training` of inference.
    inference = False
    #: Logits processors of its words.
    logits_processors = NONE

    def ruled_out(self, rollout: Rollout) -> Any:
        """Returns the logits processors that ask for no word's logits.

        By them another speaker scores the words of a rollout alike.
        """
        return self.logits_processors._replace(top_k=None, top_p=None)

    def decode(
        self,
        speaker: Any,
        state: Any,
        references: Any = None,
        training: bool = False,
    ) -> Rollout:
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


def check_no_training(decoder: Decoder, training: bool) -> None:
    """Refuses `training=True` for a decoder of inference."""
    if training:
        raise ValueError(
            f"`training` must be False for {type(decoder).__name__}, which "
            "decodes without dropout. Received: training=True. Decode from "
            "`speaker.begin(inputs)`, or use Sample."
        )


def checked_max_length(max_length: int) -> int:
    """Returns a maximum length; refuses what is not a positive integer."""
    return checked_integer(
        max_length,
        "max_length",
        "a positive integer, the number of words with the end token",
    )


def checked_unroll(unroll: bool | None) -> bool | None:
    """Returns how a decoder is to loop; refuses what is no choice."""
    if unroll not in (None, True, False):
        raise ValueError(
            "`unroll` must be True, False, or None to choose by the speaker. "
            f"Received: unroll={unroll!r}."
        )
    return unroll
