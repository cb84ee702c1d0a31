"""Hyper-parameters of cooperative captioning."""

from dataclasses import dataclass
from dataclasses import replace

from tfcap.recipes.captioning.speaker_settings import FLICKR8K_SPEAKER
from tfcap.recipes.captioning.speaker_settings import QUICK_SPEAKER
from tfcap.recipes.captioning.speaker_settings import WORLD_SPEAKER
from tfcap.recipes.captioning.speaker_settings import SpeakerSettings


@dataclass(frozen=True)
class CaptioningSettings(SpeakerSettings):
    """Hyper-parameters of one captioning study; defaults as published.

    A listener finds an image among those of a batch. What is not told here is
    told in `SpeakerSettings`.

    Args:
        listener_units: Integer, size of the space in which images and texts
            meet.
        listener_embedding_units: Integer, size of the listener's words.
        listener_dropout: Float, on images and words of the listener.
        margin: Float, of the hinge loss.
        listener_epochs: Integer, passes over all human captions in which the
            listener learns alone.
        listener_warm_up: Integer, those of them with summed negatives, before
            the hardest alone count.
        listener_rate: Float, as `speaker_rate`.
        cider_epochs: Integer, passes over the images in which the speaker
            then learns for CIDEr-D alone, before anybody listens. Not in the
            paper, whose joint training is long enough without.
        cider_rate: Float.
        joint_epochs: Integer, passes over the images of joint training.
        joint_dropout: Boolean, whether networks drop out in joint training.
        joint_rate: Float, learning rate of the speaker.
        joint_listener_rate: Float, learning rate of the listener.
        joint_negatives: String, `"hardest"` or `"sum"`, of the hinge loss in
            joint training.
        naturalness_samples: Integer, captions drawn of an image for the
            CIDEr-D term. One has the reward of the greedy caption for its
            baseline, as in the paper; of several, each has the others' mean.
        human_weight: Float, of the likelihood of a human caption beside the
            CIDEr-D term. Not in the paper.
        rho: Float, probability of passing the whole distribution.
        temperature: Float, of the Gumbel-softmax.
        annealing: Float, rate per step at which `st_gumbel_annealed` cools
            from temperature 1 to 0.5.
        cooling: Float, by how much faster than its default
            `psst_soft_cooling` cools.
        beam_width: Integer, of the beam search that evaluates beside greedy
            decoding.
        no_repeat_ngram: Integer, size of the n-grams that its captions say
            once.
        gan_evaluator_epochs: Integer, passes over all human captions in which
            the evaluator of `g_gan` learns alone.
        gan_continuations: Integer, sentences that `g_gan` ends at random to
            judge the beginning of one. The paper has 16, the authors' code 64.
    """

    listener_units: int = 1024
    listener_embedding_units: int = 512
    listener_dropout: float = 0.0
    margin: float = 0.2
    listener_epochs: int = 30
    listener_warm_up: int = 2
    listener_rate: float = 5e-4
    cider_epochs: int = 0
    cider_rate: float = 1e-4
    joint_epochs: int = 150
    joint_dropout: bool = True
    joint_rate: float = 1e-4
    joint_listener_rate: float = 1e-4
    joint_negatives: str = "hardest"
    naturalness_samples: int = 1
    human_weight: float = 0.0
    rho: float = 0.25
    temperature: float = 1.0
    annealing: float = 3e-5
    cooling: float = 1.0
    beam_width: int = 5
    no_repeat_ngram: int = 3
    gan_evaluator_epochs: int = 5
    gan_continuations: int = 3


#: COCO with bottom-up features: the paper's and, where it is silent, the
#: released code's settings.
PUBLISHED = CaptioningSettings()

#: Flickr8k with pooled features, minutes a curve point on one core.
FLICKR8K = CaptioningSettings(
    **FLICKR8K_SPEAKER,
    listener_units=512,
    listener_embedding_units=256,
    listener_dropout=0.2,
    # On six thousand images hardest negatives make a worse listener.
    listener_epochs=6,
    listener_warm_up=6,
    listener_rate=1e-3,
    joint_epochs=4,
    joint_dropout=False,
    joint_rate=3e-4,
    joint_listener_rate=3e-4,
    warm_up_steps=20,
    naturalness_samples=3,
    rho=0.5,
    annealing=3e-3,
)

#: The embedded world. A listener that learns as fast as the speaker forgets
#: what people say faster than it learns what the speaker says.
WORLD = replace(
    FLICKR8K, **WORLD_SPEAKER, listener_units=256, joint_listener_rate=1e-4
)

#: Seconds, to see it run.
QUICK = replace(
    WORLD,
    **QUICK_SPEAKER,
    listener_units=32,
    listener_embedding_units=32,
    listener_epochs=2,
    listener_warm_up=1,
    joint_epochs=1,
    gan_evaluator_epochs=1,
)

SETTINGS = {
    "published": PUBLISHED,
    "flickr8k": FLICKR8K,
    "world": WORLD,
    "clips": WORLD,
    "quick": QUICK,
}
