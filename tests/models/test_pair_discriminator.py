import keras
import numpy as np
import pytest

import tests.testing as contract
from tfcap.models import PairDiscriminator

RNG = np.random.default_rng(0)
BATCH = {
    "image": RNG.normal(size=(3, 5)).astype("float32"),
    "text": RNG.normal(size=(3, 2, 4)).astype("float32"),
}


def small(**arguments):
    return PairDiscriminator(**{"units": (6, 5), **arguments})


def built(**arguments):
    keras.utils.set_random_seed(0)
    network = small(**arguments)
    network(BATCH)
    for variable in network.weights:
        noise = RNG.normal(size=variable.shape)
        variable.assign(variable + 0.1 * noise)
    return network


def oracle(network, image, text):
    """The logit of one pair, layer by layer."""
    numpy = keras.ops.convert_to_numpy
    kernel = np.concatenate([network.image.kernel, network.text.kernel])
    hidden = np.concatenate([image, text]) @ kernel + network.image.bias
    for layer in [*network.hidden, network.score]:
        hidden = np.maximum(numpy(hidden), 0) @ numpy(layer.kernel)
        hidden = hidden + numpy(layer.bias)
    return hidden[0]


@pytest.mark.parametrize("units", [(6, 5), (4,), [5, 4, 3]])
def test_logits_are_a_perceptron_of_both_embeddings(units):
    network = built(units=units)
    found = network(BATCH)
    assert found.shape == (3, 2)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    for row, s in np.ndindex(3, 2):
        wanted = oracle(network, BATCH["image"][row], BATCH["text"][row, s])
        np.testing.assert_allclose(found[row, s], wanted, atol=1e-5)


def test_logits_of_every_pair_are_those_of_each():
    network = built()
    texts = BATCH["text"].reshape(-1, 4)
    found = network.logits(BATCH["image"], texts)
    for row, image in enumerate(BATCH["image"]):
        wanted = network.logits(image[None], texts[None])
        np.testing.assert_allclose(found[row], wanted[0], atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_is_saved_and_says_the_same(tmp_path, policy):
    network = built(dtype=policy)
    said = network(BATCH)
    assert keras.backend.standardize_dtype(said.dtype) == "float32"
    network.save(tmp_path / "discriminator.keras")
    loaded = keras.saving.load_model(tmp_path / "discriminator.keras")
    np.testing.assert_array_equal(loaded(BATCH), said)
    contract.check_config(small)


def test_trains_under_compile_and_fit():
    network = built()
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


def test_what_is_no_pair_is_refused():
    with pytest.raises(ValueError, match="`inputs` must hold 'text'"):
        small()({"image": BATCH["image"]})
    with pytest.raises(ValueError, match="`text` must have shape .B, S, D."):
        small()({"image": BATCH["image"], "text": BATCH["text"][0]})
