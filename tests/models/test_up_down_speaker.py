import keras
import numpy as np

from tests import speakers
from tests.models import numpy_layers

BATCH = speakers.batch(images=2)


def step(w, word, looking, speaking, positions):
    """One step of one row, by the equations of the paper."""
    (h1, c1), (h2, c2) = looking, speaking
    x = w["embedding/embeddings"][word]
    mean = sum(positions) / len(positions)
    kernel = [w["word_gates/kernel"], w["image_gates/kernel"]]
    from_h1, from_h2 = np.split(w["look_gates/kernel"], 2)
    h1, c1 = numpy_layers.lstm(
        np.concatenate([x, mean, h2]),
        h1,
        c1,
        np.concatenate([*kernel, from_h2]),
        from_h1,
        w["word_gates/bias"],
    )
    seen = numpy_layers.attend(w, h1, positions)
    inputs, recurrent = np.split(w["speak_gates/kernel"], [12])
    h2, c2 = numpy_layers.lstm(
        np.concatenate([seen, h1]),
        h2,
        c2,
        inputs,
        recurrent,
        w["speak_gates/bias"],
    )
    return (h1, c1), (h2, c2)


def test_steps_are_those_of_the_equations():
    keras.utils.set_random_seed(0)
    speaker = speakers.speaker("up_down")
    for weight in speaker.weights:
        weight.assign(2 * weight)
    w = numpy_layers.values(speaker)
    state = speaker.begin(BATCH)
    rows = []
    for image in BATCH["image"]:
        positions = image @ w["memory/project/kernel"]
        positions = np.maximum(positions + w["memory/project/bias"], 0)
        zeros = (np.zeros(6), np.zeros(6))
        rows.append([zeros, zeros, positions])
    for words in ([1, 1], [5, 9], [2, 4]):
        logits, state = speaker.step(np.array(words, "int32"), state)
        for index, word in enumerate(words):
            first, second = step(w, word, *rows[index])
            rows[index][:2] = first, second
            for name, pair in (("attention", first), ("language", second)):
                for found, expected in zip(state[name], pair):
                    np.testing.assert_allclose(
                        found[index], expected, atol=1e-5
                    )
            expected = numpy_layers.logits(w, second[0])
            np.testing.assert_allclose(
                logits[index], expected, rtol=1e-4, atol=1e-6
            )
