import keras
import numpy as np
import pytest
import tensorflow as tf

import tests.testing as contract
from tests.models.test_retrieval_listener import recall
from tests.models.test_retrieval_listener import toy
from tfcap._ops import sequence_mask
from tfcap.losses import HingeRetrievalLoss
from tfcap.models import DualEncoder

VOCABULARY, EOS = 11, 2
CAPTION = np.array(
    [
        [[5, 6, 7, 2], [8, 2, 0, 0]],
        [[3, 4, 2, 0], [9, 10, 8, 7]],
        [[2, 0, 0, 0], [0, 0, 0, 0]],
    ],
    "int32",
)
IMAGE = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32")
BATCH = {"image": IMAGE, "caption": CAPTION}
MASK = sequence_mask(CAPTION, EOS).numpy()


def small(**arguments):
    options = {"units": 6, "embedding_units": 8, "heads": 2, "max_length": 9}
    return DualEncoder(VOCABULARY, **{**options, **arguments})


@pytest.fixture(scope="module")
def encoder():
    keras.utils.set_random_seed(0)
    network = small(embeddings_initializer="normal")
    network(BATCH)
    return network


def test_images_are_the_mean_of_what_is_seen_at_each_position(encoder):
    (w1, b1), (w2, b2) = (
        [np.asarray(w) for w in layer.weights]
        for layer in (encoder.expand, encoder.project)
    )
    spread = IMAGE - IMAGE.mean(-1, keepdims=True)
    spread /= np.sqrt((spread**2).mean(-1, keepdims=True) + 1e-5)
    seen = keras.activations.gelu(spread @ w1 + b1).numpy().mean(axis=1)
    wanted = seen @ w2 + b2
    wanted /= np.linalg.norm(wanted, axis=-1, keepdims=True)
    found = encoder.embed_images(IMAGE)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_call_gives_images_then_texts(encoder):
    found = encoder(BATCH).numpy()
    assert found.shape == (3, 3, 6) and found.dtype == "float32"
    np.testing.assert_array_equal(found[:, 0], encoder.embed_images(IMAGE))
    texts = encoder.embed_texts(CAPTION, MASK)
    np.testing.assert_array_equal(found[:, 1:], texts)
    predicted = encoder.predict(BATCH, batch_size=2, verbose=0)
    np.testing.assert_allclose(predicted, found, atol=1e-6)
    lengths = np.linalg.norm(found, axis=-1)
    np.testing.assert_allclose(lengths[:, 0], 1, atol=1e-6)
    np.testing.assert_allclose(lengths[:, 1:], MASK.any(-1), atol=1e-6)


def test_tokens_and_one_hot_words_are_read_alike_whatever_is_masked(encoder):
    wanted = encoder.embed_texts(CAPTION, MASK)
    words = np.eye(VOCABULARY, dtype="float32")[CAPTION]
    for noise in (0.0, 7.0, np.inf):
        masked = np.where(MASK[..., None], words, noise).astype("float32")
        found = encoder.embed_texts(masked, MASK)
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    longer = np.pad(CAPTION, ((0, 0), (0, 0), (0, 3)))
    mask = np.pad(MASK, ((0, 0), (0, 0), (0, 3)))
    found = encoder.embed_texts(longer, mask)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_order_of_words_makes_a_difference(encoder):
    tokens = np.array([[[5, 6, 2], [6, 5, 2]]], "int32")
    one, other = encoder.embed_texts(tokens, tokens > 0)[0].numpy()
    assert np.abs(one - other).max() > 1e-3


def test_gradients_pass_through_words_and_stop_at_the_mask(encoder):
    words = tf.constant(np.eye(VOCABULARY, dtype="float32")[CAPTION])
    with tf.GradientTape() as tape:
        tape.watch(words)
        found = encoder.embed_texts(words, MASK)
        value = tf.reduce_sum(found * np.arange(6.0, dtype="float32"))
    slopes = np.abs(tape.gradient(value, words)).max(axis=-1)
    np.testing.assert_array_equal(slopes > 0, MASK > 0)


def test_training_by_compile_and_fit_finds_images():
    keras.utils.set_random_seed(0)
    network = small(
        units=16,
        embedding_units=16,
        seed=0,
        image_dropout=0.1,
        word_dropout=0.1,
    )
    network.compile(
        keras.optimizers.Adam(0.01), loss=HingeRetrievalLoss(negatives="sum")
    )
    data = tf.data.Dataset.from_tensor_slices(toy(256)).batch(32)
    before = recall(network, toy(seed=1))
    network.fit(data, epochs=12, shuffle=False, verbose=0)
    # Of 64 images that were never seen.
    assert recall(network, toy(seed=1)) > max(before, 0.2)


def test_a_seed_settles_what_drops_out():
    weights = small(block_dropout=0.5)
    weights(BATCH)
    found = []
    for seed in (3, 3, 4):
        network = small(block_dropout=0.5, seed=seed)
        network(BATCH)
        network.set_weights(weights.get_weights())
        found.append(network(BATCH, training=True).numpy())
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_stays_near(policy, encoder):
    network = small(dtype=policy)
    network(BATCH)
    network.set_weights(encoder.get_weights())
    found = network(BATCH)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, encoder(BATCH), atol=0.05)


def test_saved_and_loaded_it_says_the_same_to_the_bit(tmp_path):
    contract.check_config(lambda: small(seed=3, word_dropout=0.1, layers=1))
    network = small()
    network.compile("adam", loss=HingeRetrievalLoss(), run_eagerly=True)
    network.fit(BATCH, verbose=0)
    network.save(tmp_path / "encoder.keras")
    again = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(again(BATCH), network(BATCH))


def test_unfit_arguments_are_named(encoder):
    with pytest.raises(ValueError, match="`heads`.*heads=3"):
        small(heads=3)
    for name in ("heads", "layers", "max_length"):
        with pytest.raises(ValueError, match=f"`{name}` must be a positive in"):
            small(**{name: 0})
    with pytest.raises(ValueError, match="`block_dropout`"):
        small(block_dropout=-0.1)
    with pytest.raises(ValueError, match="`image_dropout`"):
        small(image_dropout=1.0)
    long = np.full((1, 1, 10), 5)
    with pytest.raises(ValueError, match="max_length=9, 10 words"):
        encoder.embed_texts(long, long > 0)
