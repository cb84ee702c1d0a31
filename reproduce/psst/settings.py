"""Joint Optimization for Cooperative Image Captioning: rows and settings."""

from dataclasses import dataclass
from dataclasses import replace

from keras import ops

from reproduce.captioning.ensemble import ending
from reproduce.captioning.ensemble import natural
from reproduce.captioning.settings import FLICKR8K_SPEAKER
from reproduce.captioning.settings import QUICK_SPEAKER
from reproduce.captioning.settings import WORLD_SPEAKER
from reproduce.captioning.settings import SpeakerSettings
from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.comparisons.strangers import StrangerSettings
from tfcap.methods import frozen_listener
from tfcap.methods import frozen_speaker
from tfcap.methods import g_gan
from tfcap.methods import psst
from tfcap.methods import reinforce
from tfcap.methods import retriever_ensemble
from tfcap.methods import straight_through
from tfcap.training import ExponentialTemperature


@dataclass(frozen=True)
class PSSTSettings(SpeakerSettings):
    """Hyperparameters of one captioning study; defaults as published.

    A listener retrieves an image among those of a batch. Other arguments: see
    `SpeakerSettings`.

    Args:
        listener_units: Integer, size of the common space of images and texts.
        listener_embedding_units: Integer, size of the listener's words.
        listener_dropout: Float, on images and words of the listener.
        listener_pooling: String, how the states of the words become a vector:
            `"last"`, `"mean"` or `"max"`.
        listener_bag_of_words: Boolean, whether the mean of its words is added
            to them.
        margin: Float, of the hinge loss.
        listener_epochs: Integer, passes over all human captions to pretrain
            the listener.
        listener_loss: String, the loss of pretraining: `"hinge"`, or
            `"contrastive"`, the symmetric InfoNCE. Not in the paper.
        listener_temperature: Float, of the contrastive loss.
        listener_warm_up: Integer, first passes with the hinge loss in which
            negatives are summed; then the hardest alone count.
        cider_epochs: Integer, passes over the images in which the speaker is
            trained for CIDEr-D alone, before joint training. Not in the paper,
            whose joint training is long enough without.
        joint_epochs: Integer, passes over the images of joint training.
        joint_dropout: Boolean, whether networks have dropout in joint training.
        joint_rate: Float, learning rate of the speaker.
        joint_listener_rate: Float, learning rate of the listener.
        joint_negatives: String, `"hardest"` or `"sum"`, of the hinge loss in
            joint training.
        naturalness_samples: Integer, captions drawn of an image for the
            CIDEr-D term. The baseline of one is the reward of the greedy
            caption, as in the paper; that of several, the mean of the others.
        human_weight: Float, of the likelihood of a human caption beside the
            CIDEr-D term. Not in the paper.
        condition_dropout: Float, share of images that are dropped for the
            speaker of guided decoding. Kornblith et al., not in the paper.
        rho: Float, probability of passing the whole distribution.
        annealing: Float, rate per step at which `st_gumbel_annealed` cools
            from temperature 1 to 0.5.
        cooling: Float, factor of the cooling speed of `psst_soft_cooling`.
        beam_width: Integer, of the beam search in evaluation.
        no_repeat_ngram: Integer, size of the n-grams that its captions do not
            repeat.
        gan_evaluator_epochs: Integer, passes over all human captions to
            pretrain the evaluator of `g_gan`.
        gan_continuations: Integer, sampled continuations by which `g_gan`
            scores the beginning of a caption. The paper has 16, the authors'
            code 64.
        ensemble: `StrangerSettings`, of the frozen retrievers that reward
            `retriever_ensemble`; their words and lengths are the speaker's.
        ensemble_batch_size: Integer, images in a batch of ensemble rows.
        ensemble_epochs: Integer, passes over the images of ensemble rows.
        ensemble_human_epochs: Integer, those of `ensemble_weighted`, which
            is trained on human captions alone, with dropout.
        ensemble_rate: Float, learning rate of the speaker in ensemble rows,
            which falls to a twentieth along a cosine.
        ensemble_samples: Integer, captions sampled of an image in such rows.
        ensemble_human_weight: Float, weight of the likelihood of human
            captions in such rows.
    """

    listener_units: int = 1024
    listener_embedding_units: int = 512
    listener_dropout: float = 0.0
    listener_pooling: str = "last"
    listener_bag_of_words: bool = False
    margin: float = 0.2
    listener_epochs: int = 30
    listener_loss: str = "hinge"
    listener_temperature: float = 0.07
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
    condition_dropout: float = 0.1
    rho: float = 0.25
    temperature: float = 1.0
    annealing: float = 3e-5
    cooling: float = 1.0
    beam_width: int = 5
    no_repeat_ngram: int = 3
    gan_evaluator_epochs: int = 5
    gan_continuations: int = 3
    ensemble: StrangerSettings = StrangerSettings()
    ensemble_batch_size: int = 64
    ensemble_epochs: int = 6
    ensemble_human_epochs: int = 4
    ensemble_rate: float = 4e-4
    ensemble_samples: int = 5
    ensemble_human_weight: float = 0.3


#: COCO with bottom-up features: the paper's and, where it is silent, the
#: released code's settings.
PUBLISHED = PSSTSettings()

