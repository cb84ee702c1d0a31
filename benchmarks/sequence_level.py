"""Cost of an update by which a speaker learns for a reward.

python benchmarks/sequence_level.py
python benchmarks/sequence_level.py --vocabulary 9488 --units 512   # COCO

Each is told as a multiple of the cross-entropy update of the same speaker on
the same images, one caption each: the median, over rounds, of the ratio within
a round, and its quartiles. The speaker sees pooled features and has learned
from the batch how long captions are; the words are drawn by how frequent words
are. Rewards are CIDEr-D of five references.
"""

import argparse

from paired import measure
from paired import ratio
from tasks import random_captions

REFERENCES, FEATURES, DOCUMENTS = 5, 512, 2000
BASE = "cross-entropy"
#: Updates by cross-entropy before any is timed.
PRETRAINING = 60


def make_batch(options, rng):
    import tensorflow as tf

    shape = (options.batch, REFERENCES, options.length)
    human = random_captions(shape, options.vocabulary, rng)
    image = rng.normal(size=(options.batch, 1, FEATURES)).astype("float32")
    batch = {"image": image, "references": human, "caption": human[:, :1]}
    return {name: tf.constant(array) for name, array in batch.items()}


def make_reward(options, rng):
    """CIDEr-D by a corpus of such captions."""
    from tfcap.rewards import CIDErD
    from tfcap.text import DocumentFrequencies
    from tfcap.text import Vocabulary

    shape = (DOCUMENTS, REFERENCES, options.length)
    corpus = random_captions(shape, options.vocabulary, rng)
    words = [f"w{i}" for i in range(options.vocabulary - 4)]
    return CIDErD(
        DocumentFrequencies.from_references(corpus, Vocabulary(words))
    )


def objectives(options, reward, state_units):
    """Objectives to learn, by name."""
    from tfcap.decoding import Greedy
    from tfcap.decoding import MixedPrefix
    from tfcap.decoding import Sample
    from tfcap.objectives import DecoderBaseline
    from tfcap.objectives import LearnedBaseline
    from tfcap.objectives import MonteCarlo
    from tfcap.objectives import SampleMeanBaseline
    from tfcap.objectives import ScoreFunction
    from tfcap.objectives import TeacherForcing
    from tfcap.rewards import PairwiseDiversity

    length, samples = options.length, options.samples

    def sll(drawn):
        greedy = DecoderBaseline(reward, Greedy(length))
        return ScoreFunction(reward, drawn, greedy)

    def sle(drawn):
        far = ScoreFunction(PairwiseDiversity(), drawn, SampleMeanBaseline())
        return 0.75 * sll(drawn) + 0.5 * (samples - 1) / samples * far

    def reinforced(decoder, units, credit=None):
        expected = LearnedBaseline(state_units, units)
        return ScoreFunction(reward, decoder, expected, credit=credit)

    def alone():
        return Sample(max_length=length, keep_states=True)

    mixed = MixedPrefix(length // 2, length, keep_states=True)
    several = MonteCarlo(options.continuations)
    hidden = (options.units,)
    return {
        BASE: TeacherForcing(),
        f"SLL, {samples} samples": sll(
            Sample(num_samples=samples, max_length=length)
        ),
        f"SLL-SLE, {samples} samples": sle(
            Sample(num_samples=samples, max_length=length)
        ),
        "REINFORCE": reinforced(alone(), hidden),
        "MIXER, half the words given": 0.5 * TeacherForcing(decoder=mixed)
        + 0.5 * reinforced(mixed, ()),
        f"PG, {options.continuations} continuations": reinforced(
            alone(), hidden, several
        ),
    }


def contestants(options):
    """An update of each kind, of one speaker on one batch."""
    import keras
    import numpy as np
    import tensorflow as tf

    from tfcap.decoding import state_vector
    from tfcap.models import ShowTellSpeaker
    from tfcap.training import JointTraining
    from tfcap.training import Learner

    # It warns of the many graphs, which are meant.
    tf.get_logger().setLevel("ERROR")
    rng = np.random.default_rng(0)
    batch, reward = make_batch(options, rng), make_reward(options, rng)
    speaker = ShowTellSpeaker(options.vocabulary, options.units, dropout=0.5)
    speaker(batch)
    size = state_vector(speaker, speaker.begin(batch)).shape[-1]
    found = {}
    for name, objective in objectives(options, reward, size).items():
        # A baseline that learns, too.
        networks = speaker, *(x for x in objective.layers() if x.built)
        networks = {x.name: x for x in networks if x.trainable_variables}
        model = JointTraining(
            speaker, {k: Learner(v, objective) for k, v in networks.items()}
        )
        model.compile({k: keras.optimizers.Adam(3e-3) for k in networks})
        if name == BASE:
            for _ in range(PRETRAINING):
                model.train_on_batch(batch)
        # The speaker stays as it is, nearly.
        for optimizer in model.optimizers:
            optimizer.learning_rate = 1e-7
        found[name] = lambda model=model: model.train_on_batch(batch)
    return found


def table(seconds):
    """Multiples of the cross-entropy update as text."""
    width = max(map(len, seconds))
    lines = [f"{'update':{width}}  times cross-entropy  quartiles"]
    for name in seconds:
        low, median, high = ratio(seconds, BASE, name)
        spread = f"{low:.3g}..{high:.3g}"
        lines.append(f"{name:{width}}  {median:18.3g}x  {spread}")
    return "\n".join(lines)


def parse(arguments=None):
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--batch", type=int, default=32, help="images")
    add("--length", type=int, default=16, help="words with the end token")
    add("--vocabulary", type=int, default=2000, help="words")
    add("--units", type=int, default=256, help="size of the LSTM")
    add("--samples", type=int, default=5, help="captions an image of SLL")
    add("--continuations", type=int, default=3, help="K of the PG")
    add("--rounds", type=int, default=9)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    seconds, _ = measure(contestants(options), options.rounds)
    print(
        f"{options.batch} images, {options.length} words, vocabulary "
        f"{options.vocabulary}, {options.units} units\n\n{table(seconds)}"
    )


if __name__ == "__main__":
    main()
