import gc
import weakref

import keras
import numpy as np
import pytest
from keras import ops

from tfcap.decoding.candidate_scores import score_candidates
from tfcap.decoding.speaker import stepwise_log_probs

BOS, EOS, VOCABULARY = 1, 2, 11


class RecurrentSpeaker(keras.Model):
    """Any recurrent cell over any context; counts how often it is traced."""

    vocabulary_size, bos, eos = VOCABULARY, BOS, EOS

    def __init__(self, cell=keras.layers.GRUCell, dtype=None):
        super().__init__(dtype=dtype)
        keras.utils.set_random_seed(0)
        self.embed = keras.layers.Embedding(VOCABULARY, 6, dtype=dtype)
        self.cell = cell(5, dtype=dtype)
        self.head = keras.layers.Dense(
            VOCABULARY, kernel_initializer="random_normal", dtype=dtype
        )
        self.embed.build()
        self.cell.build((None, 6))
        self.head.build((None, 5))
        self.traces = 0
        self.built = True

    def begin(self, inputs, training=False):
        size = self.cell.state_size
        parts = len(size) if isinstance(size, (list, tuple)) else 1
        hidden = [ops.cast(inputs, self.compute_dtype)] * parts
        return {
            "hidden": hidden,
            "context": ops.tile(inputs[:, None], (1, 2, 1)),
        }

    def step(self, words, state, training=False):
        self.traces += 1
        out, hidden = self.cell(self.embed(words), state["hidden"])
        context = ops.mean(state["context"], axis=1)
        logits = self.head(out + ops.cast(context, out.dtype)) * 30
        return logits, {"hidden": hidden, "context": state["context"]}

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)


def case(seed=0, questions=7, candidates=9, answers=20, length=5):
    """Context of questions, a table of answers, and options among them."""
    rng = np.random.default_rng(seed)
    table = np.zeros((answers, length), "int32")
    for row in table:
        words = rng.integers(3, 7, size=rng.integers(0, length))
        row[: len(words) + 1] = [*words, EOS]
    options = rng.integers(0, answers, size=(questions, candidates))
    context = rng.normal(size=(questions, 5)).astype("float32")
    return context, table, options


@pytest.fixture
def scored():
    """A speaker, its context, and a function of answers and options."""
    speaker, (context, answers, options) = RecurrentSpeaker(), case()

    def score(options, **arguments):
        state = speaker.begin(context)
        return score_candidates(speaker, state, answers, options, **arguments)

    return score, options


def one_by_one(speaker, context, answers, options):
    state = speaker.begin(context)
    return np.sum(speaker.log_probs(state, answers[options]), axis=-1)


@pytest.mark.parametrize("cell", [keras.layers.GRUCell, keras.layers.LSTMCell])
def test_equals_scoring_one_by_one(cell):
    speaker, (context, answers, options) = RecurrentSpeaker(cell), case()
    state = speaker.begin(context)
    # What is trained between two calls is seen.
    for bias in (0.0, np.linspace(-3, 3, VOCABULARY)):
        speaker.head.bias.assign(bias + np.zeros(VOCABULARY))
        scores = score_candidates(speaker, state, answers, options)
        wanted = one_by_one(speaker, context, answers, options)
        assert scores.dtype == np.float32 and wanted.std() > 1
        np.testing.assert_allclose(scores, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("max_rows", [1, 4, 20, 10_000])
def test_memory_bounds_change_nothing(scored, max_rows):
    score, options = scored
    found, wanted = score(options, max_rows=max_rows), score(options)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_absent_options_score_minus_infinity(scored):
    score, options = scored
    holes = np.where(options % 3 == 0, -1, options)
    holes[2] = -1
    wanted = np.where(holes == -1, -np.inf, score(options))
    np.testing.assert_allclose(score(holes), wanted, rtol=1e-5, atol=1e-6)
    assert (score(holes * 0 - 1) == -np.inf).all()


def test_a_speaker_is_traced_once_for_all_sizes():
    speaker = RecurrentSpeaker()
    for seed, questions in enumerate([7, 3, 1, 12]):
        context, answers, options = case(seed, questions, candidates=3 + seed)
        state = speaker.begin(context)
        score_candidates(speaker, state, answers, options, max_rows=16)
    assert speaker.traces == 1


def test_half_precision_is_close():
    context, answers, options = case()
    single, half = RecurrentSpeaker(), RecurrentSpeaker(dtype="mixed_bfloat16")
    scores = [
        score_candidates(s, s.begin(context), answers, options)
        for s in (single, half)
    ]
    np.testing.assert_allclose(*scores, rtol=0.1, atol=0.5)


def test_a_speaker_that_nobody_needs_is_let_go():
    speaker, (context, answers, options) = RecurrentSpeaker(), case()
    score_candidates(speaker, speaker.begin(context), answers, options)
    gone = weakref.ref(speaker)
    del speaker
    gc.collect()
    assert gone() is None
