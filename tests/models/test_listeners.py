"""Networks that embed images and texts: what is theirs, and what all meet."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.testing import same
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


KINDS = {
    RetrievalListener: {"embedding_units": 5},
    DualEncoder: {
        **{"embedding_units": 8, "heads": 2, "max_length": 9},
        "block_dropout": 0.0,
    },
}


def made(kind, **options):
    """A built network."""
    own = {"units": 6, **KINDS.get(kind, {"embedding_units": 5})}
    network = kind(VOCABULARY, **{**own, **options})
    network(BATCH)
    return network


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def network(request):
    keras.utils.set_random_seed(0)
    return made(request.param, embeddings_initializer="normal")


@pytest.fixture(scope="module")
def listener():
    keras.utils.set_random_seed(0)
    return made(RetrievalListener, embeddings_initializer="normal")


@pytest.fixture(scope="module")
def dual():
    keras.utils.set_random_seed(0)
    return made(DualEncoder, embeddings_initializer="normal")


def unit(x):
    return x / np.linalg.norm(x)


def test_an_image_is_its_mean_position_projected(listener):
    found = listener.embed_images(BATCH["image"])
    kernel, bias = (np.asarray(w) for w in listener.project.weights)
    for row, image in zip(found, BATCH["image"]):
        wanted = unit(image.mean(axis=0) @ kernel + bias)
        np.testing.assert_allclose(row, wanted, atol=1e-6)


@pytest.mark.parametrize(
    "pooling, bag",
    [
        *(("last", False), ("mean", False), ("max", False)),
        *(("max", True), (None, True)),
    ],
)
def test_texts_are_what_a_gru_keeps_of_their_words_alone(
    listener, pooling, bag
):
    network = made(RetrievalListener, pooling=pooling, bag_of_words=bag)
    for name in ("project", "embedding", *["read"] * (pooling is not None)):
        of = getattr(listener, name).get_weights()
        getattr(network, name).set_weights(of)
    kernel = np.zeros((5, 6))
    if bag:
        kernel = np.asarray(network.project_words.kernel)
    found = network.embed_texts(CAPTION, MASK).numpy()
    table = np.asarray(network.embedding.embeddings)
    plain = keras.layers.GRU(6, return_sequences=True)
    plain.build((None, None, 5))
    plain.set_weights(listener.read.get_weights())
    pools = {"last": lambda x: x[-1], None: lambda x: 0}
    pools |= {"mean": lambda x: x.mean(0), "max": lambda x: x.max(0)}
    for place in np.ndindex(3, 2):
        words, wanted = [w for w in CAPTION[place] if w], np.zeros(6)
        if words:
            pooled = pools[pooling](plain(table[words][None])[0].numpy())
            wanted = unit(pooled + table[words].mean(axis=0) @ kernel)
        np.testing.assert_allclose(found[place], wanted, atol=1e-5)


def test_an_image_is_the_mean_of_what_is_seen_at_each_position(dual):
    (w1, b1), (w2, b2) = (
        [np.asarray(w) for w in layer.weights]
        for layer in (dual.expand, dual.project)
    )
    image = BATCH["image"]
    spread = image - image.mean(-1, keepdims=True)
    spread /= np.sqrt((spread**2).mean(-1, keepdims=True) + 1e-5)
    seen = keras.activations.gelu(spread @ w1 + b1).numpy().mean(axis=1)
    wanted = seen @ w2 + b2
    wanted /= np.linalg.norm(wanted, axis=-1, keepdims=True)
    found = dual.embed_images(image)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_order_of_words_makes_a_difference(dual):
    tokens = np.array([[[5, 6, 2], [6, 5, 2]]], "int32")
    one, other = dual.embed_texts(tokens, tokens > 0)[0].numpy()
    assert np.abs(one - other).max() > 1e-3


def test_logits_of_an_evaluator_are_scaled_cosines_and_a_bias():
    network = made(CaptionEvaluator, scale=4.0)
    network.bias.assign(-1.0)
    images = np.array([[1.0, 0.0], [0.0, 1.0]], "float16")
    texts = np.array([[[0.5, 0.1]], [[0.2, -1.0]]], "float16")
    found = network.logits(images, texts)
    np.testing.assert_allclose(found, [[1.0], [-5.0]], rtol=1e-6, atol=1e-6)
    every = network.logits(images, texts[:, 0])
    wanted = [[1.0, -0.2], [-0.6, -5.0]]
    np.testing.assert_allclose(every, wanted, rtol=1e-3, atol=1e-6)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    names = [v.name for v in network.trainable_variables]
    assert {"log_scale", "bias"} <= set(names)


def test_a_call_gives_images_then_texts(network):
    found = network(BATCH).numpy()
    assert found.shape == (3, 3, 6) and found.dtype == "float32"
    same(found[:, 0], network.embed_images(BATCH["image"]))
    same(found[:, 1:], network.embed_texts(CAPTION, MASK))
    predicted = network.predict(BATCH, batch_size=2, verbose=0)
    np.testing.assert_allclose(predicted, found, atol=1e-6)
    lengths = np.linalg.norm(found, axis=-1)
    np.testing.assert_allclose(lengths[:, 0], 1, atol=1e-6)
    np.testing.assert_allclose(lengths[:, 1:], MASK.any(-1), atol=1e-6)


@pytest.mark.parametrize(
    "kind, options",
    [
        (DualEncoder, {}),
        (RetrievalListener, {}),
        (RetrievalListener, {"pooling": "mean"}),
        (RetrievalListener, {"pooling": None, "bag_of_words": True}),
    ],
)
def test_tokens_and_one_hot_words_are_read_alike_whatever_is_masked(
    kind, options
):
    network = made(kind, embeddings_initializer="normal", **options)
    wanted = network.embed_texts(CAPTION, MASK)
    words = np.eye(VOCABULARY, dtype="float32")[CAPTION]
    for noise in (0.0, 7.0):
        masked = np.where(MASK[..., None], words, noise).astype("float32")
        found = network.embed_texts(masked, MASK)
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    longer, mask = (
        np.pad(x, ((0, 0), (0, 0), (0, 3))) for x in (CAPTION, MASK)
    )
    found = network.embed_texts(longer, mask)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_gradients_pass_through_words_and_stop_at_the_mask(network):
    words = tf.constant(np.eye(VOCABULARY, dtype="float32")[CAPTION])
    with tf.GradientTape() as tape:
        tape.watch(words)
        found = network.embed_texts(words, MASK)
        value = tf.reduce_sum(found * np.arange(6.0, dtype="float32"))
    slopes = np.abs(tape.gradient(value, words)).max(axis=-1)
    np.testing.assert_array_equal(slopes > 0, MASK > 0)


def test_what_has_no_length_has_zeros_and_no_gradient():
    network = made(RetrievalListener)
    with tf.GradientTape() as tape:
        found = network({k: 0 * x for k, x in BATCH.items()})
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


# With the hardest alone from the start, a listener gives up.
@pytest.mark.parametrize(
    "kind, negatives, rate",
    [(RetrievalListener, 0.5, 0.02), (DualEncoder, "sum", 0.01)],
)
def test_training_by_compile_and_fit_finds_images(kind, negatives, rate):
    keras.utils.set_random_seed(0)
    noise = {"image_dropout": 0.1, "word_dropout": 0.1}
    sizes = {"units": 16, "embedding_units": 16}
    network = kind(VOCABULARY, seed=0, **sizes, **noise)
    loss = HingeRetrievalLoss(negatives=negatives)
    adam = keras.optimizers.Adam(rate)
    network.compile(adam, loss=loss, metrics=[CollapseRatio(loss)])
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
    np.testing.assert_allclose(said["loss"], wanted, rtol=1e-5)


def test_a_schedule_brings_in_the_hardest_negatives():
    network = RetrievalListener(VOCABULARY, 6, 5, seed=0)
    still = keras.optimizers.SGD(0.0)
    switch = keras.optimizers.schedules.PiecewiseConstantDecay([2], [0.0, 1.0])
    network.compile(
        still, loss=HingeRetrievalLoss(negatives=switch, step=still.iterations)
    )
    data = tf.data.Dataset.from_tensors(toy(8)).repeat(2)
    history = network.fit(data, epochs=3, shuffle=False, verbose=0).history
    outputs = network(toy(8))
    summed, hardest = (
        float(HingeRetrievalLoss(negatives=n)(None, outputs))
        for n in ("sum", "hardest")
    )
    assert summed > 1.5 * hardest
    # Steps 0 to 2 are summed, of two steps an epoch.
    wanted = [summed, (summed + hardest) / 2, hardest]
    np.testing.assert_allclose(history["loss"], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_is_of_images_and_of_words_and_of_training_alone(kind):
    for name, place in (("image_dropout", 0), ("word_dropout", 1)):
        network = made(kind, **{name: 0.5}, seed=1)
        plain, noisy = network(BATCH), network(BATCH, training=True)
        same(network(BATCH), plain)
        changed = np.abs(noisy - plain).max(axis=(0, 2)) > 1e-3
        np.testing.assert_array_equal(changed[:2], np.arange(2) == place)
        again = made(kind, **{name: 0.5}, seed=1)
        again.set_weights(network.get_weights())
        same(again(BATCH, training=True), noisy)


def test_a_seed_settles_what_drops_out_in_blocks(dual):
    found = []
    for seed in (3, 3, 4):
        network = made(DualEncoder, block_dropout=0.5, seed=seed)
        network.set_weights(dual.get_weights())
        found.append(network(BATCH, training=True).numpy())
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_trains_and_stays_near(policy, network):
    half = made(type(network), dtype=policy)
    half.set_weights(network.get_weights())
    found = half(BATCH)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, network(BATCH), atol=0.05)
    length = np.linalg.norm(found, axis=-1)
    np.testing.assert_allclose(length[MASK.any(-1).all(-1)], 1, atol=1e-6)
    loss = HingeRetrievalLoss(margin=1.0)
    half.compile("adam", loss=loss, run_eagerly=True)
    before = half.get_weights()
    # The first steps in float16 may find that the loss is scaled too high.
    for _ in range(8):
        assert np.isfinite(half.train_on_batch(BATCH))
    assert all(np.isfinite(w).all() for w in half.get_weights())
    assert any((a != b).any() for a, b in zip(before, half.get_weights()))


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_says_the_same_to_the_bit(kind, tmp_path):
    network = made(kind)
    loss = HingeRetrievalLoss(negatives=0.5)
    network.compile("adam", loss=loss, run_eagerly=True)
    network.fit(BATCH, verbose=0)
    network.save(tmp_path / "listener.keras")
    again = keras.saving.load_model(tmp_path / "listener.keras")
    same(again(BATCH), network(BATCH))
    for _ in range(2):
        wanted = network.train_on_batch(BATCH)
        same(again.train_on_batch(BATCH), wanted, 1e-6)


def test_xla_is_left_out_by_itself(listener):
    # On a GPU, "auto" would mean True: how many words there are depends on
    # the data.
    assert not listener.supports_jit


@pytest.mark.parametrize(
    "kind, told, options",
    [
        (RetrievalListener, "image_dropout=1.0", {"image_dropout": 1.0}),
        (RetrievalListener, "word_dropout=1.0", {"word_dropout": 1.0}),
        (RetrievalListener, "`pooling`.*pooling='sum'", {"pooling": "sum"}),
        (RetrievalListener, "`bag_of_words`.*nothing", {"pooling": None}),
        (DualEncoder, "`heads`.*heads=3", {"heads": 3}),
        (DualEncoder, "`heads` must be a positive in", {"heads": 0}),
        (DualEncoder, "`layers` must be a positive in", {"layers": 0}),
        (DualEncoder, "`max_length` must be a posit", {"max_length": 0}),
        (DualEncoder, "`block_dropout`", {"block_dropout": -0.1}),
        (DualEncoder, "`image_dropout`", {"image_dropout": 1.0}),
        (CaptionEvaluator, "`scale` must be pos.*scale=0", {"scale": 0.0}),
    ],
)
def test_unfit_arguments_are_named(kind, told, options):
    with pytest.raises(ValueError, match=told):
        made(kind, **options)


def test_unfit_batches_are_named(listener, dual):
    for key in BATCH:
        lacking = {k: v for k, v in BATCH.items() if k != key}
        with pytest.raises(ValueError, match=f"`inputs` must hold '{key}'"):
            listener(lacking)
    with pytest.raises(ValueError, match=r"`caption`.*\(B, S, T\)"):
        listener({**BATCH, "caption": CAPTION[:, 0]})
    with pytest.raises(ValueError, match=r"`mask`.*\(B, S, T\)"):
        listener.embed_texts(CAPTION[:, 0], MASK[:, 0])
    with pytest.raises(ValueError, match=r"`image`.*\(B, P, D\)"):
        listener.embed_images(BATCH["image"][:, 0])
    long = np.full((1, 1, 10), 5)
    with pytest.raises(ValueError, match="max_length=9, 10 words"):
        dual.embed_texts(long, long > 0)


@pytest.mark.parametrize("pad", [1, EOS])
@pytest.mark.parametrize("kind", [*KINDS, CaptionEvaluator])
def test_padding_may_be_any_id(kind, pad, tmp_path):
    rows = CAPTION[:2], np.zeros((2, 1, 4), "int32")
    caption = np.concatenate(rows, axis=1)  # a last text that is absent
    batch = {"image": BATCH["image"][:2], "caption": caption}
    plain, other = made(kind), made(kind, pad=pad)
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
