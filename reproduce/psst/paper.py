"""Joint Optimization for Cooperative Image Captioning: training of rows."""

from reproduce.captioning.ensemble import retrievers
from reproduce.captioning.phases import PHASES
from reproduce.captioning.phases import self_critical
from reproduce.captioning.rates import falling
from reproduce.paper import Paper
from reproduce.paper import Training
from reproduce.paper import build
from reproduce.psst.adversary import pretrained_evaluator
from reproduce.psst.adversary import pretrained_generator
from reproduce.psst.settings import ROWS
from reproduce.psst.settings import SETTINGS
from reproduce.psst_figures import curve_tables
from reproduce.psst_figures import write_curve_figure
from reproduce.psst_figures import write_psst_comparison
from tfcap.decoding import BeamSearch
from tfcap.methods import retriever_ensemble
from tfcap.training import CollapseWarning

#: The paper's lambdas.
LAMBDAS = (5e-4, 1e-3, 1.6e-3, 2.5e-3, 5e-3, 1e-2)
#: Strengths of guidance; 1 is none.
GAMMAS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
#: Rows of human captions, and the rows whose listener evaluates them.
HUMAN = {
    "listener_gt": "listener_gt",
    "gt_on_psst_listener": "psst_multinomial",
}
#: Rows with an ensemble of one retriever.
ALONE = ("retriever_alone", "weighted_alone")
#: Rows without a lambda.
WITHOUT_LAMBDA = (
    *PHASES,
    "g_gan",
    "frozen_speaker_mle",
    "ensemble_weighted",
    "weighted_alone",
)
#: Rows by the hyperparameter that they have.
AXES = {
    "lambda": [r for r in (*ROWS, *HUMAN) if r not in WITHOUT_LAMBDA],
    "rho": (
        *("psst_multinomial", "psst_gumbel", "psst_speaker", "psst_expected"),
        *("psst_reinmax", "psst_gumbel_rao", "gt_on_psst_listener"),
    ),
    "gamma": ("guided",),
    "temperature": (
        *("psst_gumbel", "psst_gumbel_code", "st_gumbel", "gumbel_speaker"),
    ),
}


def train(experiment, row, point):
    """The joint training of a row."""
    about = experiment.about_point(point)
    settings, method = about.settings, ROWS[row]
    supervised = method.get("estimator") == "teacher_forcing"
    dropout = settings.joint_dropout or supervised
    speaker = experiment.starting("speaker_cider", "speaker", dropout)
    listener = experiment.starting("listener_gt", "listener", dropout)
    others = [listener]
    if row == "g_gan":
        speaker = pretrained_generator(experiment)
        others = [pretrained_evaluator(experiment)]
    elif row == "frozen_speaker_luo":
        networks = experiment.trained("luo2018", lambda_=point["lambda"])
        speaker = networks["speaker"]
    elif row == "frozen_speaker_mle":
        speaker = experiment.starting("speaker_mle", "speaker", dropout)
    ensemble = method["method"] is retriever_ensemble
    if ensemble:
        several = retrievers(experiment, 1 if row in ALONE else None)
        # The own listener of such a row is a retriever of its reward.
        listener, others = several[0], [several]
    naturalness = self_critical(experiment, speaker).learners["speaker"]
    numbers = {
        **experiment.words(),
        "lambda_": point.get("lambda"),
        "naturalness": naturalness.objective,
        "rho": settings.rho,
        "temperature": settings.temperature,
        "margin": settings.margin,
        "negatives": settings.joint_negatives,
        "num_continuations": settings.gan_continuations,
    }
    model = build(method, [speaker, *others], numbers, about)
    options, epochs, rate = {}, settings.joint_epochs, settings.joint_rate
    if ensemble:
        options["batch_size"] = settings.ensemble_batch_size
        epochs = settings.ensemble_epochs
        if supervised:
            epochs = settings.ensemble_human_epochs
        steps = epochs * experiment.batches(**options).steps_per_epoch
        rate = falling(settings.ensemble_rate, steps)
    if "distractors" in method:
        options["distractors"] = settings.batch_size
        options["distractor_features"] = experiment.data.unlabeled_features
    listens = settings.joint_listener_rate
    return Training(
        model,
        {
            "speaker": rate,
            "listener": listens,
            "evaluator": listens,
        },
        {"speaker": speaker, "listener": listener},
        experiment.batches(**options),
        epochs * getattr(model, "period", 1),
        [CollapseWarning()],
    )


def left(experiment, phase):
    """The phase that gives the networks of a phase."""
    # A phase without epochs leaves the speaker as it was.
    none = phase == "speaker_cider" and not experiment.settings.cider_epochs
    return "speaker_mle" if none else phase


def heard(experiment, row, point):
    """The networks of a point, and the listener of human captions alone."""
    fixed = experiment.networks("listener_gt")["listener"]
    row = HUMAN.get(row, row)
    if row == "guided":
        return experiment.trained(row)["speaker"], fixed, {"fixed": fixed}
    if row in PHASES:
        phase = "speaker_mle" if row == "listener_gt" else row
        speaker, listener = experiment.networks(phase)["speaker"], fixed
    else:
        networks = experiment.trained(row, **point)
        speaker, listener = networks["speaker"], networks["listener"]
    return speaker, listener, {"fixed": fixed}


def decodings(experiment):
    """Greedy, and a beam search."""
    settings = experiment.settings
    beam = BeamSearch(
        settings.beam_width,
        settings.max_length,
        suppress=experiment.unsaid,
        no_repeat_ngram=settings.no_repeat_ngram,
        num_samples=1,
    )
    return {"": experiment.greedy, "beam": beam}


def draw(path, records, data, rho=0.25, cider=None, **others):
    """Draws the curves of a sweep, as a page or a picture."""
    write_curve_figure(path, records, data, rho=rho, cider=cider)


PSST = Paper(
    "psst",
    SETTINGS,
    ROWS,
    {
        "speaker_mle": "speaker_mle",
        "speaker_cider": "speaker_cider",
        "guided": "speaker_guided",
    },
    PHASES,
    train,
    heard,
    axes=AXES,
    decodings=decodings,
    default=("psst_multinomial",),
    usual={"lambda": LAMBDAS, "gamma": GAMMAS},
    results={
        "results/tradeoff_world": {
            "rho": 0.25,
            "cider": 0.95,
            "ablation_cider": 0.9,
        },
        "results/tradeoff_flickr8k": {},
        "results/frozen_speaker_flickr8k": {},
        "results/tradeoff_coco_text": {},
        "results/ensemble_flickr8k": {},
        "results/ensemble_people_flickr8k": {},
        "results/ensemble_world": {},
    },
    tables=curve_tables,
    draw=draw,
    compare=write_psst_comparison,
    folder="points",
    abbreviations={"temperature": "tau"},
    human=HUMAN,
    left=left,
)
