"""How a speaker that has learned from people learns for a reward."""

from reproduce.paper import Training
from tfcap.training import Game


def reward_speaker(experiment):
    """A fresh speaker, as it is before it learns for a reward."""
    dropout = experiment.settings.reward_dropout
    return experiment.starting("speaker_mle", "speaker", dropout)


def reward_batches(experiment, **options):
    """`tfcap.data.CaptionBatches` to learn for a reward from."""
    size = experiment.settings.reward_batch_size
    return experiment.batches(batch_size=size, **options)


def compiled_plan(experiment, task, plan, **options):
    """A `Training` of what a row makes of a task."""
    settings = task.settings
    players = {"speaker": (task.speaker, plan.objective)}
    players |= {k: p[:2] for k, p in plan.partners.items()}
    rates = {k: partner.rate for k, partner in plan.partners.items()}
    return Training(
        Game(
            task.speaker,
            {k: experiment.player(*who) for k, who in players.items()},
        ),
        {"speaker": settings.reward_rate, **rates},
        {"speaker": task.speaker},
        reward_batches(experiment, **options),
        settings.reward_epochs,
        plan.callbacks,
    )


def speaker_alone_heard(experiment, row, point):
    """The speaker of a point; nobody listens."""
    return experiment.trained(row, **point)["speaker"], None, {}
