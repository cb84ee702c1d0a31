"""The adversary of G-GAN: it learns whose captions it reads."""

import keras
import numpy as np

from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.models import CaptionEvaluator
from tfcap.objectives import Judging
from tfcap.recipes.captioning.networks import without_dropout
from tfcap.training import Game
from tfcap.training import Player

#: Under which a study keeps it as it is before the game.
NAME = "gan_evaluator"


def pretrained_generator(study):
    """The speaker of maximum likelihood, as it enters the game.

    Args:
        study: `CaptioningStudy`.

    Returns:
        `tfcap.models.CaptionSpeaker`, a fresh one.
    """
    speaker = study.networks("speaker_mle", fresh=True)["speaker"]
    if not study.settings.joint_dropout:
        without_dropout(speaker)
    return speaker


def pretrained_evaluator(study):
    """An evaluator that knows the captions of maximum likelihood.

    It is trained now if it was not.

    Args:
        study: `CaptioningStudy`.

    Returns:
        `tfcap.models.CaptionEvaluator`, a fresh one.
    """
    study.networks("speaker_mle")
    keras.utils.set_random_seed(study.seed)
    study.once(NAME, lambda: _train(study))
    return study.load(NAME)["evaluator"]


def _train(study):
    settings = study.settings
    study.say(f"{NAME}: whose captions are these?")
    speaker = pretrained_generator(study)
    speaker.trainable = False
    batches = study.batches(epoch="captions")
    evaluator = _make(settings, batches)
    samples = Sample(
        Categorical(seed=study.seed),
        max_length=settings.max_length,
        suppress=study.unsaid,
    )
    player = Player(
        evaluator,
        Judging(evaluator, samples),
        keras.optimizers.Adam(settings.listener_rate),
        settings.clipnorm,
    )
    game = Game(speaker, {"evaluator": player})
    game.compile()
    epochs = settings.gan_evaluator_epochs
    return study.fit(NAME, game, batches, epochs, evaluator=evaluator)


def _make(settings, batches):
    evaluator = CaptionEvaluator(
        batches.captions.vocabulary.size,
        units=settings.listener_units,
        embedding_units=settings.listener_embedding_units,
        image_dropout=settings.listener_dropout,
        word_dropout=settings.listener_dropout,
    )
    evaluator(batches.inputs(np.arange(1)))
    return evaluator
