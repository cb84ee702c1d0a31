"""One budget for all methods: settings."""

from dataclasses import dataclass
from dataclasses import fields
from dataclasses import replace

from reproduce.captioning.settings import SpeakerSettings
from reproduce.psst import settings as psst

#: Settings of a speaker that each paper keeps.
_OWN = {"clipnorm"}


@dataclass(frozen=True)
class AxesSettings(psst.PSSTSettings):
    """Hyperparameters that all methods share.

    Networks and `joint_*` are those of `PSSTSettings`, for every method:
    `joint_epochs` passes over the images at `joint_rate`, from the same
    speaker of maximum likelihood. Other settings are those of each paper.

    Args:
        like: String, the settings of the other papers, such as `"world"`.
        joint_batch_size: Integer, images in a batch.
        num_samples: Integer, captions drawn of an image by methods that
            compare several.
        critic_units: Tuple of integers, hidden layers of learned baselines.
        diversity_samples: Integer, captions sampled of an image to measure
            diversity.
    """

    like: str = "published"
    joint_batch_size: int = 128
    num_samples: int = 5
    critic_units: tuple = (512,)
    diversity_samples: int = 5

    def of(self, paper):
        """Settings of another paper, the budget and the speaker these."""
        if paper.name == "psst":
            return replace(
                self,
                batch_size=self.joint_batch_size,
                ensemble_batch_size=self.joint_batch_size,
                ensemble_epochs=self.joint_epochs,
                ensemble_human_epochs=self.joint_epochs,
                ensemble_rate=self.joint_rate,
                ensemble_samples=self.num_samples,
            )
        own = paper.settings[self.like]
        names = {field.name for field in fields(SpeakerSettings)} - _OWN
        if hasattr(own, "num_samples"):
            names.add("num_samples")
        shared = {name: getattr(self, name) for name in names}
        return replace(
            own,
            **shared,
            reward_epochs=self.joint_epochs,
            reward_batch_size=self.joint_batch_size,
            reward_rate=self.joint_rate,
            reward_dropout=self.joint_dropout,
        )


def _like(name, **changes):
    return AxesSettings(**vars(psst.SETTINGS[name]) | {"like": name} | changes)


#: The embedded world, and Flickr8k with pooled features: the budget of PSST's
#: sweeps there, whose points are points of this one.
WORLD = _like("world", num_samples=3, critic_units=(128,))
FLICKR8K = _like("flickr8k", num_samples=3, critic_units=(128,))
#: Seconds, for a quick run.
QUICK = _like(
    "quick",
    joint_batch_size=16,
    num_samples=2,
    critic_units=(8,),
    diversity_samples=2,
)
SETTINGS = {"world": WORLD, "flickr8k": FLICKR8K, "quick": QUICK}
