"""Training of a pretrained speaker for a reward."""

from reproduce.paper import Training
from tfcap.rewards import CIDErD


def reward_speaker(experiment):
    """A pretrained speaker, before it is trained for a reward."""
    dropout = experiment.settings.reward_dropout
    return experiment.starting("speaker_mle", "speaker", dropout)


def reward_batches(experiment, **options):
    """`tfcap.data.CaptionBatches` for training with a reward."""
    size = experiment.settings.reward_batch_size
    return experiment.batches(batch_size=size, **options)


def cider(experiment):
    """CIDEr-D, with document frequencies of the training split."""
    return CIDErD(experiment.data.train.document_frequencies())


def reward_training(
    about, model, rates=None, prepare=None, **options
) -> Training:
    """A `Training` of a row."""
    settings = about.settings
    return Training(
        model,
        {"speaker": settings.reward_rate, **(rates or {})},
        {"speaker": model.speaker},
        reward_batches(about.experiment, **options),
        settings.reward_epochs,
        prepare=prepare,
    )


def speaker_alone_heard(experiment, row, point):
    """The speaker of a point, without listeners."""
    return experiment.trained(row, **point)["speaker"], None, {}
