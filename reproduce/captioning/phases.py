"""Phases of pretraining, before speaker and listener train together."""

import keras

from reproduce.captioning.networks import make_listener
from reproduce.captioning.networks import make_speaker
from reproduce.captioning.rates import falling
from reproduce.captioning.rewarded import cider
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.methods import mle
from tfcap.methods import scst
from tfcap.metrics import CollapseRatio
from tfcap.training import CollapseWarning


def listener_alone(study):
    """Phase 1: the listener learns to retrieve images by human captions."""
    settings = study.settings
    batches = study.batches(epoch="captions")
    ready = study.data.image_preprocessing()
    listener = make_listener(settings, batches, ready)
    epochs, steps = settings.listener_epochs, batches.steps_per_epoch
    adam = _adam(settings.listener_rate, epochs * steps)
    # Hardest negatives from the start may keep it from ever learning.
    warm = settings.listener_warm_up * steps
    hinge = HingeRetrievalLoss(
        settings.margin,
        lambda step: keras.ops.cast(step >= warm, "float32"),
        step=adam.iterations,
    )
    loss = hinge
    if settings.listener_loss == "contrastive":
        loss = BidirectionalContrastiveLoss(
            settings.listener_temperature, decoupled=False
        )
    listener.compile(adam, loss, metrics=[CollapseRatio(hinge)])
    watch = [CollapseWarning()]
    return study.fit(
        "listener_gt", listener, batches, epochs, watch, listener=listener
    )


def speaker_alone(study):
    """Phase 2: the speaker learns human captions by maximum likelihood."""
    return _speaker_alone(study, "speaker_mle")


def speaker_for_guidance(study):
    """The speaker learns the same, with images dropped at random."""
    rate = study.settings.condition_dropout
    return _speaker_alone(study, "speaker_guided", rate)


def _speaker_alone(study, name, condition_dropout=0.0):
    settings = study.settings
    batches = study.batches(epoch="captions")
    ready = study.data.image_preprocessing()
    speaker = make_speaker(settings, batches, ready, condition_dropout)
    epochs, share = settings.speaker_epochs, settings.scheduled_sampling
    steps = epochs * batches.steps_per_epoch
    model = mle(
        speaker,
        scheduled_sampling=share and (lambda step: share * step / steps),
        seed=study.seed,
        global_clipnorm=5.0,
    )
    model.compile(_adam(settings.speaker_rate, steps))
    return study.fit(name, model, batches, epochs, speaker=speaker)


def speaker_for_cider(study):
    """The speaker is then trained for CIDEr-D, without a listener."""
    settings = study.settings
    speaker = study.networks("speaker_mle", fresh=True)["speaker"]
    if not settings.cider_epochs:
        return {"speaker": speaker}
    batches = study.batches()
    model = self_critical(study, speaker)
    steps = settings.cider_epochs * batches.steps_per_epoch
    model.compile(_adam(settings.cider_rate, steps))
    return study.fit(
        "speaker_cider", model, batches, settings.cider_epochs, speaker=speaker
    )


def self_critical(study, speaker):
    """Self-critical training for CIDEr-D, the objective of naturalness."""
    return scst(
        speaker,
        cider(study),
        num_samples=study.settings.naturalness_samples,
        human_weight=study.settings.human_weight,
        **study.words(),
    )


SPEAKER_PHASES = {"speaker_mle": speaker_alone}
#: Phases by their names in a study.
PHASES = {
    "listener_gt": listener_alone,
    "speaker_mle": speaker_alone,
    "speaker_cider": speaker_for_cider,
    "speaker_guided": speaker_for_guidance,
}


def _adam(rate, steps):
    return keras.optimizers.Adam(falling(rate, steps))
