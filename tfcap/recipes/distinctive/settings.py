"""Hyper-parameters of distinctive captioning."""

from dataclasses import dataclass
from dataclasses import replace

from tfcap.recipes.captioning.speaker_settings import SpeakerSettings
from tfcap.recipes.distinctive.retriever import RETRIEVER_SETTINGS
from tfcap.recipes.distinctive.retriever import RetrieverSettings


@dataclass(frozen=True)
class DistinctiveSettings(SpeakerSettings):
    """Hyper-parameters of one study; defaults as published, where they fit.

    The speaker learns from people first, and then to stand out. What is not
    told here is told in `SpeakerSettings`.

    Args:
        reward_epochs: Integer, passes over the images in which it learns to
            stand out.
        reward_batch_size: Integer, images in a batch then.
        reward_rate: Float, learning rate of the speaker then. The paper's,
            1e-6, is for a pretrained transformer.
        reward_dropout: Boolean, whether the speaker drops out then.
        warm_up_steps: Integer, over which this rate rises from 0.
        alpha: Float in `[0, 1]`, weight of similarity, one minus that of the
            discriminator.
        reward_shift: Float, added to every reward.
        temperature: Float, of the contrast.
        combine: `"mean"` or `"sum"`, of both directions of it.
        neighbors: Integer, images that look like one, mined for each; 0 for
            none.
        kept_neighbors: Tuple of integers, which of them are rivals; or `None`
            for all.
        beam_width: Integer, of the beam search that is reinforced, and that
            evaluates.
        no_repeat_ngram: Integer, size of the n-grams that it says once.
        retriever: `RetrieverSettings`, of the one that rewards.
        unseen: `RetrieverSettings`, of the one that only judges in the end.
        discriminator_units: Tuple of integers, its hidden layers.
        discriminator_epochs: Integer, passes over the images before the
            speaker moves.
        discriminator_rate: Float.
        grammar_units: Integer, size of the classifier of `scst_grammar`.
        grammar_epochs: Integer, passes over all human captions.
        grammar_rate: Float.
        grammar_similarity: Float, weight of similarity beside grammar.
    """

    speaker: str = "show_tell"
    reward_epochs: int = 5
    reward_batch_size: int = 20
    reward_rate: float = 1e-5
    reward_dropout: bool = False
    warm_up_steps: int = 0
    alpha: float = 0.94
    reward_shift: float = 0.0
    temperature: float = 0.01
    combine: str = "mean"
    neighbors: int = 5
    kept_neighbors: tuple | None = None
    beam_width: int = 5
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


#: COCO with pooled features.
PUBLISHED = DistinctiveSettings()

#: Flickr8k with pooled features, minutes a row on one core.
FLICKR8K = replace(
    PUBLISHED,
    units=256,
    dropout=0.4,
    word_dropout=0.2,
    image_dropout=0.3,
    speaker_epochs=7,
    speaker_rate=1e-3,
    scheduled_sampling=0.0,
    clipnorm=5.0,
    reward_epochs=4,
    reward_batch_size=64,
    reward_rate=2e-4,
    warm_up_steps=20,
    temperature=0.05,
)

#: The embedded world.
WORLD = replace(
    FLICKR8K,
    units=128,
    max_length=20,
    discriminator_units=(128, 64),
    grammar_units=64,
)

#: Seconds, to see it run.
QUICK = replace(
    WORLD,
    units=32,
    batch_size=16,
    reward_batch_size=16,
    min_count=1,
    speaker_epochs=2,
    reward_epochs=1,
    beam_width=2,
    neighbors=2,
    retriever=RETRIEVER_SETTINGS["quick"],
    unseen=replace(RETRIEVER_SETTINGS["quick"], network="listener"),
    discriminator_units=(8,),
    grammar_units=8,
)

SETTINGS = {
    "published": PUBLISHED,
    "flickr8k": FLICKR8K,
    "world": WORLD,
    "clips": WORLD,
    "quick": QUICK,
}
