"""A penalty of captions that come near the greatest length."""

from typing import Any

from keras import ops

from tfcap._ops import is_end
from tfcap._ops.arguments import checked_integer
from tfcap.rewards.reward import Reward


class LengthPenalty(Reward):
    """0 for captions that are short enough, falling to -1 for unfinished ones.

    ```
    reward = 0                                  # length <= T - buffer
    reward = (T - buffer - length) / buffer     # longer
    reward = -1                                 # no end token
    ```

    with the end token counted in the length.

    Args:
        buffer: Integer, words before the greatest length over which the
            reward falls.
        max_length: Integer `T`, that of the decoder.
        name: String. Defaults to `"overlong"`.

    Example:

    >>> reward = tfcap.rewards.BLEU(4) + tfcap.rewards.LengthPenalty(4, 16)
    >>> reward.terms
    ('bleu_4', 'overlong')

    Reference:

    - Yu et al., DAPO, 2025, equation 13, "soft overlong punishment"
    """

    judges = False

    def __init__(self, buffer: int, max_length: int, name: str = "overlong"):
        self.max_length = checked_integer(max_length, "max_length")
        wanted = "an integer from 1 to `max_length`"
        self.buffer = checked_integer(buffer, "buffer", wanted)
        if self.buffer > self.max_length:
            raise ValueError(
                f"`buffer` must be {wanted}. Received: buffer={buffer} with "
                f"max_length={max_length}."
            )
        self.name = name

    def call(self, rollout: Any, episode: Any) -> Any:
        length = ops.sum(ops.cast(rollout.mask, "float32"), axis=-1)
        short = self.max_length - self.buffer
        falling = ops.minimum((short - length) / self.buffer, 0.0)
        ends = is_end(rollout.tokens, episode.speaker.eos) & (rollout.mask > 0)
        empty = ops.logical_not(rollout.nonempty)
        ended = ops.logical_or(ops.any(ends, axis=-1), empty)
        return ops.where(ended, ops.maximum(falling, -1.0), -1.0)
