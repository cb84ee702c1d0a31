"""The step of G-DIS: a generator before a frozen discriminator."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class DialogSizes:
    batch: int = 20
    rounds: int = 10
    vocabulary: int = 8846
    units: int = 512
    embedding: int = 300
    features: int = 512
    positions: int = 49
    question: int = 16
    history: int = 24
    length: int = 9


def make_batch(sizes, rng):
    """Dialogs whose questions and answers are mostly shorter than the axis."""
    from sequence_level import random_captions

    def words(length):
        shape = (sizes.batch, sizes.rounds, length)
        return random_captions(shape, sizes.vocabulary, rng)

    image = rng.normal(size=(sizes.batch, sizes.positions, sizes.features))
    return {
        "question": words(sizes.question),
        "history": words(sizes.history),
        "image": image.astype("float32"),
        "answer": words(sizes.length),
    }


def work(sizes, batch):
    """Floating-point operations that the step cannot do without."""
    read, answers = (
        sum(int((batch[key] > 0).sum()) for key in keys)
        for keys in (("question", "history"), ("answer",))
    )
    lstm = 8 * sizes.units * (sizes.units + sizes.embedding)
    head = 2 * sizes.units * sizes.vocabulary
    said = sizes.batch * sizes.rounds * sizes.length
    generator = 3 * (read * lstm + (answers + said) * (lstm + head))
    critic = (read + answers + 2 * said) * lstm
    return generator + critic + 2 * said * sizes.embedding * sizes.vocabulary


def step(sizes, batch):
    """A training step: `train_on_batch()` of a `JointTraining`."""
    import keras
    import tensorflow as tf

    from tfcap.decoding import Sample
    from tfcap.layers import AnswerEncoder
    from tfcap.layers import GumbelSoftmaxST
    from tfcap.layers import HCIAEEncoder
    from tfcap.models import DialogDiscriminator
    from tfcap.models import DialogGenerator
    from tfcap.objectives import Pathwise
    from tfcap.objectives import TeacherForcing
    from tfcap.rewards import DialogScore
    from tfcap.training import JointTraining

    batch = {key: tf.constant(value) for key, value in batch.items()}
    units, width = sizes.units, sizes.embedding

    def encoder(**options):
        return HCIAEEncoder(units, output_units=width, **options)

    generator = DialogGenerator(
        sizes.vocabulary, encoder(return_state=True), width
    )
    critic = DialogDiscriminator(
        sizes.vocabulary, encoder(), AnswerEncoder(units, width), width
    )
    generator(batch), critic({**batch, "options": batch["answer"][:, :, None]})
    critic.trainable = False
    # Random weights, and answers of full length: nobody ends.
    bias = generator.head.bias.numpy()
    bias[generator.eos] = -1e4
    generator.head.bias.assign(bias)
    samples = Sample(GumbelSoftmaxST(0.5), max_length=sizes.length)
    objective = Pathwise(DialogScore(critic), samples) + 0.5 * TeacherForcing()
    model = JointTraining(generator, objective)
    model.compile(keras.optimizers.Adam(1e-7))
    return lambda: model.train_on_batch(batch)
