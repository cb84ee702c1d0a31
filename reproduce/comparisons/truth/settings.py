"""Rewards of truth: settings."""

from dataclasses import dataclass
from dataclasses import replace

from reproduce.captioning.settings import QUICK_SPEAKER
from reproduce.captioning.settings import WORLD_SPEAKER
from reproduce.captioning.settings import RewardSettings


@dataclass(frozen=True)
class TruthSettings(RewardSettings):
    """Hyperparameters of one study. Other arguments: see `RewardSettings`.

    Args:
        num_samples: Integer `S`, captions sampled of an image.
        alpha: Float in `[0, 1]`, weight of precision in `mixed`, one minus
            that of recall.
        reader_units: Integer, size of the learned reader's states.
        reader_epochs: Integer, passes over all human captions.
    """

    alpha: float = 0.5
    num_samples: int = 5
    reader_units: int = 128
    reader_epochs: int = 4
    reader_rate: float = 2e-3


#: The embedded world, minutes a row on one core.
WORLD = replace(
    TruthSettings(),
    **WORLD_SPEAKER,
    reward_epochs=6,
    reward_batch_size=128,
    reward_rate=3e-4,
    reward_dropout=False,
    warm_up_steps=20,
)
#: Seconds, for a quick run.
QUICK = replace(
    WORLD,
    **QUICK_SPEAKER,
    reward_batch_size=16,
    reward_epochs=1,
    num_samples=2,
    reader_units=8,
    reader_epochs=1,
)
SETTINGS = {"world": WORLD, "quick": QUICK}
