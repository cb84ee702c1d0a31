"""Distinctive captions under a fixed retriever: how rows are trained."""

from reproduce.captioning.phases import SPEAKER_PHASES
from reproduce.captioning.rewarded import compiled_plan
from reproduce.captioning.rewarded import reward_speaker
from reproduce.paper import Paper
from reproduce.wtf_rl.retrievers import neighbors
from reproduce.wtf_rl.retrievers import retriever
from reproduce.wtf_rl.rows import ROWS
from reproduce.wtf_rl.settings import SETTINGS
from reproduce.wtf_rl.tables import distinctive_tables
from reproduce.wtf_rl.task import Task
from tfcap.decoding import BeamSearch

#: Rows that weigh similarity against a discriminator.
_WEIGHED = tuple(row for row in ROWS if row != "scst_grammar")


def planned(experiment, row, point):
    """A task of a row, and the `Plan` that it makes of it."""
    settings = experiment.at(point)
    task = Task(experiment, reward_speaker(experiment), settings)
    return task, ROWS[row](task)


def train(experiment, row, point):
    """A row as it is before it learns for a reward."""
    task, plan = planned(experiment, row, point)
    return compiled_plan(experiment, task, plan, **neighbors(experiment))


def heard(experiment, row, point):
    """The speaker of a point, the retriever of rewards and the unseen one."""
    speaker = experiment.trained(row, **point)["speaker"]
    others = {"unseen": retriever(experiment, "unseen")}
    return speaker, retriever(experiment), others


def beam_search(experiment):
    """The decoder of what is reinforced, and evaluated."""
    settings = experiment.settings
    return BeamSearch(
        settings.beam_width,
        settings.max_length,
        suppress=experiment.unsaid,
        no_repeat_ngram=settings.no_repeat_ngram,
        num_samples=1,
    )


def decodings(experiment):
    """A beam search, as published, and greedy."""
    return {"": beam_search(experiment), "greedy": experiment.greedy}


WTF_RL = Paper(
    "wtf_rl",
    SETTINGS,
    ROWS,
    {"tf": "speaker_mle"},
    SPEAKER_PHASES,
    train,
    heard,
    decodings,
    measures=("lm_log_prob", "greedy_lm_log_prob"),
    axes={"alpha": _WEIGHED, "rate": tuple(ROWS), "reward_shift": _WEIGHED},
    results={
        "results/distinctive_world": {},
        "results/distinctive_flickr8k": {},
    },
    default=("tf", "wtf", "wtf_rl", "rl"),
    tables=distinctive_tables,
)
