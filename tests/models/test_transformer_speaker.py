import math

import keras
import numpy as np
import pytest

from tests import speakers
from tests.models import numpy_layers
from tfcap.decoding import Greedy
from tfcap.decoding import state_vector
from tfcap.models import TransformerSpeaker

BATCH = speakers.batch(images=2, samples=1)
HEADS = 2


def normalized(x, w, name):
    x = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    return x * w[f"{name}/gamma"] + w[f"{name}/beta"]


def dense(x, w, name):
    return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]


def gelu(x):
    return np.array([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x])


def block(stream, w, name, visible):
    """One block, entry by entry and head by head."""
    parts = [
        np.split(dense(normalized(x, w, f"{name}/norm_0"), w, p), 3)
        for x in stream
        for p in [f"{name}/project"]
    ]
    result = []
    for index, x in enumerate(stream):
        seen = []
        for head in range(HEADS):
            some = slice(head * 3, head * 3 + 3)
            query = parts[index][0][some] / math.sqrt(3)
            others = visible(index)
            weights = numpy_layers.softmax(
                np.array([query @ parts[j][1][some] for j in others])
            )
            seen.append(
                sum(a * parts[j][2][some] for a, j in zip(weights, others))
            )
        x = x + dense(np.concatenate(seen), w, f"{name}/merge")
        fed = gelu(
            dense(normalized(x, w, f"{name}/norm_1"), w, f"{name}/expand")
        )
        result.append(x + dense(fed, w, f"{name}/shrink"))
    return result


def oracle(speaker, image, caption):
    """Teacher-forced logits of one caption: image and words in one row."""
    w = numpy_layers.values(speaker)
    words = [speakers.BOS, *caption[:-1]]
    stream = [dense(position, w, "image_words") for position in image]
    stream += [
        w["embedding/embeddings"][word] + w["positions/embeddings"][t]
        for t, word in enumerate(words)
    ]
    images = len(image)

    def visible(index):
        return range(images if index < images else index + 1)

    for name in ("block_0", "block_1"):
        stream = block(stream, w, name, visible)
    return [
        numpy_layers.logits(w, normalized(x, w, "norm"))
        for x in stream[images:]
    ]


def test_logits_are_those_of_the_equations():
    keras.utils.set_random_seed(0)
    speaker = speakers.speaker("transformer")
    found = speaker(BATCH)
    for row in range(2):
        expected = oracle(
            speaker, BATCH["image"][row], BATCH["caption"][row, 0]
        )
        np.testing.assert_allclose(
            found[row, 0], expected, rtol=1e-4, atol=1e-6
        )


def test_later_words_do_not_change_earlier_ones():
    speaker = speakers.speaker("transformer")
    before = np.asarray(speaker(BATCH))
    caption = BATCH["caption"].copy()
    caption[..., 3:] = 12 - caption[..., 3:]
    after = np.asarray(speaker({**BATCH, "caption": caption}))
    np.testing.assert_allclose(after[..., :4, :], before[..., :4, :], atol=1e-5)
    assert (np.abs(after - before)[..., 4:, :] > 1e-3).any()


def test_more_words_than_positions_are_refused():
    speaker = speakers.speaker("transformer")
    state = speaker.begin(BATCH)
    Greedy(max_length=9).decode(speaker, state)
    with pytest.raises(ValueError, match="`max_length`.*max_length=9, 10 word"):
        Greedy(max_length=10).decode(speaker, state)
    with pytest.raises(ValueError, match="`max_length`.*max_length=9, 12 word"):
        speaker.log_probs(state, np.zeros((2, 1, 12), "int32"))


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="`heads`.*heads=3, units=8"):
        TransformerSpeaker(9, units=8, heads=3)
    with pytest.raises(ValueError, match="`heads` must be a positive integer"):
        TransformerSpeaker(9, units=8, heads=0)


def test_dropout_in_the_blocks_is_for_training_only():
    speaker = speakers.speaker("transformer", block_dropout=0.5)
    np.testing.assert_array_equal(speaker(BATCH), speaker(BATCH))
    noisy = np.asarray(speaker(BATCH, training=True))
    assert (noisy != np.asarray(speaker(BATCH))).any()


def test_its_last_word_is_what_it_has_in_mind():
    speaker = TransformerSpeaker(9, units=8, layers=2, heads=2, max_length=4)
    state = speaker.begin({"image": np.ones((3, 2, 5), "float32")})
    with pytest.raises(ValueError, match="`state` must be that of `step"):
        state_vector(speaker, state)
    for word in (1, 5):
        _, state = speaker.step(np.full(3, word, "int32"), state)
        assert state_vector(speaker, state).shape == (3, 8)
