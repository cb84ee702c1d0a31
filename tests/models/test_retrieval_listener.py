import keras
import numpy as np
import pytest
import tensorflow as tf

import tests.testing as contract
from tfcap._ops import sequence_mask
from tfcap.losses import HingeRetrievalLoss
from tfcap.losses import hinge_retrieval_loss
from tfcap.metrics import CollapseRatio
from tfcap.models import CaptionEvaluator
from tfcap.models import DualEncoder
from tfcap.models import RetrievalListener

VOCABULARY, EOS = 11, 2
RNG = np.random.default_rng(0)
CAPTION = np.array(
    [
        [[5, 6, 7, 2], [8, 2, 0, 0]],
        [[3, 4, 2, 0], [9, 10, 8, 7]],
        [[2, 0, 0, 0], [0, 0, 0, 0]],
    ],
    "int32",
)
BATCH = {
    "image": RNG.normal(size=(3, 4, 5)).astype("float32"),
    "caption": CAPTION,
}
MASK = sequence_mask(CAPTION, EOS).numpy()


def small(**arguments):
    return RetrievalListener(
        VOCABULARY, **{"units": 6, "embedding_units": 5, **arguments}
    )


@pytest.fixture(scope="module")
def listener():
    keras.utils.set_random_seed(0)
    network = small(embeddings_initializer="normal")
    network(BATCH)
    return network


def unit(x):
    return x / np.linalg.norm(x)


def test_images_are_their_mean_position_projected(listener):
    found = listener.embed_images(BATCH["image"])
    kernel, bias = (np.asarray(w) for w in listener.project.weights)
    for row, image in zip(found, BATCH["image"]):
        wanted = unit(image.mean(axis=0) @ kernel + bias)
        np.testing.assert_allclose(row, wanted, atol=1e-6)


def test_texts_are_what_a_gru_keeps_of_their_words_alone(listener):
    found = listener.embed_texts(CAPTION, MASK).numpy()
    table = np.asarray(listener.embedding.embeddings)
    plain = keras.layers.GRU(6)
    plain.build((None, None, 5))
    plain.set_weights(listener.read.get_weights())
    for place in np.ndindex(3, 2):
        words = [w for w in CAPTION[place] if w]
        wanted = np.zeros(6)
        if words:
            wanted = unit(plain(table[words][None])[0].numpy())
        np.testing.assert_allclose(found[place], wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("pooling", "bag"),
    [("mean", False), ("max", False), ("max", True), (None, True)],
)
def test_texts_are_pooled_over_their_words(listener, pooling, bag):
    network = small(pooling=pooling, bag_of_words=bag)
    network(BATCH)
    for name in ("project", "embedding", *["read"] * (pooling is not None)):
        of = getattr(listener, name).get_weights()
        getattr(network, name).set_weights(of)
    kernel = np.zeros((5, 6))
    if bag:
        kernel = np.asarray(network.project_words.kernel)
    found = network.embed_texts(CAPTION, MASK).numpy()
    table = np.asarray(network.embedding.embeddings)
    for place in np.ndindex(3, 2):
        words = [w for w in CAPTION[place] if w]
        # What the other, that keeps the last state, keeps of each beginning.
        states = [
            listener.read(table[words[: i + 1]][None])[0].numpy()
            for i in range(len(words))
        ]
        wanted = np.zeros(6)
        if words:
            pooled = getattr(np, pooling)(states, axis=0) if pooling else 0
            wanted = unit(pooled + table[words].mean(axis=0) @ kernel)
        np.testing.assert_allclose(found[place], wanted, atol=1e-5)
    # Whatever stands under the mask.
    words = np.eye(VOCABULARY, dtype="float32")[CAPTION]
    noise = np.where(MASK[..., None], words, 7.0).astype("float32")
    again = network.embed_texts(noise, MASK)
    np.testing.assert_allclose(again, found, atol=1e-6)
    contract.check_config(
        lambda: small(seed=3, pooling=pooling, bag_of_words=bag)
    )


def test_a_call_gives_images_then_texts(listener):
    found = listener(BATCH).numpy()
    assert found.shape == (3, 3, 6) and found.dtype == "float32"
    images = listener.embed_images(BATCH["image"])
    np.testing.assert_array_equal(found[:, 0], images)
    texts = listener.embed_texts(CAPTION, MASK)
    np.testing.assert_array_equal(found[:, 1:], texts)
    predicted = listener.predict(BATCH, batch_size=2, verbose=0)
    np.testing.assert_allclose(predicted, found, atol=1e-6)


def test_tokens_and_one_hot_words_are_read_alike_whatever_is_masked(listener):
    wanted = listener.embed_texts(CAPTION, MASK)
    words = np.eye(VOCABULARY, dtype="float32")[CAPTION]
    found = listener.embed_texts(words * MASK[..., None], MASK)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    noise = np.where(MASK[..., None], words, 7.0).astype("float32")
    np.testing.assert_allclose(
        listener.embed_texts(noise, MASK), wanted, atol=1e-6
    )
    longer = np.pad(CAPTION, ((0, 0), (0, 0), (0, 3)))
    mask = np.pad(MASK, ((0, 0), (0, 0), (0, 3)))
    np.testing.assert_allclose(
        listener.embed_texts(longer, mask), wanted, atol=1e-6
    )


