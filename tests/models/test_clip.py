"""CLIP and SigLIP backbones of KerasHub, tiny and random, as listeners."""

import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.testing import same
from tfcap.layers import PartialSamplingST
from tfcap.layers import SoftEmbedding
from tfcap.methods import frozen_listener
from tfcap.methods import psst
from tfcap.models import CLIPListener
from tfcap.models import ShowTellSpeaker
from tfcap.models import clip_retriever
from tfcap.text import Vocabulary
from tfcap.text import as_vocabulary

hub = pytest.importorskip("keras_hub")
WORDS = ["red", "a", "dog", "bee", "odd"]
VOCABULARY = Vocabulary(WORDS)
TOKENS = np.array(
    [[[5, 4, 6, 2, 0], [6, 2, 0, 0, 0]], [[7, 8, 5, 6, 4], [0] * 5]]
)
MASK = ((TOKENS > 0) & (np.cumsum(TOKENS == 2, -1) - (TOKENS == 2) == 0)) * 1.0
TEXTS = [["a red dog", "dog"], ["bee odd a dog red", ""]]
SIZE = {
    "hidden_dim": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_dim": 16,
}


def tokenizer():
    letters = [*"abdegor"]
    pieces = [*letters, *(f"{x}</w>" for x in letters), "do", "dog</w>"]
    pieces = {x: i for i, x in enumerate(pieces)}
    pieces |= {"<|startoftext|>": 16, "<|endoftext|>": 17}
    return hub.models.CLIPTokenizer(
        vocabulary=pieces, merges=["d o", "do g</w>"]
    )


def encoders(kind, vocabulary_size, length):
    """A tower of images of 8 by 8 pixels, and one of texts."""
    vision = getattr(hub.models, f"{kind}VisionEncoder")
    text = getattr(hub.models, f"{kind}TextEncoder")
    return (
        vision(patch_size=4, image_shape=(8, 8, 3), **SIZE),
        text(
            vocabulary_size=vocabulary_size,
            max_sequence_length=length,
            embedding_dim=8,
            **SIZE,
        ),
    )


def clip():
    towers = encoders("CLIP", 18, 14)
    return hub.models.CLIPBackbone(*towers, projection_dim=6), tokenizer()


class Letters:
    """SigLIP's kind of tokenizer, of letters; it pads with its end."""

    pieces = ["<unk>", "</s>", *"abdegor"]
    is_words, size, pad, bos, eos, unk = False, 9, 1, None, 1, 0

    def decode(self, ids):
        raise NotImplementedError

    def encode_ragged(self, sentences, max_length=None):
        rows = [[self.pieces.index(x) for x in s] for s in sentences]
        splits = np.append(0, np.cumsum([len(x) for x in rows]))
        return np.concatenate(rows).astype(int), splits


def siglip():
    return hub.models.SigLIPBackbone(*encoders("SigLIP", 9, 16)), Letters()


def ids_of(text, tokenizer, backbone):
    """What the backbone's preprocessor makes of a text."""
    size = backbone.text_encoder.max_sequence_length
    if isinstance(tokenizer, Letters):
        ids = [tokenizer.pieces.index(x) for x in text.replace(" ", "")]
        return ids[: size - 1] + [1] * (size - len(ids[: size - 1]))
    ids = [16, *np.asarray(tokenizer(text)).tolist()][: size - 1] + [17]
    return ids + [0] * (size - len(ids))


def unit(x):
    x = keras.ops.convert_to_numpy(x)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.fixture(scope="module", params=[clip, siglip], ids=lambda x: x.__name__)
def network(request):
    keras.utils.set_random_seed(0)
    backbone, tokenizer = request.param()
    # Fresh networks tell words little apart.
    for variable in backbone.trainable_variables:
        variable.assign(variable * 3 + 0.01)
    return backbone, tokenizer, CLIPListener(backbone, tokenizer, VOCABULARY)


def test_words_are_read_as_the_backbone_reads_their_strings(network):
    backbone, tokenizer, listener = network
    found = keras.ops.convert_to_numpy(listener.embed_texts(TOKENS, MASK))
    ids = [[ids_of(x, tokenizer, backbone) for x in row] for row in TEXTS]
    wanted = [unit(backbone.get_text_embeddings(np.array(x))) for x in ids]
    # The longest text is beyond the length of the backbone.
    assert max(map(len, TEXTS[1][0].split())) and listener.pieces.shape[1] == 3
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-6)
    np.testing.assert_allclose(found[1, 0], wanted[1][0], atol=1e-6)
    np.testing.assert_array_equal(found[1, 1], 0)
    assert abs(found[0, 0] - found[0, 1]).max() > 1e-3
    image = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype("f4")
    wanted = unit(backbone.get_vision_embeddings(image))
    found = listener({"image": image, "caption": TOKENS})
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-6)
    np.testing.assert_allclose(
        listener.embed_images(wanted[:, None]), wanted, atol=1e-6
    )
    batch = {"image": np.stack([wanted, wanted[::-1]], 1), "caption": TOKENS}
    found = listener({**batch, "image_mask": np.array([[1, 0]] * 2)})
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-6)


