"""Policy gradient for SPIDEr, and MIXER: training of rows."""

import math
import os

from keras import ops

from reproduce.captioning.rewarded import reward_batches
from reproduce.captioning.rewarded import reward_speaker
from reproduce.captioning.rewarded import reward_training
from reproduce.paper import Paper
from reproduce.paper import build
from reproduce.sle.paper import SHARED
from reproduce.sle.paper import tables_of_rows
from reproduce.spider.settings import METRICS
from reproduce.spider.settings import ROWS
from reproduce.spider.settings import metric_of
from tfcap.decoding import state_vector
from tfcap.methods import mixer
from tfcap.training import JointTraining


def train(experiment, row, point):
    """The training of a row for a metric."""
    about, model = model_of(experiment, row, point)

    def load_baseline():
        weights = fitted_baseline(experiment, row, point)
        model.learners["baseline"].network.set_weights(weights)

    # MIXER's baseline has no rewards before the prefix shrinks.
    fitted = None if ROWS[row]["method"] is mixer else load_baseline
    rates = {"baseline": about.settings.baseline_rate}
    return reward_training(about, model, rates, fitted)


def model_of(experiment, row, point):
    """A point, and its model, of a fresh speaker."""
    about, speaker = experiment.about_point(point), reward_speaker(experiment)
    settings, batches = about.settings, reward_batches(experiment)
    numbers = {
        **experiment.words(),
        "state_units": state_units(speaker, batches),
        "num_continuations": settings.num_continuations,
        "rollout_every": settings.rollout_every,
        "baseline_units": settings.baseline_units,
        "delta": settings.mixer_delta,
        "weight": settings.mixer_weight,
        "stage_steps": stage_steps(settings, batches),
    }
    reward = METRICS[metric_of(row)](experiment)
    return about, build(ROWS[row], [speaker, reward], numbers, about)


def stage_steps(settings, batches):
    """Steps of a stage of MIXER; the last share of training has no prefix."""
    steps = batches.steps_per_epoch * settings.reward_epochs
    stages = math.ceil(settings.max_length / settings.mixer_delta)
    return max(steps * (1.0 - settings.mixer_last) / stages, 1.0)


def state_units(speaker, batches):
    """Size of a speaker's state as a vector."""
    # A speaker may have no state before its first word.
    start = ops.full((1,), speaker.bos, dtype="int32")
    _, state = speaker.step(start, speaker.begin(batches.inputs([0])))
    return state_vector(speaker, state).shape[-1]


def fitted_baseline(experiment, row, point):
    """Weights of a baseline that is fitted to the fixed speaker."""
    name = os.path.join("baselines", row)

    def fit():
        experiment.say(f"{name}: fitting the baseline to the fixed speaker")
        # Another model than that of the speaker: a run that finds the
        # baseline on disk draws the same samples as one that fits it.
        about, model = model_of(experiment, row, point)
        baseline = model.learners["baseline"]
        game = JointTraining(model.speaker, {"baseline": baseline})
        game.compile(experiment.optimizer(about.settings.baseline_rate))
        return experiment.fit(
            name,
            game,
            reward_batches(experiment),
            experiment.settings.baseline_epochs,
            baseline=baseline.network,
        )

    return experiment.once(name, fit)["baseline"].get_weights()


SPIDER = Paper(
    "spider",
    rows=ROWS,
    starts={"mle": "speaker_mle"},
    train=train,
    axes={"rate": tuple(ROWS)},
    results={"results/sequence_world": {}, "results/spider_flickr8k": {}},
    tables=tables_of_rows("mle", *ROWS),
    default=("mle", "reinforce", "pg_cider", "mixer_cider"),
    **SHARED,
)
