"""Distinctive captions with human captions: rows and settings."""

from dataclasses import dataclass
from dataclasses import replace

from reproduce.captioning.rewarded import cider
from reproduce.captioning.settings import FLICKR8K_SPEAKER
from reproduce.captioning.settings import QUICK_SPEAKER
from reproduce.captioning.settings import WORLD_SPEAKER
from reproduce.captioning.settings import RewardSettings
from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.comparisons.strangers import StrangerSettings
from reproduce.wtf_rl.retrievers import RETRIEVER_SETTINGS
from reproduce.wtf_rl.retrievers import RetrieverSettings
from tfcap.methods import scst
from tfcap.methods import wtf_rl


@dataclass(frozen=True)
class WTFSettings(RewardSettings):
    """Hyperparameters of one study; defaults as published, if applicable.

    Other arguments: see `RewardSettings`. The paper's rate, 1e-6, is for a
    pretrained transformer. Beam search decodes in training and evaluation.

    Args:
        alpha: Float in `[0, 1]`, weight of similarity, one minus that of the
            discriminator.
        reward_shift: Float, added to every reward.
        combine: `"mean"` or `"sum"`, of both directions of similarity.
        neighbors: Integer, similar images mined for each one; 0 for none.
        kept_neighbors: Tuple of integers, which of them are distractors; or
            `None` for all.
        no_repeat_ngram: Integer, size of the n-grams that beams do not repeat.
        retriever: `RetrieverSettings`, of the one that rewards.
        unseen: `RetrieverSettings`, of the one that only evaluates.
        discriminator_units: Tuple of integers, its hidden layers.
        discriminator_epochs: Integer, passes over all human captions before
            the speaker is trained.
        grammar_units: Integer, size of the classifier of `scst_grammar`.
        grammar_epochs: Integer, passes over all human captions.
        grammar_similarity: Float, weight of CLIPScore beside grammar.
        cider_weight: Float, of CIDEr-D in rows that are trained for it, too.
        ensemble: `StrangerSettings`, of the retrievers beside the first in
            rows that are trained for several.
    """

    reward_epochs: int = 5
    reward_batch_size: int = 20
    reward_rate: float = 1e-5
    reward_dropout: bool = False
    alpha: float = 0.94
    reward_shift: float = 0.0
    temperature: float = 0.01
    combine: str = "mean"
    neighbors: int = 5
    kept_neighbors: tuple | None = None
    no_repeat_ngram: int = 3
    retriever: RetrieverSettings = RetrieverSettings()
    unseen: RetrieverSettings = RetrieverSettings(network="listener")
    discriminator_units: tuple = (512, 256)
    discriminator_epochs: int = 1
    discriminator_rate: float = 1e-3
    grammar_units: int = 256
    grammar_epochs: int = 1
    grammar_rate: float = 1e-3
    grammar_similarity: float = 2.0
    cider_weight: float = 0.3
    ensemble: StrangerSettings = StrangerSettings()


#: COCO with pooled features.
PUBLISHED = WTFSettings()

#: Flickr8k with pooled features, minutes a row on one core.
FLICKR8K = replace(
    PUBLISHED,
    **FLICKR8K_SPEAKER,
    clipnorm=5.0,
    reward_epochs=3,
    reward_rate=1e-4,
    warm_up_steps=20,
    kept_neighbors=(3, 4),
)

#: The embedded world.
WORLD = replace(
    FLICKR8K,
    **WORLD_SPEAKER,
    reward_epochs=2,
    discriminator_units=(128, 64),
    grammar_units=64,
)

#: Seconds, for a quick run.
QUICK = replace(
    WORLD,
    **QUICK_SPEAKER,
    reward_batch_size=16,
    reward_epochs=1,
    beam_width=2,
    neighbors=2,
    kept_neighbors=None,
    retriever=RETRIEVER_SETTINGS["quick"],
    unseen=replace(RETRIEVER_SETTINGS["quick"], network="listener"),
    discriminator_units=(8,),
    ensemble=STRANGER_SETTINGS["quick"],
    grammar_units=8,
)

SETTINGS = {
    "published": PUBLISHED,
    "coco": PUBLISHED,
    "flickr8k": FLICKR8K,
    "world": WORLD,
    "clips": WORLD,
    "quick": QUICK,
}


def _cider(about):
    return about.settings.cider_weight * cider(about.experiment)


#: Arguments of the contrast alone.
_CONTRAST = (
    *("temperature", "combine"),
    *("neighbors", "same", "neighbor_same"),
)
_CIDER = {"method": wtf_rl, "naturalness": _cider}
_RL = {"method": wtf_rl, "human_weight": 0.0}
#: Rows of Table 1 that are trained for a reward, by their names in records.
ROWS = {
    "wtf": {"method": wtf_rl, "beam_weight": 0.0},
    "wtf_rl": {"method": wtf_rl},
    "rl": _RL,
    # Among other captions alone, not images.
    "rl_unidirectional": {**_RL, "directions": ("text",)},
    "scst_discriminator": {**_RL, "reward": "cosine", "unread": _CONTRAST},
    "scst_grammar": {"method": scst},
    # As in the released code: the beam twice, and no human caption.
    "wtf_rl_code": {**_RL, "beam_weight": 2.0},
    # Not in the paper.
    "wtf_rl_cider": _CIDER,
    "wtf_rl_ensemble": _CIDER,
}
