import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.models import clip_retriever
from tfcap.text import Vocabulary

hub = pytest.importorskip("keras_hub")
VOCABULARY = Vocabulary("a dog cat red".split())
TEXTS = ["a dog", "a red cat", "dog", "a a a a a a a a a dog"]
TOKENS = np.zeros((1, 4, 10), "int32")
for row, text in zip(TOKENS[0], TEXTS):
    row[: len(text.split())] = VOCABULARY.encode(text.split())
IMAGES = [
    np.random.default_rng(i).uniform(0, 255, (20 + 9 * i, 30, 3))
    for i in range(3)
]


def tiny_backbone():
    vision = hub.models.CLIPVisionEncoder(
        patch_size=8,
        hidden_dim=8,
        num_layers=1,
        num_heads=2,
        intermediate_dim=16,
        image_shape=(16, 16, 3),
    )
    text = hub.models.CLIPTextEncoder(
        vocabulary_size=40,
        embedding_dim=8,
        hidden_dim=8,
        num_layers=2,
        num_heads=2,
        intermediate_dim=16,
        max_sequence_length=30,
    )
    return hub.models.CLIPBackbone(vision, text, projection_dim=6)


def tiny_preprocessor():
    letters = [*"acdegort"]
    words = [*letters, *(f"{x}</w>" for x in letters), "do", "dog</w>"]
    vocabulary = {word: i for i, word in enumerate(words)}
    vocabulary |= {"<|startoftext|>": 38, "<|endoftext|>": 39}
    return hub.models.CLIPPreprocessor(
        hub.models.CLIPTokenizer(
            vocabulary=vocabulary, merges=["d o", "do g</w>"]
        ),
        hub.layers.CLIPImageConverter(
            image_size=(16, 16), scale=1 / 255, interpolation="bicubic"
        ),
        sequence_length=30,
    )


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    keras.utils.set_random_seed(0)
    folder = tmp_path_factory.mktemp("clip") / "tiny"
    backbone = tiny_backbone()
    backbone.save_to_preset(str(folder))
    tiny_preprocessor().save_to_preset(str(folder))
    return folder, backbone


@pytest.fixture(scope="module")
def retriever(preset):
    return clip_retriever(preset[0], VOCABULARY, batch_size=2)


def unit(x):
    x = keras.ops.convert_to_numpy(x)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_texts_are_what_the_backbone_makes_of_them(preset, retriever):
    _, backbone = preset
    packed = tiny_preprocessor()({"prompts": TEXTS, "images": None})
    wanted = unit(backbone.get_text_embeddings(packed["token_ids"]))
    assert np.abs(wanted[0] - wanted[1]).max() > 1e-2
    found = retriever.embed_texts(TOKENS, TOKENS > 0)
    np.testing.assert_allclose(found[0], wanted, atol=1e-5)


def test_texts_are_read_from_within_a_graph(retriever):
    wanted = retriever.embed_texts(TOKENS, TOKENS > 0)
    retriever._cache.clear()

    @tf.function(autograph=False)
    def graph(tokens):
        return retriever.embed_texts(tokens, tokens > 0)

    found = graph(tf.constant(TOKENS))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_images_are_converted_as_the_preset_says(preset, retriever):
    _, backbone = preset
    convert = tiny_preprocessor().image_converter
    pixels = np.stack([convert(x.astype("float32")) for x in IMAGES])
    wanted = unit(backbone.get_vision_embeddings(pixels))
    found = retriever.embed_pixels(IMAGES)
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-5)
    found = retriever.embed_images(found)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_nothing_in_it_is_trained(retriever):
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
