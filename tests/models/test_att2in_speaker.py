import keras
import numpy as np

from tests import speakers
from tests.models import numpy_layers
from tests.models.numpy_layers import sigmoid

BATCH = speakers.batch(images=2)


def step(w, word, h, c, positions):
    """One step of one row, by the equations of the paper."""
    x = np.maximum(w["embedding/embeddings"][word], 0)
    seen = numpy_layers.attend(w, h, positions)
    sums = x @ w["word_gates/kernel"] + w["word_gates/bias"]
    sums = sums + h @ w["state_gates/kernel"]
    i, f, o, a, b = np.split(sums, 5)
    from_a, from_b = np.split(seen @ w["image_cell/kernel"], 2)
    new = np.maximum(a + from_a, b + from_b)
    c = sigmoid(f) * c + sigmoid(i) * new
    return sigmoid(o) * np.tanh(c), c


def test_steps_are_those_of_the_equations():
    keras.utils.set_random_seed(0)
    speaker = speakers.speaker("att2in")
    # A state large enough to move the attention.
    for weight in speaker.weights:
        weight.assign(2 * weight)
    w = numpy_layers.values(speaker)
    state = speaker.begin(BATCH)
    rows = []
    for image in BATCH["image"]:
        positions = image @ w["memory/project/kernel"]
        positions = np.maximum(positions + w["memory/project/bias"], 0)
        rows.append([np.zeros(6), np.zeros(6), positions])
    for words in ([1, 1], [5, 9], [2, 4]):
        logits, state = speaker.step(np.array(words, "int32"), state)
        for index, word in enumerate(words):
            h, c, positions = rows[index]
            h, c = step(w, word, h, c, positions)
            rows[index] = [h, c, positions]
            np.testing.assert_allclose(state["hidden"][index], h, atol=1e-5)
            np.testing.assert_allclose(state["carry"][index], c, atol=1e-5)
            expected = numpy_layers.logits(w, h)
            np.testing.assert_allclose(
                logits[index], expected, rtol=1e-4, atol=1e-6
            )


def test_the_image_is_projected_once():
    speaker = speakers.speaker("att2in")
    calls = []
    project = speaker.memory.attention.project_memory
    call = project.call
    project.call = lambda *args: calls.append(1) or call(*args)
    speaker.log_probs(speaker.begin(BATCH), BATCH["caption"])
    assert len(calls) == 1
