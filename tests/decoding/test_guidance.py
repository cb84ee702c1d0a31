import keras
import numpy as np
import pytest
from keras import ops

from tests import speakers
from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.models import StepwiseSpeaker
from tfcap.models import TeacherForcedSpeaker
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


def test_no_guidance_and_nothing_to_be_guided_from_are_equal():
    speaker = Seeing(1)
    state = speaker.begin(tiny.batch(2))
    plain = decoders(1.0, True)
    speaker.blind = True
    for name, decoder in decoders(GAMMA, True).items():
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
    speaker = speakers.speaker(kind, condition_dropout=0.999)
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
    again = type(speaker).from_config(speaker.get_config())
    again.check_guided()  # and does not refuse


class Cell(keras.layers.Layer):
    """A recurrence of somebody's own."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.words = keras.layers.Embedding(9, 4)
        self.gru, self.head = keras.layers.GRUCell(4), keras.layers.Dense(9)

    def call(self, words, state):
        hidden, _ = self.gru(self.words(words), state)
        return 5.0 * self.head(hidden), hidden


def of_given_words():
    words = keras.Input((None,), dtype="int32")
    image = keras.Input((4,))
    embedded = keras.layers.Embedding(9, 4)(words)
    hidden = keras.layers.GRU(4, return_sequences=True)(
        embedded, initial_state=image
    )
    return keras.Model([image, words], keras.layers.Dense(9)(hidden))


@pytest.mark.parametrize("kind", [StepwiseSpeaker, TeacherForcedSpeaker])
def test_models_that_somebody_has_are_guided(kind):
    keras.utils.set_random_seed(0)
    options = {"from_logits": True, "vocabulary_size": 9, "bos": 1, "eos": 2}
    options["condition_dropout"] = 0.999
    if kind is StepwiseSpeaker:
        speaker = kind(Cell(), keras.layers.Dense(4), **options)
    else:
        speaker = kind(of_given_words(), ["image", "caption"], **options)
    image = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    batch = {"image": 3.0 * image, "caption": np.full((3, 1, 2), 5, "int32")}
    speaker(batch)
    state, greedy = speaker.begin(batch), Greedy(max_length=3)
    one, two = (
        greedy.decode(speaker, blind)
        for blind in (
            speaker.unconditional(state),
            speaker.begin(batch, training=True),
        )
    )
    np.testing.assert_allclose(one.log_probs, two.log_probs, 1e-4, 1e-5)
    guided = Greedy(max_length=3, guidance=2.0).decode(speaker, state)
    scores = [
        np.asarray(speaker.step(np.full(3, 1), begun)[0])
        for begun in (state, speaker.unconditional(state))
    ]
    known = [
        s[:, 2:] - np.log(np.exp(s[:, 2:]).sum(-1))[:, None] for s in scores
    ]
    wanted = 2.0 * known[0] - known[1]
    first = guided.tokens.numpy()[:, 0, 0]
    np.testing.assert_array_equal(first, 2 + wanted.argmax(-1))
    assert speaker.get_config()["condition_dropout"] == 0.999
    assert speaker.begin_uses_training
