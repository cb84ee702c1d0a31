"""Classifiers of captions, trained before they reward a speaker."""

import keras
import numpy as np

from reproduce.grammar_batches import GrammarBatches
from reproduce.grammar_batches import grammar_accuracy
from reproduce.study import write_json
from tfcap.models import GrammarClassifier
from tfcap.models import PairDiscriminator
from tfcap.objectives import DiscriminatorLoss
from tfcap.training import JointTraining
from tfcap.training import Learner

#: Their names in a study.
DISCRIMINATOR, GRAMMAR = "discriminator", "grammar"


def train_judge(
    study,
    name: str,
    speaker,
    objective: DiscriminatorLoss,
    epochs: int,
    rate: float,
):
    """Trains an evaluator against a fixed speaker."""
    speaker.trainable = False
    evaluator = objective.evaluator
    player = Learner(evaluator, objective, study.settings.clipnorm)
    game = JointTraining(speaker, {"evaluator": player})
    game.compile(keras.optimizers.Adam(rate))
    batches = study.batches(epoch="captions")
    return study.fit(name, game, batches, epochs, evaluator=evaluator)


def pretrained_discriminator(
    study, speaker, retriever, decoder, epochs: int, rate: float, units
) -> PairDiscriminator:
    """A discriminator of pairs, pretrained on a speaker's captions.

    It is trained if necessary.
    """

    def train():
        inputs = study.batches().inputs(np.arange(1))
        human = inputs["caption"]
        images = inputs[getattr(retriever, "image_key", "image")]
        if len(images.shape) > 2:
            # Else they are embeddings already.
            images = retriever.embed_images(images, training=False)
        texts = retriever.embed_texts(human, human > 0)
        discriminator = PairDiscriminator(units)
        discriminator({"image": images, "text": texts})
        loss = DiscriminatorLoss(discriminator, decoder, 1.0, 0.0, retriever)
        study.say(f"{DISCRIMINATOR}: training on human and own captions")
        return train_judge(study, DISCRIMINATOR, speaker, loss, epochs, rate)

    return _once(study, DISCRIMINATOR, train)


def pretrained_grammar(
    study, epochs: int, rate: float, units: int, embedding_units: int
) -> GrammarClassifier:
    """A classifier of human and corrupted captions.

    It is trained if necessary. Its accuracy on validation captions, by kind of
    corruption, is then in `accuracy.json` in its folder.
    """

    def train():
        study.say(f"{GRAMMAR}: training on human and corrupted captions")
        size = study.batches(epoch="captions").batch_size
        batches = GrammarBatches(study.data.train, size, study.seed)
        classifier = GrammarClassifier(
            study.data.vocabulary.size, units, embedding_units
        )
        classifier(batches.batch(0)[0])
        classifier.compile(
            keras.optimizers.Adam(rate),
            keras.losses.BinaryCrossentropy(from_logits=True),
            metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
        )
        networks = study.fit(
            GRAMMAR, classifier, batches, epochs, classifier=classifier
        )
        accuracy = grammar_accuracy(classifier, study.data.validation)
        study.say(", ".join(f"{k} {v:.1%}" for k, v in accuracy.items()))
        write_json(study.path(GRAMMAR, "accuracy.json"), accuracy)
        return networks

    return _once(study, GRAMMAR, train)


def _once(study, name, train):
    """The one network of a name, as it is loaded."""
    keras.utils.set_random_seed(study.seed)
    study.once(name, train)
    (network,) = study.load(name).values()
    return network
