"""All methods on the same axes: training and evaluation of rows."""

import copy
import os

from reproduce.captioning.phases import PHASES
from reproduce.captioning.rewarded import cider
from reproduce.comparisons.all.cost import CPUSeconds
from reproduce.comparisons.all.cost import cpu_seconds
from reproduce.comparisons.all.rows import DEFAULT
from reproduce.comparisons.all.rows import ORIGINS
from reproduce.comparisons.all.rows import ROWS
from reproduce.comparisons.all.rows import STARTS
from reproduce.comparisons.all.settings import SETTINGS
from reproduce.comparisons.all.tables import all_tables
from reproduce.paper import Paper
from reproduce.paper import Training
from reproduce.paper import build
from reproduce.psst.paper import PSST
from reproduce.psst.paper import left
from reproduce.spider.paper import state_units
from reproduce.wtf_rl.paper import WTF_RL
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.rewards import Retrieval
from tfcap.training import Evaluator

LISTENER = "listener_gt"
#: Weights of the listener, rho and strengths of guidance, as in PSST's sweep on
#: the world.
USUAL = {
    "lambda": (1.6e-3, 5e-3, 1.6e-2),
    "rho": (0.25,),
    "gamma": (1.5, 2.0),
}


def train(experiment, row, point):
    """The training of a row, whose CPU time is counted."""
    origin = ORIGINS.get(row)
    view = as_paper(experiment, origin or PSST)
    make = origin.train if origin else own_training
    training = make(view, row, point)
    place = experiment.paper.place(row, point)
    spent = CPUSeconds(experiment.path(place))
    return training._replace(
        callbacks=[*training.callbacks, spent],
        prepare=spent.prepared(training.prepare),
    )


def as_paper(experiment, paper):
    """A view of the experiment for a paper's rows, with the shared networks."""
    view = copy.copy(experiment)
    # Made anew, by that paper.
    vars(view).pop("decodings", None)
    view.paper, view.settings = paper, experiment.settings.of(paper)
    view.networks = experiment.networks
    view.given = dict(experiment.given)
    if paper is WTF_RL:
        view.given.setdefault("retriever", frozen_listener(experiment))
    return view


def frozen_listener(experiment):
    """The listener that all methods share, trained on human captions alone."""
    listener = experiment.networks(LISTENER)["listener"]
    listener.trainable = False
    return listener


def own_training(experiment, row, point):
    """The training of a row that is in none of the five papers."""
    about = experiment.about_point(point)
    settings = about.settings
    dropout = settings.joint_dropout
    speaker = experiment.starting("speaker_mle", "speaker", dropout)
    batches = experiment.batches()
    shared = {**experiment.words(), "num_samples": settings.num_samples}
    critic = {
        "state_units": state_units(speaker, batches),
        "baseline_units": settings.critic_units,
    }
    reward = traded_off(experiment, point["lambda"])
    # All take what is shared, presets among their `**options`.
    model = build(shared | ROWS[row], [speaker, reward], critic, about)
    return Training(
        model,
        {"speaker": settings.joint_rate, "baseline": 1e-3},
        {"speaker": speaker},
        batches,
        settings.joint_epochs,
    )


def traded_off(experiment, lambda_):
    """Equation 1 of PSST as a reward: CIDEr-D and a frozen listener.

    ```
    reward = (1 - lambda) * CIDErD + lambda * B * Retrieval
    ```

    REINFORCE on PSST's page maximizes its mean over a batch of B images. Rows
    through words divide the first term alone by the words of a caption.
    """
    natural = cider(experiment)
    if not lambda_:
        return natural
    settings = experiment.settings
    heard = Retrieval(
        frozen_listener(experiment),
        settings.margin,
        settings.joint_negatives,
        learning=False,
    )
    return (1.0 - lambda_) * natural + lambda_ * settings.batch_size * heard


def heard(experiment, row, point):
    """The networks of a point, with its own listener or the shared one."""
    fixed = experiment.networks(LISTENER)["listener"]
    networks = experiment.trained(row, **point if row not in STARTS else {})
    return (
        networks["speaker"],
        networks.get("listener", fixed),
        {"fixed": fixed},
    )


def differing(experiment, name: str, speaker, metrics):
    """Diversity of several captions of an image, and the cost of training.

    Returns:
        Dict of scores: those of `Evaluator.diversity()` after
        `"rs_"`, of captions that are drawn, without guidance; and
        `cpu_seconds`.
    """
    row = os.path.basename(name).partition("_gamma_")[0]
    kept = STARTS.get(row, name)
    scores = cpu_seconds(experiment.path(kept))
    if speaker is None or row == "guided":
        return scores
    settings = experiment.settings
    decoder = Sample(
        Categorical(seed=experiment.seed),
        settings.diversity_samples,
        settings.max_length,
        suppress=experiment.unsaid,
        unroll=False,
    )
    batches = experiment.batches(experiment.split, shuffle=False)
    size = settings.evaluation_batch_size
    report = Evaluator(speaker, batches, batch_size=size).diversity(decoder)
    return scores | {f"rs_{k}": v for k, v in report.scores.items()}


ALL = Paper(
    "all",
    SETTINGS,
    {row: paper.rows[row] for row, paper in ORIGINS.items()} | ROWS,
    STARTS,
    PHASES,
    train,
    heard,
    axes={
        "lambda": [*PSST.axes["lambda"], *ROWS],
        "gamma": ("guided",),
        "rho": PSST.axes["rho"],
    },
    default=DEFAULT,
    usual=USUAL,
    seeds={"world": range(5), "flickr8k": range(3)},
    results={"results/all_flickr8k": {}, "results/all_world": {}},
    tables=all_tables,
    more=differing,
    left=left,
)
