"""Logits of every caption speaker by its paper's equations, in NumPy."""

import math

import keras
import numpy as np
import pytest

from tests import speakers
from tfcap.decoding import Greedy
from tfcap.decoding import state_vector
from tfcap.models import ShowTellSpeaker
from tfcap.models import TransformerSpeaker

BATCH = speakers.batch(images=2, samples=1)
ZEROS = np.zeros(6)


def values(speaker):
    """Weights by path, without the speaker's own name."""
    return {
        w.path.split("/", 1)[1]: np.asarray(w.value).astype("float64")
        for w in speaker.weights
    }


def dense(x, w, name):
    return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def lstm(x, h, c, kernel, recurrent, bias):
    """One step of one row; gates input, forget, cell, output."""
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def attend(w, query, positions):
    """Additive attention of one query, position by position."""
    w = {k.split("attention/")[1]: v for k, v in w.items() if "/at" in k}
    scores = [
        np.tanh(p @ w["memory/kernel"] + dense(query, w, "query"))
        @ w["score/kernel"][:, 0]
        for p in positions
    ]
    return sum(a * p for a, p in zip(softmax(np.array(scores)), positions))


def show_tell(w, image, words):
    """The hidden state after each word, of an image that is seen first."""
    cell = w["word_gates/kernel"], w["state_gates/kernel"]
    image, shown = sum(image) / len(image), 0
    if "image_word/kernel" in w:
        first = dense(image, w, "image_word")
        h, c = lstm(first, ZEROS, ZEROS, *cell, w["word_gates/bias"])
    else:
        h, c = np.split(np.tanh(dense(image, w, "image_state")), 2)
        shown = image @ w["image_gates/kernel"]
    for word in words:
        x = w["embedding/embeddings"][word]
        h, c = lstm(x, h, c, *cell, w["word_gates/bias"] + shown)
        yield h


def att2in(w, image, words):
    h, c = ZEROS, ZEROS
    positions = np.maximum(dense(image, w, "memory/project"), 0)
    for word in words:
        x = np.maximum(w["embedding/embeddings"][word], 0)
        seen = attend(w, h, positions)
        sums = dense(x, w, "word_gates") + h @ w["state_gates/kernel"]
        i, f, o, a, b = np.split(sums, 5)
        from_a, from_b = np.split(seen @ w["image_cell/kernel"], 2)
        new = np.maximum(a + from_a, b + from_b)
        c = sigmoid(f) * c + sigmoid(i) * new
        h = sigmoid(o) * np.tanh(c)
        yield h


def up_down(w, image, words):
    h1, c1, h2, c2 = [ZEROS] * 4
    positions = np.maximum(dense(image, w, "memory/project"), 0)
    mean = sum(positions) / len(positions)
    from_h1, from_h2 = np.split(w["look_gates/kernel"], 2)
    looking = w["word_gates/kernel"], w["image_gates/kernel"], from_h2
    inputs, recurrent = np.split(w["speak_gates/kernel"], [12])
    for word in words:
        x = np.concatenate([w["embedding/embeddings"][word], mean, h2])
        kernel = np.concatenate(looking)
        h1, c1 = lstm(x, h1, c1, kernel, from_h1, w["word_gates/bias"])
        x = np.concatenate([attend(w, h1, positions), h1])
        h2, c2 = lstm(x, h2, c2, inputs, recurrent, w["speak_gates/bias"])
        yield h2


def normalized(x, w, name):
    x = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    return x * w[f"{name}/gamma"] + w[f"{name}/beta"]


def gelu(x):
    return np.array([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x])


def block(stream, w, name, images):
    """One block, entry by entry and head by head."""
    norm = [normalized(x, w, f"{name}/norm_0") for x in stream]
    parts = [np.split(dense(x, w, f"{name}/project"), 3) for x in norm]
    for index, x in enumerate(stream):
        others = range(images if index < images else index + 1)
        seen = []
        for some in (slice(0, 3), slice(3, 6)):
            query = parts[index][0][some] / math.sqrt(3)
            scores = np.array([query @ parts[j][1][some] for j in others])
            weighed = zip(softmax(scores), others)
            seen.append(sum(a * parts[j][2][some] for a, j in weighed))
        x = x + dense(np.concatenate(seen), w, f"{name}/merge")
        fed = dense(normalized(x, w, f"{name}/norm_1"), w, f"{name}/expand")
        yield x + dense(gelu(fed), w, f"{name}/shrink")


def transformer(w, image, words):
    """Image and words in one row."""
    table, places = w["embedding/embeddings"], w["positions/embeddings"]
    stream = [dense(position, w, "image_words") for position in image]
    stream += [table[word] + places[t] for t, word in enumerate(words)]
    for name in ("block_0", "block_1"):
        stream = [*block(stream, w, name, len(image))]
    return [normalized(x, w, "norm") for x in stream[len(image) :]]


ORACLES = {
    "show_tell_start": show_tell,
    "show_tell_every_step": show_tell,
    "att2in": att2in,
    "up_down": up_down,
    "transformer": transformer,
}


@pytest.mark.parametrize("kind", ORACLES)
def test_logits_are_those_of_the_equations(kind):
    keras.utils.set_random_seed(0)
    speaker = speakers.speaker(kind)
    # A state large enough to move the attention.
    for weight in speaker.weights:
        weight.assign(2 * weight)
    w, found = values(speaker), np.asarray(speaker(BATCH))
    for row, (caption,) in enumerate(BATCH["caption"]):
        words = [speakers.BOS, *caption[:-1]]
        hidden = np.stack([*ORACLES[kind](w, BATCH["image"][row], words)])
        wanted = dense(hidden, w, "head")
        np.testing.assert_allclose(
            found[row, 0, :, 2:], wanted[:, 2:], rtol=1e-4, atol=1e-4
        )


def test_the_image_is_projected_once():
    speaker = speakers.speaker("att2in")
    calls = []
    project = speaker.memory.attention.project_memory
    call = project.call
    project.call = lambda *args: calls.append(1) or call(*args)
    speaker.log_probs(speaker.begin(BATCH), BATCH["caption"])
    assert len(calls) == 1


def test_more_words_than_positions_are_refused():
    speaker = speakers.speaker("transformer")
    state = speaker.begin(BATCH)
    Greedy(max_length=9).decode(speaker, state)
    with pytest.raises(ValueError, match="`max_length`.*max_length=9, 10 word"):
        Greedy(max_length=10).decode(speaker, state)
    with pytest.raises(ValueError, match="`max_length`.*max_length=9, 12 word"):
        speaker.log_probs(state, np.full((2, 1, 12), 4))


@pytest.mark.parametrize(
    "kind, options, told",
    [
        (TransformerSpeaker, {"heads": 3}, "`heads`.*heads=3, units=8"),
        (TransformerSpeaker, {"heads": 0}, "`heads` must be a positive int"),
        (ShowTellSpeaker, {"image_at": "end"}, "`image_at`.*image_at='end'"),
    ],
)
def test_unfit_arguments_are_refused(kind, options, told):
    with pytest.raises(ValueError, match=told):
        kind(9, units=8, **options)


def test_its_last_word_is_what_it_has_in_mind():
    speaker = TransformerSpeaker(9, units=8, layers=2, heads=2, max_length=4)
    state = speaker.begin({"image": np.ones((3, 2, 5), "float32")})
    with pytest.raises(ValueError, match="`state` must be one that `step"):
        state_vector(speaker, state)
    for word in (1, 5):
        _, state = speaker.step(np.full(3, word, "int32"), state)
        assert state_vector(speaker, state).shape == (3, 8)
