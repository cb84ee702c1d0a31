import numpy as np
import pytest

from tests import speakers
from tests.models import numpy_layers
from tfcap.models import ShowTellSpeaker

BATCH = speakers.batch(images=2, samples=1)


def oracle(speaker, image, caption):
    """Teacher-forced logits of one caption, by plain loops."""
    w = numpy_layers.values(speaker)
    cell = (
        w["word_gates/kernel"],
        w["state_gates/kernel"],
        w["word_gates/bias"],
    )
    image = sum(image) / len(image)
    if speaker.image_at == "start":
        first = image @ w["image_word/kernel"] + w["image_word/bias"]
        h, c = numpy_layers.lstm(first, np.zeros(6), np.zeros(6), *cell)
        shown = 0
    else:
        state = image @ w["image_state/kernel"] + w["image_state/bias"]
        h, c = np.split(np.tanh(state), 2)
        shown = image @ w["image_gates/kernel"]
    said = []
    for word in [speakers.BOS, *caption[:-1]]:
        x = w["embedding/embeddings"][word]
        h, c = numpy_layers.lstm(x, h, c, *cell[:2], cell[2] + shown)
        said.append(numpy_layers.logits(w, h))
    return said


@pytest.mark.parametrize("image_at", ["start", "every_step"])
def test_logits_are_those_of_the_equations(image_at):
    speaker = speakers.speaker(f"show_tell_{image_at}")
    assert speaker.image_at == image_at
    found = speaker(BATCH)
    for row in range(2):
        expected = oracle(
            speaker, BATCH["image"][row], BATCH["caption"][row, 0]
        )
        np.testing.assert_allclose(found[row, 0], expected, atol=1e-4)


def test_another_place_for_the_image_is_refused():
    with pytest.raises(ValueError, match="`image_at`.*image_at='end'"):
        ShowTellSpeaker(9, image_at="end")
