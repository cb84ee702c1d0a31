"""Human captions that begin with a start token: as if it were not there."""

import inspect
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import captions
from tests import dialogs
from tests.eager import run_eagerly
from tests.methods import stranger
from tests.testing import same
from tfcap import methods
from tfcap import models
from tfcap import rewards
from tfcap.decoding import MixedPrefix
from tfcap.layers import AnswerEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.objectives import Episode
from tfcap.objectives import TeacherForcing
from tfcap.text import DocumentFrequencies
from tfcap.training import Evaluator
from tfcap.training import rank_candidates

BOS, EOS = stranger.VOCABULARY.bos, stranger.VOCABULARY.eos
KEYS = {"sentences", "references", "caption", "answer", "options"}


def layouts(ids):
    """Ids with a start token, and without, both of one length."""
    ids = np.asarray(ids)
    start = np.where(ids[..., :1] > 0, BOS, 0)
    return (
        np.concatenate([start, ids], axis=-1),
        np.concatenate([ids, 0 * start], axis=-1),
    )


def both(batch):
    """A batch with start tokens, and without."""
    pairs = {k: layouts(x) if k in KEYS else (x, x) for k, x in batch.items()}
    return [{k: pair[i] for k, pair in pairs.items()} for i in range(2)]


def check_alike(values):
    same(*values, 1e-5, 1e-6)


def discriminator():
    """One that is told of the start token."""
    network = models.DialogDiscriminator(
        dialogs.batches().dialogs.vocabulary.size,
        LateFusionEncoder(4),
        AnswerEncoder(4),
        embedding_units=5,
        bos=BOS,
    )
    network(dialog()[0])
    return network


def dialog():
    """Questions and their candidates, with labels."""
    return dialogs.batches(negatives=3, shuffle=False).batch(0)


def cider():
    return rewards.CIDErD(stranger.frequencies(), jit_compile=False)


METHODS = {
    name: method
    for name, method in vars(methods).items()
    if inspect.isfunction(method)
}
#: Makers of what methods must be given, by the names of their arguments.
GIVEN = {
    "speaker": stranger.speaker,
    "reference": lambda: stranger.speaker(5),
    **dict.fromkeys(("listener", "retriever", "evaluator"), stranger.listener),
    "retrievers": lambda: [stranger.listener()],
    "generator": dialogs.generator,
    "discriminator": discriminator,
    "reward": cider,
    "naturalness": cider,
    "lambda_": lambda: 0.2,
    "state_units": lambda: stranger.UNITS,
    "stage_steps": lambda: 1,
}
SMALL = {"max_length": 3, "seed": 0, "beam_width": 2, "num_continuations": 2}


def learned(name, inputs, labels):
    """Losses of the learners of a method that is made anew."""
    keras.utils.set_random_seed(0)
    asked = inspect.signature(METHODS[name]).parameters
    # Presets take what their method takes.
    taken = {*asked, *(["max_length", "seed"] if "options" in asked else [])}
    options = {k: v for k, v in SMALL.items() if k in taken}
    for key, argument in asked.items():
        if key in GIVEN and argument.default is argument.empty:
            options[key] = GIVEN[key]()
    if "lambda_" in options:
        options["naturalness"] = cider()
    if "retriever" in asked:
        options["discriminator"] = stranger.critic()
    model = METHODS[name](**options)
    if not hasattr(model, "learners"):
        model.compile("sgd", run_eagerly=True)
        return model.train_on_batch(inputs, labels)
    episode = Episode(model.speaker, inputs, training=True)
    return [x.objective.losses(episode) for x in model.learners.values()]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_learns_the_same(name):
    batch, labels = stranger.batch(), None
    if "speaker" not in inspect.signature(METHODS[name]).parameters:
        batch, labels = dialog()
    check_alike([learned(name, inputs, labels) for inputs in both(batch)])


BATCH = captions.Batch()
TABLE = captions.frequencies()
PLAIN = {"jit_compile": False}


def overlap(texts, references):
    """A reward of strings."""
    return [
        len({*x.split()} & {*" ".join(r).split()})
        for x, r in zip(texts, references)
    ]


def columns(completions, references):
    return overlap(completions, references)


REWARDS = {
    "bleu": lambda: rewards.BLEU(4, **PLAIN),
    "cider_d": lambda: rewards.CIDErD(TABLE, **PLAIN),
    "rouge_l": lambda: rewards.ROUGEL(),
    "text": lambda: rewards.TextReward(overlap, captions.VOCABULARY),
    "columns": lambda: rewards.TextReward(columns, captions.VOCABULARY),
    # As those that ask a program for scores.
    "pieces": lambda: rewards.BLEU(2, vocabulary=Pieces(), **PLAIN),
}


class Pieces:
    """A vocabulary that may have pieces of words, and skips nothing."""

    is_words = False
    tokens = captions.VOCABULARY.tokens

    def decode(self, ids):
        return " ".join(self.tokens[i].strip("<>") for i in ids)


