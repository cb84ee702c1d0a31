"""Hyperparameters that the captioning papers share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SpeakerSettings:
    """Settings that all captioning studies share: the speaker and its start.

    Args:
        units: Integer, size of the speaker's states, attention and words.
        dropout: Float, on what enters the speaker's vocabulary head.
        word_dropout: Float, on the words that it reads.
        max_length: Integer `T`, words of a caption with the end token.
        min_count: Integer, least occurrences of a word in the vocabulary.
        batch_size: Integer, images in a batch.
        speaker_epochs: Integer, passes over all human captions for maximum
            likelihood.
        speaker_rate: Float, learning rate, which falls to a twentieth along a
            cosine.
        scheduled_sampling: Float, share of its own words that the speaker is
            fed at the end of these epochs, reached in a straight line.
        warm_up_steps: Integer, over which rates rise from 0 after maximum
            likelihood.
        clipnorm: Float or `None`, norm that gradients are clipped to.
    """

    speaker: str = "att2in"
    units: int = 512
    dropout: float = 0.5
    word_dropout: float = 0.5
    image_dropout: float = 0.5
    max_length: int = 16
    min_count: int = 5
    batch_size: int = 128
    speaker_epochs: int = 30
    speaker_rate: float = 5e-4
    scheduled_sampling: float = 0.25
    warm_up_steps: int = 0
    clipnorm: float | None = None
    evaluation_batch_size: int = 250


@dataclass(frozen=True)
class RewardSettings(SpeakerSettings):
    """Settings of papers that train a speaker for rewards.

    Maximum likelihood comes first. Other arguments: see `SpeakerSettings`.

    Args:
        reward_epochs: Integer, passes over the images for the reward.
        reward_batch_size: Integer, images in a batch of this phase.
        reward_rate: Float, learning rate of the speaker in this phase.
        reward_dropout: Boolean, whether the speaker has dropout in this phase.
        alpha: Float in `[0, 1]`, weight of the main reward, one minus that of
            naturalness or diversity.
    """

    speaker: str = "show_tell"
    reward_epochs: int = 30
    reward_batch_size: int = 128
    reward_rate: float = 1e-4
    reward_dropout: bool = True
    alpha: float = 0.75
    beam_width: int = 5


#: A speaker for Flickr8k with pooled features, minutes on one core; and for
#: the embedded world.
FLICKR8K_SPEAKER = {
    "speaker": "show_tell",
    "units": 256,
    "dropout": 0.4,
    "word_dropout": 0.2,
    "image_dropout": 0.3,
    "speaker_epochs": 7,
    "speaker_rate": 1e-3,
    "scheduled_sampling": 0.0,
}
WORLD_SPEAKER = {**FLICKR8K_SPEAKER, "units": 128, "max_length": 20}
#: Seconds, for a quick run.
QUICK_SPEAKER = {
    **WORLD_SPEAKER,
    "units": 32,
    "batch_size": 16,
    "min_count": 1,
    "speaker_epochs": 2,
}
