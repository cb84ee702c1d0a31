"""Hyper-parameters of studies that train a speaker for rewards."""

from dataclasses import dataclass

from reproduce.captioning.speaker_settings import SpeakerSettings


@dataclass(frozen=True)
class RewardSettings(SpeakerSettings):
    """What studies set that train a speaker for rewards.

    It learns from people first. What is not told here is told in
    `SpeakerSettings`.

    Args:
        reward_epochs: Integer, passes over the images in which it learns for
            the reward.
        reward_batch_size: Integer, images in a batch then.
        reward_rate: Float, learning rate of the speaker then.
        reward_dropout: Boolean, whether the speaker drops out then.
        alpha: Float in `[0, 1]`, weight of what is wanted of a caption, one
            minus that of what keeps it to the language, or diverse.
        beam_width: Integer, of beam search.
    """

    speaker: str = "show_tell"
    reward_epochs: int = 30
    reward_batch_size: int = 128
    reward_rate: float = 1e-4
    reward_dropout: bool = True
    alpha: float = 0.75
    beam_width: int = 5
