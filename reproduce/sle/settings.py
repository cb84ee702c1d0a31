"""Sequence-level exploration: rows, and settings for SPIDEr, too."""

from dataclasses import dataclass
from dataclasses import replace

from reproduce.captioning.settings import FLICKR8K_SPEAKER
from reproduce.captioning.settings import QUICK_SPEAKER
from reproduce.captioning.settings import WORLD_SPEAKER
from reproduce.captioning.settings import RewardSettings
from tfcap.methods import sll
from tfcap.methods import sll_me
from tfcap.methods import sll_sle


@dataclass(frozen=True)
class SLESettings(RewardSettings):
    """Hyperparameters of one study; defaults as published.

    Other arguments: see `RewardSettings`. A beam search evaluates.

    Args:
        num_samples: Integer `S`, captions sampled of an image by the rows of
            SLL-SLE; those of the policy gradient sample one.
        alpha: Float in `[0, 1]`, weight of CIDEr-D, one minus that of
            diversity.
        code_alpha: Float, weight of diversity in `sll_sle_loo`.
        entropy_weight: Float, of the entropy bonus of `sll_me`.
        num_continuations: Integer `K`, Monte-Carlo continuations of a
            beginning.
        rollout_every: Integer, words between beginnings that are continued.
        baseline_units: Tuple of integers, hidden layers of the learned
            baseline. MIXER's is linear.
        baseline_epochs: Integer, passes over the images in which it is fitted
            to the fixed speaker.
        mixer_delta: Integer, words by which the prefix of MIXER gets shorter
            in each stage.
        mixer_last: Float, share of the epochs after the stages with a
            shrinking prefix. The last stage has no prefix, either.
        mixer_weight: Float, of REINFORCE in MIXER; one minus that of the
            likelihood.
        diversity_samples: Integer, captions sampled of an image to measure
            diversity.
    """

    num_samples: int = 5
    code_alpha: float = 0.25
    entropy_weight: float = 1e-2
    num_continuations: int = 3
    rollout_every: int = 1
    baseline_units: tuple = (512,)
    baseline_rate: float = 1e-3
    baseline_epochs: int = 1
    mixer_delta: int = 3
    mixer_last: float = 0.5
    mixer_weight: float = 0.5
    diversity_samples: int = 5


#: COCO with pooled features: the papers' settings, where they give them.
PUBLISHED = SLESettings()

#: Flickr8k with pooled features, minutes a row on one core.
FLICKR8K = replace(
    PUBLISHED,
    **FLICKR8K_SPEAKER,
    reward_epochs=8,
    reward_batch_size=64,
    reward_rate=5e-4,
    reward_dropout=False,
    warm_up_steps=20,
    rollout_every=3,
    baseline_units=(128,),
)

#: The embedded world.
WORLD = replace(
    FLICKR8K,
    **WORLD_SPEAKER,
    reward_epochs=6,
    reward_batch_size=128,
    reward_rate=3e-4,
)

#: Clips of the embedded world: a quarter of the images.
CLIPS = replace(
    WORLD,
    batch_size=64,
    speaker_epochs=10,
    reward_batch_size=64,
    reward_epochs=12,
)

#: Seconds, for a quick run.
QUICK = replace(
    WORLD,
    **QUICK_SPEAKER,
    reward_batch_size=16,
    reward_epochs=1,
    num_samples=2,
    diversity_samples=2,
    beam_width=2,
    num_continuations=1,
    baseline_units=(8,),
)

SETTINGS = {
    "published": PUBLISHED,
    "coco": PUBLISHED,
    "flickr8k": FLICKR8K,
    "world": WORLD,
    "clips": CLIPS,
    "quick": QUICK,
}

#: Rows of Tables 1 to 4 that are trained for a reward. The last follows code of
#: the first author: the distance is to all other samples at once.
ROWS = {
    "sll": {"method": sll},
    "sll_me": {"method": sll_me},
    "sll_sle": {"method": sll_sle},
    "sll_sle_loo": {
        "method": sll_sle,
        "variant": "code",
        "alpha": lambda about: 1.0 - about.settings.code_alpha,
    },
}