def test_one_hot_words_give_what_ids_give_and_a_gradient_to_all_words(network):
    _, _, listener = network
    words = tf.one_hot(TOKENS, VOCABULARY.size)
    with tf.GradientTape() as tape:
        tape.watch(words)
        texts = listener.embed_texts(words, MASK)
        value = tf.reduce_sum(texts[..., 0])
    np.testing.assert_allclose(
        texts, listener.embed_texts(TOKENS, MASK), atol=1e-6
    )
    gradient = tape.gradient(value, words).numpy()
    assert np.all(np.abs(gradient[0, 0, :3, 4:]) > 0)
    np.testing.assert_array_equal(gradient[0, 1, 1:], 0)
    # The gradient is that of the vectors, here of the words' first piece.
    step = np.zeros(words.shape, "f4")
    step[0, 1, 0, 7] = 1e-3
    moved = [
        float(tf.reduce_sum(listener.embed_texts(words + s, MASK)[..., 0]))
        for s in (step, -step)
    ]
    slope = (moved[0] - moved[1]) / 2e-3
    assert slope == pytest.approx(gradient[0, 1, 0, 7], rel=2e-2, abs=1e-3)


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_a_backbone_in_half_precision_hears_a_speaker_in_single(rho):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        listener = CLIPListener(*clip(), VOCABULARY)
    finally:
        keras.config.set_dtype_policy("float32")
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(*TOKENS.shape, VOCABULARY.size))
    logits = tf.constant(logits, "float32")
    channel = PartialSamplingST(rho, seed=0)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        words = channel(logits, training=True)
        texts = listener.embed_texts(words, MASK)
        value = tf.reduce_sum(texts[..., 0])
    gradient = tape.gradient(value, logits).numpy()
    assert np.isfinite(gradient).all() and np.abs(gradient[0, 0]).max() > 0
    if rho == 0.0:
        ids = tf.argmax(words, axis=-1)
        wanted = listener.embed_texts(ids, MASK)
        np.testing.assert_allclose(texts, wanted, atol=0.02)


@pytest.mark.parametrize("network", [clip], indirect=True)
def test_a_speaker_of_the_tokenizer_needs_no_bridge(network):
    backbone, tokenizer, listener = network
    own = CLIPListener(backbone, tokenizer)
    vocabulary = as_vocabulary(tokenizer)
    ids = [vocabulary.encode(text, eos=True) for text in TEXTS[0]]
    tokens = np.array([x + [0] * (9 - len(x)) for x in ids])[None]
    mask = np.cumsum(tokens == 17, -1) - (tokens == 17) == 0
    found = own.embed_texts(tokens, mask * 1)
    wanted = listener.embed_texts(TOKENS[:1], MASK[:1])
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    soft = own.embed_texts(np.eye(18, dtype="f4")[tokens], mask * 1)
    np.testing.assert_allclose(soft, found, atol=1e-6)


@pytest.mark.parametrize("network", [clip], indirect=True)
def test_one_config_makes_several(network):
    config = network[2].get_config()
    for _ in range(2):
        made = CLIPListener.from_config(config)
        assert made.vocabulary_size == VOCABULARY.size


@pytest.mark.parametrize("network", [clip], indirect=True)
def test_a_speaker_trains_against_it_frozen_or_not(network, tmp_path):
    _, _, listener = network
    speaker = ShowTellSpeaker(VOCABULARY.size, units=4)
    rng = np.random.default_rng(0)
    batch = {
        "image": rng.normal(size=(2, 1, 6)).astype("f4"),
        "caption": TOKENS,
        "pixels": rng.normal(size=(2, 8, 8, 3)).astype("f4"),
    }
    speaker(batch)
    listener.save(tmp_path / "listener.keras")
    listener = keras.saving.load_model(tmp_path / "listener.keras")
    np.testing.assert_array_equal(
        listener.embed_texts(TOKENS, MASK), network[2].embed_texts(TOKENS, MASK)
    )
    listener.image_key = "pixels"
    learners = {x: keras.optimizers.SGD() for x in ("speaker", "listener")}
    options = {"lambda_": 1.0, "max_length": 3, "seed": 0}
    gumbel = {"estimator": "straight_through", "channel": "gumbel"}
    for method, optimizer, added in (
        (psst, learners, {}),
        (frozen_listener, "sgd", gumbel),
    ):
        training = method(speaker, listener, **added, **options)
        training.compile(optimizer, run_eagerly=True)
        before = [speaker.get_weights(), listener.get_weights()]
        training.fit(batch, verbose=0)
        after = [speaker.get_weights(), listener.get_weights()]
        moved = [
            [bool(np.any(a != b)) for a, b in zip(*x)]
            for x in zip(before, after)
        ]
        assert all(moved[0]) and any(moved[1]) is (optimizer is learners)