@pytest.mark.parametrize("name", REWARDS)
def test_a_reward_reads_the_same_references(name):
    # What is said is a reference, which is therefore its best.
    rollout, values = captions.rollout(BATCH.human), []
    for human in layouts(BATCH.human):
        episode = captions.episode(human)
        episode.speaker.bos = BOS
        values.append(REWARDS[name]()(rollout, episode))
    check_alike(values)


def keras_speaker(data, has_start):
    """A Keras model that reads an image and the words so far."""
    keras.utils.set_random_seed(0)
    image, words = keras.Input((2, 3)), keras.Input((None,), dtype="int32")
    size = stranger.VOCABULARY.size
    x = keras.layers.GRU(4, return_sequences=True)(
        keras.layers.Embedding(size, 4)(words),
        initial_state=keras.layers.Dense(4)(keras.layers.Flatten()(image)),
    )
    speaker = models.TeacherForcedSpeaker(
        keras.Model([image, words], keras.layers.Dense(size)(x)),
        inputs=["pixels", "sentences"],
        references="sentences",
        from_logits=True,
        vocabulary=stranger.VOCABULARY,
        has_start=has_start,
    )
    speaker(data)
    return speaker


@pytest.mark.parametrize("has_start", [True, False])
def test_a_keras_model_is_taught_and_rewarded_the_same(has_start):
    values = []
    batches = both(stranger.batch())
    for inputs, cut in zip(batches, (has_start, False)):
        episode = Episode(keras_speaker(inputs, cut), inputs)
        human = episode.references
        reward = rewards.BLEU(2, references="sentences", **PLAIN)
        mixed = MixedPrefix(2, max_length=3, seed=0)
        losses = [
            TeacherForcing(decoder=decoder).losses(episode)
            for decoder in (None, mixed)
        ]
        values.append((reward(human, episode), losses))
    check_alike(values)


@pytest.mark.parametrize("references", [None, "sentences"])
def test_an_evaluator_scores_the_same(references):
    found = []
    for inputs in both(stranger.batch()):
        inputs = {k: inputs[k] for k in ("pixels", "sentences")}
        evaluator = Evaluator(
            stranger.speaker(),
            inputs,
            stranger.listener(),
            references=references,
            batch_size=2,
        )
        with run_eagerly():
            report = evaluator()
        found.append((report.result(), report.captions, report.references))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "kind, options",
    [
        (models.RetrievalListener, {}),
        (models.DualEncoder, {"layers": 1, "heads": 2}),
        (models.CaptionEvaluator, {}),
        (models.GrammarClassifier, {}),
    ],
)
def test_a_network_that_reads_captions_alone_is_told_the_start(kind, options):
    caption = np.array([[[5, 6, EOS]], [[7, EOS, 0]], [[0, 0, 0]]])
    inputs = both({"image": np.ones((3, 2, 3), "float32"), "caption": caption})
    network = kind(9, 4, 4, bos=BOS, **options)
    check_alike([network(x) for x in inputs])
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(network)
    )
    assert again.bos == BOS


def test_candidates_are_ranked_the_same():
    batch, labels = dialog()
    reports = []
    keras.utils.set_random_seed(0)
    generator, judge = dialogs.generator(), discriminator()
    for inputs in both(batch):
        pairs = [(inputs, labels)]
        ranked = (
            rank_candidates(generator, pairs, verbose=0),
            rank_candidates(judge, pairs, verbose=0),
        )
        reports.append([report.result() for report in ranked])
    assert reports[0] == reports[1]


#: Words by id, of which several are a start token.
SPECIAL = {
    "own": {"pad": 0, "bos": 1, "eos": 2},
    "pad_is_end": {"pad": 2, "bos": 1, "eos": 2},
    "start_is_end": {"pad": 0, "bos": 2, "eos": 2},
    "start_is_one_of_the_ends": {"pad": 0, "bos": 1, "eos": (2, 1)},
    "all_one": {"pad": 2, "bos": 2, "eos": 2},
    "start_is_padding": {"pad": 1, "bos": 1, "eos": 2},
}


@pytest.mark.parametrize("words", [True, False], ids=["words", "pieces"])
@pytest.mark.parametrize("special", SPECIAL)
def test_document_frequencies_count_the_same(special, words):
    ids = SPECIAL[special]
    tokens = tuple("abcdefgh")
    vocabulary = SimpleNamespace(
        **ids,
        size=len(tokens),
        tokens=tokens,
        words=tokens,
        unk=None,
        is_words=words,
        decode=lambda row: " ".join(
            tokens[i] for i in row if i not in ids.values()
        ),
    )
    corpus = [[[4, 5, 6, 2], [5, 6]], [[4, 5, 2], [7, 2]], [[5, 6, 7]]]
    count = DocumentFrequencies.from_references
    plain = count(corpus, vocabulary, min_count=1)
    begun = [[[ids["bos"], *row] for row in rows] for rows in corpus]
    ragged = tf.ragged.constant(begun)
    for rows in begun, ragged, [*ragged], (row for row in ragged):
        found = count(rows, vocabulary, min_count=1)
        np.testing.assert_array_equal(found.keys, plain.keys)
        np.testing.assert_array_equal(found.counts, plain.counts)