def test_where_a_text_ends_makes_a_difference(listener):
    tokens = np.array([[[5, 6, 2, 0], [5, 6, 0, 0]]], "int32")
    ended, cut = listener.embed_texts(tokens, tokens > 0)[0].numpy()
    assert np.abs(ended - cut).max() > 1e-2


def test_gradients_pass_through_words_and_stop_at_the_mask(listener):
    words = tf.constant(np.eye(VOCABULARY, dtype="float32")[CAPTION])
    with tf.GradientTape() as tape:
        tape.watch(words)
        found = listener.embed_texts(words, MASK)
        value = tf.reduce_sum(found * np.arange(6.0, dtype="float32"))
    slopes = np.abs(tape.gradient(value, words)).max(axis=-1)
    np.testing.assert_array_equal(slopes > 0, MASK > 0)


def test_what_has_no_length_has_zeros_and_no_gradient():
    network = small()
    batch = {"image": 0 * BATCH["image"], "caption": 0 * CAPTION}
    with tf.GradientTape() as tape:
        found = network(batch)
        value = tf.reduce_sum(found)
    assert not found.numpy().any()
    for slope in tape.gradient(value, network.trainable_variables):
        assert slope is None or not np.any(tf.convert_to_tensor(slope))


def toy(rows=64, seed=0):
    """Captions that name what is largest in their image, and two words more."""
    rng = np.random.default_rng(seed)
    image = rng.normal(size=(rows, 2, 8)).astype("float32")
    order = np.argsort(-image.mean(axis=1), axis=-1)
    caption = np.full((rows, 1, 4), EOS, "int32")
    caption[:, 0, :3] = 3 + order[:, :3]
    return {"image": image, "caption": caption}


def recall(network, batch):
    found = network.predict(batch, verbose=0)
    scores = found[:, 1] @ found[:, 0].T
    return np.mean(scores.argmax(axis=1) == np.arange(len(scores)))


# With the hardest alone from the start, this one gives up; with the sum, the
# dual encoder is trained.
def test_training_by_compile_and_fit_finds_images(negatives=0.5):
    keras.utils.set_random_seed(0)
    network = small(units=16, seed=0, image_dropout=0.1, word_dropout=0.1)
    loss = HingeRetrievalLoss(negatives=negatives)
    network.compile(
        keras.optimizers.Adam(0.02), loss=loss, metrics=[CollapseRatio(loss)]
    )
    data = tf.data.Dataset.from_tensor_slices(toy(256)).batch(32)
    before = recall(network, toy(seed=1))
    history = network.fit(data, epochs=12, shuffle=False, verbose=0).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    assert history["collapse_ratio"][-1] < 0.6
    # Of 64 images that were never seen.
    assert recall(network, toy(seed=1)) > max(before, 0.2)
    held_out = toy(32, seed=2)
    said = network.evaluate(held_out, verbose=0, return_dict=True)
    outputs = network(held_out)
    wanted = hinge_retrieval_loss(
        outputs[:, 0], outputs[:, 1:], negatives=negatives, reduction="mean"
    )
    np.testing.assert_allclose(said["loss"], wanted, rtol=1e-5, atol=1e-6)


def test_a_schedule_brings_in_the_hardest_negatives():
    network, still = small(seed=0), keras.optimizers.SGD(0.0)
    switch = keras.optimizers.schedules.PiecewiseConstantDecay([2], [0.0, 1.0])
    network.compile(
        still, loss=HingeRetrievalLoss(negatives=switch, step=still.iterations)
    )
    data = tf.data.Dataset.from_tensors(toy(8)).repeat(2)
    history = network.fit(
        data,
        epochs=3,
        shuffle=False,
        verbose=0,
    ).history
    outputs = network(toy(8))
    summed, hardest = (
        float(HingeRetrievalLoss(negatives=n)(None, outputs))
        for n in ("sum", "hardest")
    )
    assert summed > 1.5 * hardest
    # Steps 0 to 2 are summed, of two steps an epoch.
    wanted = [summed, (summed + hardest) / 2, hardest]
    np.testing.assert_allclose(history["loss"], wanted, rtol=1e-5, atol=1e-6)


def test_labels_say_which_images_are_the_same():
    network = small()
    network.compile("sgd", loss=HingeRetrievalLoss())
    batch = {name: value[[0, 0, 1]] for name, value in BATCH.items()}
    labelled = network.evaluate(batch, np.array([4, 4, 5]), verbose=0)
    assert labelled < network.evaluate(batch, verbose=0)