def test_other_networks_are_refused():
    with pytest.raises(TypeError, match="`backbone` must be a CLIP or SigLIP"):
        CLIPListener(keras.Sequential(), Letters())


def test_soft_words_are_tied_to_the_table_also_with_lora():
    for kind in (keras.layers.Embedding, keras.layers.ReversibleEmbedding):
        layer = kind(5, 8)
        soft = SoftEmbedding.from_embedding(layer)
        ids, words = np.array([[4, 1]]), np.eye(5, dtype="f4")[[[4, 1]]]
        np.testing.assert_array_equal(soft(words), layer(ids))
        assert [id(x) for x in soft.weights] == [id(layer.embeddings)]
        layer.enable_lora(2)
        layer.lora_embeddings_b.assign(np.ones((2, 8)))
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(soft(words) ** 2)
        np.testing.assert_allclose(soft(words), layer(ids), rtol=1e-6)
        learns = [layer.lora_embeddings_a, layer.lora_embeddings_b]
        gradients = tape.gradient(value, [x.value for x in learns])
        assert all(float(tf.reduce_sum(x**2)) > 0 for x in gradients)
    layer = keras.layers.Embedding(5, 8)
    soft = SoftEmbedding.from_embedding(layer)
    soft(ids)
    config = soft.get_config()
    for _ in range(2):
        assert SoftEmbedding.from_config(config).tied.output_dim == 8
    layer.quantize("int8")
    for read in (
        lambda: soft(words),
        lambda: SoftEmbedding.from_embedding(layer),
    ):
        with pytest.raises(ValueError, match="table of floats"):
            read()
    with pytest.raises(TypeError, match="must be a `keras.layers.Embedding`"):
        SoftEmbedding.from_embedding(keras.layers.Dense(3))


def preprocessor():
    return hub.models.CLIPPreprocessor(
        tokenizer(),
        hub.layers.CLIPImageConverter(
            image_size=(8, 8), scale=1 / 255, interpolation="bicubic"
        ),
        sequence_length=14,
    )


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A backbone, and a retriever of it."""
    keras.utils.set_random_seed(0)
    folder, (backbone, _) = tmp_path_factory.mktemp("clip") / "tiny", clip()
    for variable in backbone.trainable_variables:
        variable.assign(variable * 3 + 0.01)
    backbone.save_to_preset(str(folder))
    preprocessor().save_to_preset(str(folder))
    return backbone, clip_retriever(folder, VOCABULARY, batch_size=2)


def test_a_retriever_reads_texts_as_the_backbone_does(preset):
    backbone, retriever = preset
    texts = [*TEXTS[0], TEXTS[1][0]]
    packed = preprocessor()({"prompts": texts, "images": None})
    wanted = unit(backbone.get_text_embeddings(packed["token_ids"]))
    assert np.abs(wanted[0] - wanted[1]).max() > 1e-3
    found = retriever.embed_texts(TOKENS, MASK)
    same([*found[0], found[1, 0]], [*wanted], atol=1e-5)
    retriever._cache.clear()

    @tf.function(autograph=False)
    def graph(tokens):
        return retriever.embed_texts(tokens, MASK)

    np.testing.assert_allclose(graph(tf.constant(TOKENS)), found, atol=1e-6)


def test_images_are_converted_as_the_preset_says(preset):
    backbone, retriever = preset
    rng = np.random.default_rng(0)
    images = [rng.uniform(0, 255, (20 + 9 * i, 30, 3)) for i in range(3)]
    convert = preprocessor().image_converter
    pixels = np.stack([convert(x.astype("float32")) for x in images])
    wanted = unit(backbone.get_vision_embeddings(pixels))
    found = retriever.embed_pixels(images)
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-5)
    found = retriever.embed_images(found)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    # Nothing in it is trained.
    assert not retriever.backbone.trainable_variables
    assert retriever.units == 6


def test_what_is_no_clip_is_refused(tmp_path):
    vit = hub.models.ViTBackbone((16, 16, 3), 8, 1, 2, 8, 16)
    vit.save_to_preset(str(tmp_path / "vit"))
    with pytest.raises(ValueError, match="of a ViTBackbone"):
        clip_retriever(tmp_path / "vit", VOCABULARY)


def test_the_package_that_is_lacking_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    with pytest.raises(ImportError, match=r"pip install tfcap\[vision\]"):
        clip_retriever("clip_vit_base_patch32", VOCABULARY)
