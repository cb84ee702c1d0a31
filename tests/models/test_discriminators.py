"""Judges of pairs of embeddings, and of captions alone."""

import keras
import numpy as np
import pytest

from tfcap._ops import sequence_mask
from tfcap.models import GrammarClassifier
from tfcap.models import PairDiscriminator

RNG = np.random.default_rng(0)
PAIRS = {
    "image": RNG.normal(size=(3, 5)).astype("float32"),
    "text": RNG.normal(size=(3, 2, 4)).astype("float32"),
}
VOCABULARY, EOS = 11, 2
CAPTION = np.array(
    [[[5, 6, 7, 2], [8, 2, 0, 0]], [[3, 4, 2, 0], [9, 10, 8, 7]]], "int32"
)
CAPTIONS = {"caption": CAPTION}


def numpy(tensor):
    return keras.ops.convert_to_numpy(tensor)


def pairs(units=(6, 5), **options):
    keras.utils.set_random_seed(0)
    network = PairDiscriminator(units=units, **options)
    network(PAIRS)
    for variable in network.weights:
        noise = RNG.normal(size=variable.shape)
        variable.assign(variable + 0.1 * noise)
    return network


def grammar(**options):
    keras.utils.set_random_seed(0)
    network = GrammarClassifier(VOCABULARY, 6, 5, **options)
    network(CAPTIONS)
    table = network.embedding.embeddings
    table.assign(20.0 * table)
    return network


def oracle(network, image, text):
    """The logit of one pair, layer by layer."""
    kernel = np.concatenate([network.image.kernel, network.text.kernel])
    hidden = np.concatenate([image, text]) @ kernel + network.image.bias
    for layer in [*network.hidden, network.score]:
        hidden = np.maximum(numpy(hidden), 0) @ numpy(layer.kernel)
        hidden = hidden + numpy(layer.bias)
    return hidden[0]


@pytest.mark.parametrize("units", [(6, 5), (4,), [5, 4, 3]])
def test_logits_are_a_perceptron_of_both_embeddings(units):
    network = pairs(units=units)
    found = network(PAIRS)
    assert found.shape == (3, 2)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    for row, s in np.ndindex(3, 2):
        wanted = oracle(network, PAIRS["image"][row], PAIRS["text"][row, s])
        np.testing.assert_allclose(found[row, s], wanted, atol=1e-5)


def test_logits_of_every_pair_are_those_of_each():
    network = pairs()
    texts = PAIRS["text"].reshape(-1, 4)
    found = network.logits(PAIRS["image"], texts)
    for row, image in enumerate(PAIRS["image"]):
        wanted = network.logits(image[None], texts[None])
        np.testing.assert_allclose(found[row], wanted[0], atol=1e-5)


def test_scores_are_of_what_an_lstm_keeps_of_the_words_alone():
    network = grammar()
    found = network(CAPTIONS)
    assert found.shape == (2, 2)
    plain = keras.layers.LSTM(6)
    plain.build((None, None, 5))
    plain.set_weights(network.read.get_weights())
    for place in np.ndindex(2, 2):
        words = CAPTION[place][CAPTION[place] > 0]
        state = plain(numpy(network.embedding.embeddings)[words][None])
        hidden = np.maximum(numpy(state) @ numpy(network.hidden.kernel), 0)
        wanted = numpy(network.score(hidden))[0, 0]
        np.testing.assert_allclose(found[place], wanted, atol=1e-5)


def test_words_and_their_ids_are_read_alike():
    network = grammar()
    mask = sequence_mask(CAPTION, EOS)
    words = np.eye(VOCABULARY, dtype="float32")[CAPTION]
    found = network.logits(words * np.array(mask)[..., None], mask)
    np.testing.assert_allclose(found, network(CAPTIONS), atol=1e-6)


def test_what_stands_after_the_end_changes_nothing():
    network = grammar()
    noisy = CAPTION.copy()
    noisy[0, 1, 2:] = 7
    np.testing.assert_array_equal(
        network({"caption": noisy}), network(CAPTIONS)
    )


@pytest.mark.parametrize("pad", [1, EOS])
def test_padding_may_be_any_id(pad):
    plain, other = grammar(), grammar(pad=pad)
    other.set_weights(plain.get_weights())
    padded = {"caption": np.where(CAPTION == 0, pad, CAPTION)}
    np.testing.assert_array_equal(other(padded), plain(CAPTIONS))
    again = GrammarClassifier.from_config(other.get_config())
    assert again.pad == pad


def test_trains_under_compile_and_fit():
    network = pairs()
    images = RNG.normal(size=(64, 5)).astype("float32")
    # The first sample is of the image, the second of nobody.
    own = images[:, :4]
    texts = np.stack([own, RNG.permutation(own)], axis=1)
    labels = np.tile([1.0, 0.0], (64, 1))
    network.compile(
        keras.optimizers.Adam(0.02),
        keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
    )
    data = {"image": images, "text": texts}
    # An epoch takes longer than a step.
    again = {k: np.concatenate([x] * 50) for k, x in data.items()}
    again = again, np.concatenate([labels] * 50)
    network.fit(*again, batch_size=64, epochs=3, shuffle=False, verbose=0)
    assert network.evaluate(data, labels, verbose=0)[1] > 0.9


@pytest.mark.parametrize(
    "make, inputs, told",
    [
        (pairs, {"image": PAIRS["image"]}, "`inputs` must hold 'text'"),
        (pairs, {**PAIRS, "text": PAIRS["text"][0]}, "`text` must .*.B, S, D."),
        (grammar, {"caption": CAPTION[0]}, "`caption` must .* .B, S, T"),
    ],
)
def test_unfit_inputs_are_refused(make, inputs, told):
    with pytest.raises(ValueError, match=told):
        make()(inputs)