def test_dropout_is_of_images_and_of_words_and_of_training_alone():
    for name, place in (("image_dropout", 0), ("word_dropout", 1)):
        network = small(**{name: 0.5}, seed=1)
        np.testing.assert_array_equal(network(BATCH), network(BATCH))
        plain, noisy = network(BATCH), network(BATCH, training=True)
        changed = np.abs(noisy - plain).max(axis=(0, 2)) > 1e-3
        np.testing.assert_array_equal(changed[:2], np.arange(2) == place)
        again = small(**{name: 0.5}, seed=1)
        again(BATCH)
        again.set_weights(network.get_weights())
        again.seed_generator.state.assign([1, 0])
        np.testing.assert_array_equal(again(BATCH, training=True), noisy)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_trains_and_stays_near(policy, listener):
    network = small(dtype=policy)
    network(BATCH)
    network.set_weights(listener.get_weights())
    found = network(BATCH)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, listener(BATCH), atol=0.03)
    length = np.linalg.norm(found, axis=-1)
    np.testing.assert_allclose(length[MASK.any(-1).all(-1)], 1, atol=1e-6)
    loss = HingeRetrievalLoss(margin=1.0)
    network.compile("adam", loss=loss, run_eagerly=True)
    before = network.get_weights()
    # The first steps in float16 may find that the loss is scaled too high.
    for _ in range(8):
        assert np.isfinite(network.train_on_batch(BATCH))
    assert all(np.isfinite(w).all() for w in network.get_weights())
    assert any((a != b).any() for a, b in zip(before, network.get_weights()))


def test_saved_and_loaded_it_says_the_same_to_the_bit(tmp_path):
    contract.check_config(lambda: small(seed=3, word_dropout=0.1))
    network = small()
    loss = HingeRetrievalLoss(negatives=0.5)
    network.compile("adam", loss=loss, run_eagerly=True)
    network.fit(BATCH, verbose=0)
    network.save(tmp_path / "listener.keras")
    again = keras.saving.load_model(tmp_path / "listener.keras")
    np.testing.assert_array_equal(again(BATCH), network(BATCH))
    for _ in range(2):
        np.testing.assert_allclose(
            again.train_on_batch(BATCH),
            network.train_on_batch(BATCH),
            rtol=1e-6,
            atol=1e-6,
        )
    other = small()
    other(BATCH)
    network.save_weights(tmp_path / "listener.weights.h5")
    other.load_weights(tmp_path / "listener.weights.h5")
    np.testing.assert_array_equal(other(BATCH), network(BATCH))


def test_xla_is_left_out_by_itself():
    # On a GPU, "auto" would mean True: how many words there are depends on
    # the data.
    assert not small().supports_jit


def test_unfit_arguments_and_batches_are_named():
    for name in ("image_dropout", "word_dropout"):
        with pytest.raises(ValueError, match=f"`{name}`.*Received: {name}=1.0"):
            small(**{name: 1.0})
    with pytest.raises(ValueError, match="`pooling`.*Received: pooling='sum'"):
        small(pooling="sum")
    with pytest.raises(ValueError, match="`bag_of_words`.*reads nothing"):
        small(pooling=None)
    for key in BATCH:
        lacking = {k: v for k, v in BATCH.items() if k != key}
        with pytest.raises(ValueError, match=f"`inputs` must hold '{key}'"):
            small()(lacking)
    network = small()
    network(BATCH)
    with pytest.raises(ValueError, match=r"`caption`.*\(B, S, T\)"):
        network({**BATCH, "caption": CAPTION[:, 0]})
    with pytest.raises(ValueError, match=r"`mask`.*\(B, S, T\)"):
        network.embed_texts(CAPTION[:, 0], MASK[:, 0])
    with pytest.raises(ValueError, match=r"`image`.*\(B, P, D\)"):
        network.embed_images(BATCH["image"][:, 0])


@pytest.mark.parametrize("pad", [1, EOS])
@pytest.mark.parametrize(
    "kind", [CaptionEvaluator, DualEncoder, RetrievalListener]
)
def test_padding_may_be_any_id(kind, pad, tmp_path):
    def made(**options):
        network = kind(VOCABULARY, units=4, embedding_units=4, **options)
        network(BATCH)
        return network

    rows = CAPTION[:2], np.zeros((2, 1, 4), "int32")
    caption = np.concatenate(rows, axis=1)  # a last text that is absent
    batch = {"image": BATCH["image"][:2], "caption": caption}
    plain, other = made(), made(pad=pad)
    other.set_weights(plain.get_weights())
    padded = {**batch, "caption": np.where(caption == 0, pad, caption)}
    np.testing.assert_array_equal(other(padded), plain(batch))
    assert not np.any(other(padded)[:, -1])
    ragged = {
        **batch,
        "caption": tf.RaggedTensor.from_tensor(
            caption, padding=0, ragged_rank=2
        ),
    }
    np.testing.assert_array_equal(other(ragged), plain(batch))
    other.save(tmp_path / "listener.keras")
    again = keras.saving.load_model(tmp_path / "listener.keras")
    assert again.pad == pad
    np.testing.assert_array_equal(again(padded), plain(batch))
