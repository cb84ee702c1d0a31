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
    for row, look in enumerate(LOOKS):
        for index, caption in enumerate(tiny.captions()):
            states = [look[None], np.zeros((1, 4), "float32")]
            last, total = tiny.BOS, 1.0
            for word in caption[: int((caption > 0).sum())]:
                logs = []
                for i, state in enumerate(states):
                    logits, states[i] = speaker.step(np.array([last]), state)
                    logits = np.asarray(logits)[0][list(tiny.WORDS)]
                    logs.append(logits - np.log(np.exp(logits).sum()))
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
        name: decoder.decode(speaker, speaker.begin(tiny.batch(2)))
        for name, decoder in decoders(GAMMA, unroll).items()
    }
    for name in ("beam", "sample"):
        tokens, scores = said[name].tokens.numpy(), said[name].scores.numpy()
        for row, s in np.ndindex(tokens.shape[:2]):
            p = wanted[row, place(tokens[row, s])]
            assert np.exp(scores[row, s]) == pytest.approx(p, 1e-4)
    assert len({tuple(t) for t in said["beam"].tokens.numpy()[0]}) == 7
    for row, tokens in enumerate(said["greedy"].tokens.numpy()[:, 0]):
        first = [
            sum(
                p
                for p, caption in zip(wanted[row], tiny.captions())
                if caption[0] == word
            )
            for word in tiny.WORDS
        ]
        assert tokens[0] == tiny.WORDS[int(np.argmax(first))]


@pytest.mark.parametrize("unroll", [True, False])
def test_no_guidance_and_nothing_to_be_guided_from_are_equal(unroll):
    speaker = Seeing(1)
    state = speaker.begin(tiny.batch(2))
    plain = decoders(1.0, unroll)
    speaker.blind = True
    for name, decoder in decoders(GAMMA, unroll).items():
        one = plain[name].decode(speaker, state)
        two = decoder.decode(speaker, state)
        np.testing.assert_array_equal(one.tokens, two.tokens)
        np.testing.assert_allclose(one.scores, two.scores, 1e-4, 1e-5)


def test_who_never_spoke_without_an_image_is_refused():
    speaker = tiny.TableSpeaker()
    greedy = Greedy(max_length=2, guidance=2.0)
    with pytest.raises(TypeError, match="`guidance` must be 1.*TableSpeaker"):
        greedy.decode(speaker, speaker.begin(tiny.batch(1)))
    with pytest.raises(ValueError, match="`guidance` must be 0 or more"):
        Greedy(guidance=-1.0)
    speaker = speakers.speaker("show_tell_every_step")
    with pytest.raises(ValueError, match="`condition_dropout` must be posit"):
        greedy.decode(speaker, speaker.begin(speakers.batch(1)))


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
def test_speakers_of_images_are_guided_in_both_loops(kind):
    speaker = speakers.speaker(
        kind, condition_dropout=0.999, dropped_condition="learned"
    )
    speaker.condition_dropout.vector.assign([0.5, -1.0, 2.0])
    batch = speakers.batch(3)
    # What was dropped is a row of which nothing is known.
    state = speaker.begin(batch)
    greedy = Greedy(max_length=3)
    blind = greedy.decode(speaker, speaker.unconditional(state))
    hidden = greedy.decode(speaker, speaker.begin(batch, training=True))
    assert speaker.begin_uses_training
    np.testing.assert_array_equal(blind.tokens, hidden.tokens)
    np.testing.assert_allclose(blind.scores, hidden.scores, 1e-4, 1e-5)
    one, two, none = (
        Greedy(max_length=3, **options).decode(speaker, state)
        for options in (
            {"guidance": 2.0, "unroll": True},
            {"guidance": 2.0, "unroll": False},
            {},
        )
    )
    np.testing.assert_array_equal(one.tokens, two.tokens)
    np.testing.assert_allclose(one.scores, two.scores, 1e-4, 1e-5)
    assert (one.tokens != none.tokens).numpy().any()
    config = speaker.get_config()
    assert type(speaker).from_config(config).get_config() == config
    without_dropout(speaker)
    assert not speaker.begin_uses_training
