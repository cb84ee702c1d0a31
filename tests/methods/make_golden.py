"""Writes `golden.json`: what every published row did before the kit had it.

Runs at commit dbf8873, whose `reproduce` held the methods: in a checkout of
it, beside `stranger.py`,

    PYTHONPATH=. python tests/methods/make_golden.py golden.json
"""

import json
import sys
from types import SimpleNamespace

import keras
import numpy as np
from reproduce.captioning.methods import METHODS
from reproduce.distinctive import task as distinctive
from reproduce.distinctive.rows import ROWS
from reproduce.sequence_level.exploration import EXPLORATION
from reproduce.sequence_level.policy_gradient import POLICY_GRADIENT
from reproduce.sequence_level.task import Task as SequenceTask

from reproduce.captioning import methods
from reproduce.captioning.phases import naturalness
from tests.methods import stranger
from tfcap.decoding import Greedy
from tfcap.decoding import ScheduledSampling
from tfcap.layers import PartialSamplingST
from tfcap.objectives import TeacherForcing
from tfcap.training import Anneal
from tfcap.training import Game
from tfcap.training import ObjectiveModel
from tfcap.training import Player

RATE, SEED, UNSAID = 0.2, 7, (stranger.VOCABULARY.unk,)
SETTINGS = SimpleNamespace(
    max_length=stranger.LENGTH,
    margin=0.2,
    joint_negatives="hardest",
    batch_size=4,
    joint_rate=RATE,
    joint_listener_rate=RATE,
    joint_dropout=True,
    naturalness_samples=1,
    human_weight=0.0,
    cooling=1.0,
    annealing=0.1,
    gan_continuations=2,
    num_samples=3,
    entropy_weight=1e-2,
    alpha=0.75,
    code_alpha=0.25,
    num_continuations=2,
    rollout_every=1,
    baseline_units=(3,),
    baseline_rate=RATE,
    mixer_delta=2,
    mixer_last=0.5,
    mixer_weight=0.5,
    reward_epochs=3,
    reward_shift=0.0,
    temperature=0.1,
    combine="mean",
    neighbors=2,
    no_repeat_ngram=0,
    beam_width=2,
    discriminator_rate=RATE,
    discriminator_epochs=1,
    discriminator_units=(),
)
PROGRAMS = ("meteor", "spice", "bcmr", "spider")


def dense(task):
    """As it was, and with a seed, without which words end at random."""
    channel = PartialSamplingST(1.0, seed=task.study.seed)
    return methods._together(task, channel, "relaxed")


METHODS["dense"] = dense


class Batches:
    steps_per_epoch = 2

    def inputs(self, rows):
        return {k: v[rows] for k, v in stranger.batch().items()}


class Study:
    """What the rows ask a study for."""

    settings, seed, unsaid = SETTINGS, SEED, UNSAID

    def __init__(self):
        self.greedy = Greedy(SETTINGS.max_length, suppress=UNSAID)
        train = SimpleNamespace(document_frequencies=stranger.frequencies)
        self.data = SimpleNamespace(train=train, vocabulary=stranger.VOCABULARY)

    def player(self, network, objective, rate, **turns):
        return Player(
            network, objective, keras.optimizers.SGD(rate), 5.0, **turns
        )

    def batches(self):
        return Batches()

    reward_batches = batches

    def networks(self, phase, fresh=False):
        return {"speaker": stranger.speaker()}

    def trained(self, *point):
        return {"speaker": stranger.speaker()}

    def starting_speaker(self):
        return stranger.speaker()

    def retriever(self):
        return stranger.listener()


def told(game, networks, callbacks=()):
    """As `stranger.told()`, with callbacks as Keras calls them."""
    train, step = game.train_on_batch, 0

    def train_on_batch(*args, **options):
        nonlocal step
        for callback in callbacks:
            callback.variable.assign(callback.schedule(step))
        step += 1
        return train(*args, **options)

    game.train_on_batch = train_on_batch
    found = stranger.told(game, networks)
    found["annealed"] = [
        [float(c.schedule(step)) for step in range(8)] for c in callbacks
    ]
    return found


def cooperative(name, lambda_=0.3):
    study, evaluator = Study(), stranger.listener(4)
    methods.pretrained_evaluator = lambda study: evaluator
    speaker, listener = stranger.speaker(), stranger.listener()
    task = methods.Task(study, speaker, listener, lambda_, 0.25, 0.7)
    game, callbacks = METHODS[name](task)
    game.compile()
    networks = {"speaker": game.speaker, "listener": listener}
    if name == "g_gan":
        networks["evaluator"] = evaluator
    return told(game, networks, callbacks)


def sequence_level(rows, name):
    study, speaker = Study(), stranger.speaker()
    plan = rows[name](SequenceTask(study, speaker, SETTINGS))
    return planned(study, speaker, plan)


def distinct(name):
    study, speaker, critic = Study(), stranger.speaker(), stranger.critic()
    distinctive.pretrained_discriminator = lambda *_, **__: critic
    task = distinctive.Task(study, speaker, SETTINGS)
    return planned(study, speaker, ROWS[name](task))


def planned(study, speaker, plan):
    players = {"speaker": study.player(speaker, plan.objective, RATE)}
    networks = {"speaker": speaker}
    for name, partner in plan.partners.items():
        if name == "baseline":
            stranger.fill(partner.network, 5)
        players[name] = study.player(*partner)
        networks[name] = partner.network
    game = Game(speaker, players)
    game.compile()
    return told(game, networks, plan.callbacks)


def alone(objective, callbacks=()):
    speaker = stranger.speaker()
    model = ObjectiveModel(objective, speaker, global_clipnorm=5.0)
    model.compile(keras.optimizers.SGD(RATE))
    return told(model, {"speaker": speaker}, callbacks)


def scheduled():
    decoder = ScheduledSampling(0.0, seed=SEED)
    anneal = Anneal(decoder.probability, lambda step: 0.25 * step)
    return alone(TeacherForcing("token", decoder=decoder), [anneal])


def several():
    study = Study()
    study.settings = SimpleNamespace(**vars(SETTINGS))
    study.settings.naturalness_samples = 3
    return alone(naturalness(study))


def rows():
    yield from ((name, cooperative(name)) for name in METHODS)
    for found in (EXPLORATION, POLICY_GRADIENT):
        for name in found:
            # The other rewards need programs, and differ in nothing else.
            if name.rpartition("_")[2] not in PROGRAMS:
                yield name, sequence_level(found, name)
    yield from ((n, distinct(n)) for n in ROWS if n != "scst_grammar")
    yield "mle", alone(TeacherForcing("token"))
    yield "mle_scheduled_sampling", scheduled()
    yield "scst", alone(naturalness(Study()))
    yield "scst_leave_one_out", several()


if __name__ == "__main__":
    lines = []
    for name, found in rows():
        print(name, np.round(found["losses"], 4), flush=True)
        lines.append(f' "{name}": {json.dumps(found)}')
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