#: Flickr8k with pooled features, minutes a curve point on one core.
FLICKR8K = PSSTSettings(
    **FLICKR8K_SPEAKER,
    listener_units=256,
    listener_embedding_units=256,
    listener_dropout=0.5,
    listener_pooling="max",
    listener_bag_of_words=True,
    listener_epochs=8,
    # On six thousand images a recurrence with hinges retrieves fewer images by
    # human captions than a linear map of their words.
    listener_loss="contrastive",
    listener_rate=1e-3,
    joint_epochs=4,
    joint_dropout=False,
    joint_rate=3e-4,
    # A listener that learns as fast as the speaker forgets human captions
    # faster than it learns those of the speaker.
    joint_listener_rate=1e-4,
    warm_up_steps=20,
    naturalness_samples=3,
    rho=0.5,
    annealing=3e-3,
)

#: The embedded world, where hinge losses suffice.
WORLD = replace(
    FLICKR8K,
    **WORLD_SPEAKER,
    listener_dropout=0.2,
    listener_pooling="last",
    listener_bag_of_words=False,
    listener_loss="hinge",
    listener_epochs=6,
    listener_warm_up=6,
)

#: Seconds, for a quick run.
QUICK = replace(
    WORLD,
    **QUICK_SPEAKER,
    listener_units=32,
    listener_embedding_units=32,
    listener_epochs=2,
    listener_warm_up=1,
    joint_epochs=1,
    gan_evaluator_epochs=1,
    ensemble=STRANGER_SETTINGS["quick"],
    ensemble_epochs=1,
    ensemble_human_epochs=1,
    ensemble_samples=2,
)

SETTINGS = {
    "published": PUBLISHED,
    "coco": PUBLISHED,
    "flickr8k": FLICKR8K,
    "world": WORLD,
    "clips": WORLD,
    "quick": QUICK,
}


def _code_rho(about):
    """The rho of the released code: its 0.25 is the share of sampled words."""
    return 1.0 - about.settings.rho


def _cooling_rho(about):
    """A rho that falls with every epoch."""
    cooling, steps = about.settings.cooling, about.steps_per_epoch

    def rho(step):
        epoch = 1.0 + ops.floor(ops.cast(step, "float32") / steps)
        return ops.minimum(1.0, (cooling * epoch) ** -0.5)

    return rho


def _annealed(about):
    return ExponentialTemperature(1.0, rate=about.settings.annealing)


_PSST = {"method": psst, "unread": ("temperature",)}
_ST = {"method": straight_through, "unread": ("temperature",)}
_GUMBEL = {"channel": "gumbel", "unread": ()}
_LUO = {"method": frozen_listener, "unread": ("rho", "temperature")}
_SR_PL = {**_LUO, "distractors": "distractor_image"}
_ALONE = {**_LUO, "estimator": "straight_through"}
_ENSEMBLE = {
    "method": retriever_ensemble,
    "unread": ("rho",),
    # Of the contrast; that of the settings is of words.
    "temperature": 0.01,
    "naturalness": natural,
    "num_samples": lambda about: about.settings.ensemble_samples,
    "human_weight": lambda about: about.settings.ensemble_human_weight,
}
_WEIGHTED = {
    "method": retriever_ensemble,
    "unread": ("rho",),
    "temperature": 0.01,
    "estimator": "teacher_forcing",
    "lambda_": 1.0,
    "naturalness": None,
    "threshold": 0.05,
}
#: All trained rows of section 6.2, and those of the released code alone, by
#: their names in records. Three are neither in the paper nor in its code:
#: `psst_speaker` shows the effect of training the listener, `psst_expected`
#: that of the missing gradient of the decision to stop, and
#: `retriever_ensemble`, with its ablations, that of several frozen listeners.
ROWS = {
    "psst_multinomial": _PSST,
    "psst_gumbel": {**_PSST, **_GUMBEL},
    "psst_multinomial_code": {**_PSST, "rho": _code_rho},
    "psst_gumbel_code": {**_PSST, **_GUMBEL, "rho": _code_rho},
    "psst_soft_cooling": {**_PSST, "rho": _cooling_rho},
    "psst_expected": {**_PSST, "termination": "expected"},
    "psst_reinmax": {"method": psst, "channel": "reinmax"},
    "psst_gumbel_rao": {"method": psst, "channel": "gumbel_rao"},
    "st_multinomial": _ST,
    "st_gumbel": {**_ST, **_GUMBEL},
    "st_reinmax": {"method": straight_through, "channel": "reinmax"},
    "st_gumbel_annealed": {**_ST, **_GUMBEL, "temperature": _annealed},
    "dense": {**_PSST, "rho": 1.0},
    "reinforce_joint": {"method": reinforce},
    "reinforce_joint_code": {"method": reinforce, "credit": "own"},
    "luo2018": _LUO,
    "luo2018_code": {**_LUO, "credit": "own"},
    "multinomial_speaker": _ALONE,
    "gumbel_speaker": {**_ALONE, "channel": "gumbel", "unread": ("rho",)},
    "psst_speaker": {
        **_ALONE,
        "estimator": "psst",
        "unread": ("temperature",),
    },
    "sr_pl": _SR_PL,
    "sr_pl_code": {**_SR_PL, "credit": "own"},
    "g_gan": {"method": g_gan},
    "retriever_ensemble": _ENSEMBLE,
    "retriever_alone": _ENSEMBLE,
    "ensemble_without_cider": {**_ENSEMBLE, "naturalness": ending},
    "ensemble_without_people": {**_ENSEMBLE, "human_weight": 0.0},
    "ensemble_pathwise": {**_ENSEMBLE, "estimator": "psst", "unread": ()},
    "ensemble_weighted": _WEIGHTED,
    "weighted_alone": _WEIGHTED,
    "frozen_speaker_luo": {"method": frozen_speaker},
    "frozen_speaker_mle": {"method": frozen_speaker},
}
