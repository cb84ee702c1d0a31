"""The adversary of G-GAN, which tells human from generated captions."""

import keras
import numpy as np

from reproduce.captioning.judges import train_judge
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.models import CaptionEvaluator
from tfcap.objectives import DiscriminatorLoss

#: Name of the pretrained adversary in a study.
NAME = "gan_evaluator"


def pretrained_generator(study):
    """The speaker of maximum likelihood, before adversarial training."""
    dropout = study.settings.joint_dropout
    return study.starting("speaker_mle", "speaker", dropout)


def pretrained_evaluator(study) -> CaptionEvaluator:
    """An evaluator, pretrained on captions of maximum likelihood.

    It is trained if necessary.
    """
    study.networks("speaker_mle")
    keras.utils.set_random_seed(study.seed)
    study.once(NAME, lambda: _train(study))
    return study.load(NAME)["evaluator"]


def _train(study):
    settings = study.settings
    study.say(f"{NAME}: training on human and own captions")
    samples = Sample(
        Categorical(seed=study.seed),
        max_length=settings.max_length,
        suppress=study.unsaid,
    )
    return train_judge(
        study,
        NAME,
        pretrained_generator(study),
        DiscriminatorLoss(_make(study), samples),
        settings.gan_evaluator_epochs,
        settings.listener_rate,
    )


def _make(study):
    settings, batches = study.settings, study.batches()
    evaluator = CaptionEvaluator(
        batches.captions.vocabulary.size,
        units=settings.listener_units,
        embedding_units=settings.listener_embedding_units,
        image_dropout=settings.listener_dropout,
        word_dropout=settings.listener_dropout,
        image_preprocessing=study.data.image_preprocessing(),
    )
    evaluator(batches.inputs(np.arange(1)))
    return evaluator
