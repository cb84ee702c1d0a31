import itertools

import numpy as np
import pytest
from keras import ops

from tests import speakers
from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.models import without_dropout

GAMMA = 2.0
#: Of two images, what begins the state.
LOOKS = np.array([[1.0, -2.0, 0.5, 1.5], [-1.0, 1.0, 2.0, 0.0]], "float32")


class Seeing(tiny.MemorySpeaker):
    """Begins from an image; without one, from zeros."""

    blind = False

    def begin(self, inputs, training=False):
        return ops.convert_to_tensor(LOOKS[: len(inputs["rows"])])

    def unconditional(self, state):
        return state if self.blind else ops.zeros_like(state)


def decoders(guidance, unroll):
    shared = {"max_length": 2, "unroll": unroll, "guidance": guidance}
    return {
        "greedy": Greedy(**shared),
        "sample": Sample(Categorical(seed=3), 5, **shared),
        "beam": BeamSearch(7, **shared),
    }


def guided_probabilities(speaker):
    """Of all captions of both images, by a loop over the formula."""
    found = np.zeros((2, len(tiny.captions())))
    for (row, look), (index, caption) in itertools.product(
        enumerate(LOOKS), enumerate(tiny.captions())
    ):
        states = [look[None], np.zeros((1, 4), "float32")]
        last, total = tiny.BOS, 1.0
        for word in caption[caption > 0]:
            logs = []
            for i, state in enumerate(states):
                logits, states[i] = speaker.step(np.array([last]), state)
                logs.append(np.array([*tiny.scores(logits[0]).values()]))
            p = np.exp(GAMMA * logs[0] + (1 - GAMMA) * logs[1])
            total *= p[tiny.WORDS.index(word)] / p.sum()
            last = word
        found[row, index] = total
    np.testing.assert_allclose(found.sum(-1), 1.0, rtol=1e-5)
    return found


def place(tokens):
    return tiny.captions().tolist().index(list(tokens))


@pytest.mark.parametrize("unroll", [True, False])
def test_words_are_those_of_the_formula(unroll):
    speaker = Seeing(1)
    wanted = guided_probabilities(speaker)
    said = {
        name: tiny.decode(decoder, speaker)
        for name, decoder in decoders(GAMMA, unroll).items()
    }
    for name in ("beam", "sample"):
        tokens, scores = map(np.array, (said[name].tokens, said[name].scores))
        for row, s in np.ndindex(tokens.shape[:2]):
            p = wanted[row, place(tokens[row, s])]
            assert np.exp(scores[row, s]) == pytest.approx(p, 1e-4)
    assert len({tuple(t) for t in np.array(said["beam"].tokens)[0]}) == 7
    begins = tiny.captions()[:, :1] == tiny.WORDS
    first = np.take(tiny.WORDS, (wanted @ begins).argmax(axis=1))
    np.testing.assert_array_equal(said["greedy"].tokens[:, 0, 0], first)


def test_no_guidance_and_nothing_to_be_guided_from_are_equal():
    speaker = Seeing(1)
    plain = decoders(1.0, True)
    speaker.blind = True
    for name, decoder in decoders(GAMMA, True).items():
        one, two = (tiny.decode(x, speaker) for x in (plain[name], decoder))
        np.testing.assert_array_equal(one.tokens, two.tokens)
        np.testing.assert_allclose(one.scores, two.scores, 1e-4, 1e-5)


def test_who_never_spoke_without_an_image_is_refused():
    speaker = tiny.TableSpeaker()
    greedy = Greedy(max_length=2, guidance=2.0)
    with pytest.raises(TypeError, match="`guidance` must be 1.*TableSpeaker"):
        greedy.decode(speaker, speaker.begin(tiny.batch(1)))
    speaker = speakers.speaker("show_tell_every_step")
    with pytest.raises(ValueError, match="`condition_dropout` must be posit"):
        greedy.decode(speaker, speaker.begin(speakers.batch(1)))


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
def test_speakers_of_images_are_guided_in_both_loops(kind):
    speaker = speakers.speaker(kind, condition_dropout=0.999)
    batch = speakers.batch(3)
    # What was dropped is a row of which nothing is known.
    state = speaker.begin(batch)

    def said(state, **options):
        greedy = Greedy(max_length=3, **options)
        return tiny.compiled(lambda: greedy.decode(speaker, state))

    blind = said(speaker.unconditional(state))
    hidden = said(speaker.begin(batch, training=True))
    assert speaker.begin_uses_training
    np.testing.assert_array_equal(blind.tokens, hidden.tokens)
    np.testing.assert_allclose(blind.scores, hidden.scores, 1e-4, 1e-5)
    one, two, none = (
        said(state, **options)
        for options in (
            {"guidance": 2.0, "unroll": True},
            {"guidance": 2.0, "unroll": False},
            {},
        )
    )
    np.testing.assert_array_equal(one.tokens, two.tokens)
    np.testing.assert_allclose(one.scores, two.scores, 1e-4, 1e-5)
    assert not np.allclose(one.scores, none.scores, atol=1e-3)
    config = speaker.get_config()
    assert type(speaker).from_config(config).get_config() == config
    without_dropout(speaker)
    assert not speaker.begin_uses_training
    again = type(speaker).from_config(speaker.get_config())
    again.check_guided()  # and does not refuse


@pytest.mark.parametrize("make", [speakers.stepwise, speakers.teacher_forced])
def test_models_that_somebody_has_are_guided(make):
    speaker = speakers.lively(make(condition_dropout=0.999))
    batch = speakers.batch(3)
    state, greedy = speaker.begin(batch), Greedy(max_length=3)
    blind = speaker.unconditional(state)
    one, two = (
        greedy.decode(speaker, x)
        for x in (blind, speaker.begin(batch, training=True))
    )
    np.testing.assert_allclose(one.log_probs, two.log_probs, 1e-4, 1e-5)
    guided = Greedy(max_length=3, guidance=2.0).decode(speaker, state)
    words = range(2, speakers.VOCABULARY)
    for row in range(3):
        known, unknown = (
            tiny.scores(speaker.step(np.full(3, 1), x)[0][row], words)
            for x in (state, blind)
        )
        wanted = {word: 2 * known[word] - unknown[word] for word in words}
        assert guided.tokens[row, 0, 0] == max(wanted, key=wanted.get)
    assert speaker.get_config()["condition_dropout"] == 0.999
    assert speaker.begin_uses_training
