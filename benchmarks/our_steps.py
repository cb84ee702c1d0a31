"""Training steps of tfcap, by the names that anyone would train them by."""

import contextlib


@contextlib.contextmanager
def policy(name):
    """Networks made inside compute as this policy says."""
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def objectives(sizes, reward, listener):
    """Objectives by name, and who plays along."""
    from tfcap.decoding import Greedy
    from tfcap.decoding import Sample
    from tfcap.layers import GumbelSoftmaxST
    from tfcap.layers import PartialSamplingST
    from tfcap.objectives import DecoderBaseline
    from tfcap.objectives import Pathwise
    from tfcap.objectives import SampleMeanBaseline
    from tfcap.objectives import ScoreFunction
    from tfcap.objectives import TeacherForcing
    from tfcap.rewards import PairwiseDiversity
    from tfcap.rewards import Retrieval

    length, several = sizes.length, sizes.samples

    def scst(drawn):
        greedy = DecoderBaseline(reward, Greedy(length))
        return ScoreFunction(reward, drawn, greedy)

    def sle(drawn):
        far = ScoreFunction(PairwiseDiversity(), drawn, SampleMeanBaseline())
        return scst(drawn) + 0.4 * far

    def through(channel):
        said = Sample(channel, max_length=length, feedback="relaxed")
        return Pathwise(Retrieval(listener), said)

    return {
        "XE": TeacherForcing,
        "SCST": lambda: scst(Sample(max_length=length)),
        "SLL": lambda: scst(Sample(num_samples=several, max_length=length)),
        "SLE": lambda: sle(Sample(num_samples=several, max_length=length)),
        "ST-Gumbel": lambda: through(GumbelSoftmaxST(0.5)),
        "PSST": lambda: through(PartialSamplingST(0.25)),
    }


def step(name, sizes, batch, reward, dtype="float32"):
    """A training step: `train_on_batch()` of a `JointTraining`."""
    import keras
    import tensorflow as tf

    from tfcap.models import RetrievalListener
    from tfcap.models import ShowTellSpeaker
    from tfcap.training import JointTraining
    from tfcap.training import Learner

    # It warns of the many graphs, which are meant.
    tf.get_logger().setLevel("ERROR")
    batch = {key: tf.constant(value) for key, value in batch.items()}
    size = sizes.vocabulary
    with policy(dtype):
        speaker = ShowTellSpeaker(size, sizes.units, image_at="start")
        listener = RetrievalListener(size, sizes.listener, sizes.units)
    speaker(batch), listener(batch)
    # Random weights, and captions of full length: nobody ends.
    bias = speaker.head.bias.numpy()
    bias[speaker.eos] = -1e4
    speaker.head.bias.assign(bias)
    networks = {"speaker": speaker}
    networks |= {"listener": listener} if name in ("ST-Gumbel", "PSST") else {}
    objective = objectives(sizes, reward, listener)[name]()
    model = JointTraining(
        speaker, {k: Learner(v, objective) for k, v in networks.items()}
    )
    model.compile({name: keras.optimizers.Adam(1e-7) for name in networks})
    return lambda: model.train_on_batch(batch)
