"""Improved Image Captioning via Policy Gradient Optimization of SPIDEr.

A function a row: each takes a `Task` and returns a `Plan`. `mle` is where all
of them start. `pg_*` follow the paper, for a metric or a mixture of metrics;
`mixer_*` are its rival, MIXER; `reinforce` is the same without continuations.
"""

import functools
import math

from keras import ops

from reproduce.captioning.plan import Partner
from reproduce.captioning.plan import Plan
from reproduce.captioning.rewarded import reward_batches
from tfcap.decoding import MixedPrefix
from tfcap.decoding import state_vector
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import BCMR
from tfcap.rewards import BLEU
from tfcap.rewards import METEOR
from tfcap.rewards import ROUGEL
from tfcap.rewards import SPICE
from tfcap.rewards import SPIDEr


def reward_for(task, metric):
    """The reward of a row's name.

    Args:
        task: `Task`.
        metric: String, key of `METRICS`.

    Returns:
        `tfcap.rewards.Reward`.

    Raises:
        tfcap.text.JavaError: If the metric needs a program or models that are
            not there; says which, and what to do.
    """
    return METRICS[metric](task)


def policy_gradient(task, metric):
    """Every word by what sentences that begin so are worth."""
    settings = task.settings
    credit = MonteCarlo(settings.num_continuations, settings.rollout_every)
    return _reinforced(task, metric, credit)


def reinforce(task):
    """Every word by what the sentence is worth, in CIDEr-D."""
    return _reinforced(task, "cider", None)


def mixer(task, metric):
    """People's words first, and then fewer and fewer of them."""
    settings = task.settings
    length = settings.max_length
    stages = math.ceil(length / settings.mixer_delta)
    steps = reward_batches(task.study).steps_per_epoch * settings.reward_epochs
    stage = max(steps * (1.0 - settings.mixer_last) / stages, 1.0)

    def prefix(step):
        # The first stage begins with fewer: all were given before.
        passed = ops.floor(ops.cast(step, "float32") / stage)
        return ops.maximum(length - settings.mixer_delta * (1 + passed), 0.0)

    mixed = MixedPrefix(
        prefix,
        length,
        task.study.seed,
        keep_states=True,
        suppress=task.study.unsaid,
    )
    baseline = _baseline(task, mixed, ())
    term = ScoreFunction(reward_for(task, metric), mixed, baseline)
    objective = settings.mixer_weight * term
    human = TeacherForcing(decoder=mixed)
    objective += (1.0 - settings.mixer_weight) * human
    # Its baseline has nothing to learn from before the prefix falls.
    return _beside(task, objective, baseline, fit_first=False)


def _reinforced(task, metric, credit):
    samples = task.sample(1, keep_states=True)
    baseline = _baseline(task, samples, task.settings.baseline_units)
    reward = reward_for(task, metric)
    objective = ScoreFunction(reward, samples, baseline, credit=credit)
    return _beside(task, objective, baseline)


def _beside(task, objective, baseline, callbacks=(), fit_first=True):
    """The speaker, and the baseline that learns to expect what it gets."""
    rate = task.settings.baseline_rate
    partner = Partner(baseline.network, objective, rate)
    return Plan(objective, {"baseline": partner}, callbacks, fit_first)


def _baseline(task, decoder, units):
    speaker, batches = task.speaker, reward_batches(task.study)
    # Before its first word, a speaker may have no state of words.
    start = ops.full((1,), speaker.bos, dtype="int32")
    _, state = speaker.step(start, speaker.begin(batches.inputs([0])))
    size = state_vector(speaker, state).shape[-1]
    return LearnedBaseline(decoder, size, units)


#: Rewards by the name of a metric.
METRICS = {
    # Few samples share a 4-gram with a human caption; MIXER's code adds 1.
    "bleu4": lambda task: BLEU(4, smoothing="add_one"),
    "cider": lambda task: task.cider(),
    "rouge": lambda task: ROUGEL(),
    "meteor": lambda task: METEOR(task.study.data.vocabulary),
    "spice": lambda task: SPICE(task.study.data.vocabulary),
    "bcmr": lambda task: BCMR(*_corpus(task)),
    "spider": lambda task: SPIDEr(*_corpus(task)),
}


def _corpus(task):
    data = task.study.data
    return data.train.document_frequencies(), data.vocabulary


#: Rows that are trained for a reward.
POLICY_GRADIENT = {
    "reinforce": reinforce,
    **{
        f"pg_{metric}": functools.partial(policy_gradient, metric=metric)
        for metric in METRICS
    },
    **{
        f"mixer_{metric}": functools.partial(mixer, metric=metric)
        for metric in ("bleu4", "cider", "bcmr")
    },
}
