"""Truth of captions as a reward: training of rows."""

import functools

import keras
import numpy as np

from reproduce.captioning.phases import SPEAKER_PHASES
from reproduce.captioning.rates import falling
from reproduce.captioning.rewarded import cider
from reproduce.captioning.rewarded import reward_speaker
from reproduce.captioning.rewarded import reward_training
from reproduce.captioning.rewarded import speaker_alone_heard
from reproduce.comparisons.truth.reader_network import AnswerLoss
from reproduce.comparisons.truth.reader_network import Answers
from reproduce.comparisons.truth.reader_network import ReaderNetwork
from reproduce.comparisons.truth.rewards import LearnedReader
from reproduce.comparisons.truth.rewards import LearnedUtility
from reproduce.comparisons.truth.rewards import truth_reward
from reproduce.comparisons.truth.settings import SETTINGS
from reproduce.comparisons.truth.tables import truth_tables
from reproduce.paper import Paper
from reproduce.paper import build
from reproduce.world.questions import ExactReader
from reproduce.world.questions import scene_questions
from reproduce.world.truth import MEASURES
from tfcap.data import CaptionBatches
from tfcap.decoding import Sample
from tfcap.layers import PartialSamplingST
from tfcap.methods import scst
from tfcap.objectives import Pathwise
from tfcap.rewards import Utility
from tfcap.training import JointTraining
from tfcap.training import Learner

#: Name of the network that answers questions in a study.
READER = "reader"
#: Questions that captions of an image are asked in a step.
NUM_QUESTIONS = 16
#: Weight beside CIDEr-D, of which samples differ five times as much.
UTILITY_WEIGHT = 5.0


def measured(measure, about):
    """A measure of truth as a reward."""
    data = about.experiment.data
    return truth_reward(measure, data.truth("train"), data.vocabulary)


def mixed(about):
    """Weighted sum of precision and recall."""
    alpha = about.settings.alpha
    precision, recall = (
        measured(measure, about) for measure in ("precision", "recall")
    )
    return alpha * precision + (1.0 - alpha) * recall


def utility(about, **options):
    """Questions that a reader answers from the caption alone."""
    data, seed = about.experiment.data, about.experiment.seed
    return Utility(
        scene_questions(data.truth("train")),
        ExactReader(),
        limit=NUM_QUESTIONS,
        seed=seed,
        vocabulary=data.vocabulary,
        **options,
    )


def utility_cider(about):
    """Questions that a reader answers, in captions that read as people's."""
    return cider(about.experiment) + UTILITY_WEIGHT * utility(about)


def learned_utility(about):
    """Questions that a network answers correctly from the caption alone."""
    experiment = about.experiment
    network = experiment.networks(READER)[READER]
    network.trainable = False
    return LearnedUtility(network, Answers(experiment.data.truth("train")))


def through_words(
    speaker,
    reward,
    *,
    rho=0.25,
    max_length=16,
    suppress=(),
    seed=None,
    global_clipnorm=None,
):
    """Partial-sampling straight-through into a reward with gradients.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        speaker, rho, max_length, suppress, seed, global_clipnorm: As those of
            `tfcap.methods.psst()`.
    """
    channel = PartialSamplingST(rho=rho, seed=seed)
    words = {"max_length": max_length, "suppress": suppress}
    objective = Pathwise(reward, Sample(channel, feedback="relaxed", **words))
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner})


#: Rewards of rows.
REWARDS = {
    "cider": lambda about: cider(about.experiment),
    **{name: functools.partial(measured, name) for name in MEASURES},
    "utility": utility,
    "utility_cider": utility_cider,
    "utility_probability": functools.partial(utility, log=False),
    "mixed": mixed,
    "learned_utility": learned_utility,
    "learned_utility_words": learned_utility,
}
#: Rows that are trained for a reward: by self-critical training with a
#: leave-one-out baseline, or through words.
ROWS = {
    **{name: {"method": scst, "baseline": "leave_one_out"} for name in REWARDS},
    "learned_utility_words": {"method": through_words},
}


def train(experiment, row, point):
    """The training of a row for its reward."""
    about = experiment.about_point(point)
    numbers = experiment.words()
    numbers["num_samples"] = about.settings.num_samples
    networks = [reward_speaker(experiment), REWARDS[row](about)]
    model = build(ROWS[row], networks, numbers, about)
    return reward_training(about, model)


class AnsweredBatches(CaptionBatches):
    """Human captions, and the answers of their images.

    Args:
        answers: `Answers` of the images.
        **options: Those of `tfcap.data.CaptionBatches`.
    """

    def __init__(self, captions, features, batch_size, answers, **options):
        self.answers = answers
        super().__init__(captions, features, batch_size, **options)

    def batch(self, step):
        """Inputs of the network, and targets `(B, 2, Q)`, of a step."""
        inputs = super().batch(step)
        row, answers = inputs["row"], self.answers
        targets = np.stack([answers.numbers[row], answers.weights[row]], axis=1)
        return {"caption": inputs["caption"]}, targets.astype("float32")


def reader(study):
    """A network learns to answer questions from human captions."""
    settings, data = study.settings, study.data
    batches = AnsweredBatches(
        data.train,
        data.train_features,
        min(settings.batch_size, len(data.train)),
        Answers(data.truth("train")),
        seed=study.seed,
        epoch="captions",
    )
    network = ReaderNetwork(data.vocabulary.size, settings.reader_units)
    network(batches.batch(0)[0])
    steps = settings.reader_epochs * batches.steps_per_epoch
    rate = falling(settings.reader_rate, steps)
    network.compile(keras.optimizers.Adam(rate), AnswerLoss())
    return study.fit(
        READER, network, batches, settings.reader_epochs, reader=network
    )


def truths(experiment, name: str, speaker, metrics):
    """Truth scores of the saved captions and of human captions.

    Returns:
        Dict of scores, see `reproduce.world.truth.Truth.scores()` and
        `tfcap.rewards.Utility.scores()`, which after `learned_` are those of a
        network; after `human_` those of the first human caption of each image.
    """
    data, split = experiment.data, experiment.split
    truth = data.truth(split)
    people = [texts[0] for texts in getattr(data, split).texts]
    network = experiment.networks(READER)[READER]
    questions, rows = scene_questions(truth), range(len(truth))
    readers = {
        "": ExactReader(),
        "learned_": LearnedReader(network, data.vocabulary),
    }

    def scored(captions):
        scores = truth.scores(captions)
        for prefix, reader in readers.items():
            found = Utility(questions, reader).scores(captions, rows)
            scores |= {f"{prefix}{key}": value for key, value in found.items()}
        return scores

    human = {f"human_{key}": score for key, score in scored(people).items()}
    return scored(experiment.kept(name).captions) | human


TRUTH = Paper(
    "truth",
    settings=SETTINGS,
    rows=ROWS,
    starts={"mle": "speaker_mle"},
    phases={**SPEAKER_PHASES, READER: reader},
    train=train,
    heard=speaker_alone_heard,
    axes={"alpha": ("mixed",), "rate": tuple(ROWS)},
    default=("mle", "precision", "recall", "f1", "utility_cider"),
    tables=truth_tables,
    more=truths,
    results={
        "results/truth_world": {},
        "results/truth_utility": {},
        "results/tradeoff_world": {
            "methods": ("reinforce_joint", "psst_multinomial", "speaker_mle")
        },
    },
)
