import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import SoftEmbedding

IDS = np.random.default_rng(0).integers(0, 50, size=(4, 3, 7))


def test_ids_and_one_hot_vectors_agree_to_the_bit():
    embed = SoftEmbedding(50, 16)
    words = np.eye(50, dtype="float32")[IDS]
    np.testing.assert_array_equal(embed(IDS), embed(words))


def test_gradient_to_a_distribution_is_the_table():
    embed = SoftEmbedding(5, 3)
    words = tf.one_hot([[1, 2]], 5)
    upstream = np.random.default_rng(0).normal(size=(1, 2, 3))
    with tf.GradientTape() as tape:
        tape.watch(words)
        value = tf.reduce_sum(embed(words) * upstream.astype("float32"))
    np.testing.assert_allclose(
        tape.gradient(value, words),
        upstream @ embed.embeddings.numpy().T,
        rtol=1e-5,
        atol=1e-6,
    )


def test_both_inputs_train_the_table_alike():
    embed = SoftEmbedding(50, 4)
    words = np.eye(50, dtype="float32")[IDS]
    grads = []
    for inputs in (IDS, words):
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(tf.sin(embed(inputs)))
        grad = tape.gradient(value, embed.trainable_variables)[0]
        grads.append(tf.convert_to_tensor(grad).numpy())
    np.testing.assert_allclose(*grads, atol=1e-5)


def test_words_and_what_is_made_of_them_have_a_mask():
    embed = SoftEmbedding(50, 50)
    for embedded in (embed(IDS), SoftEmbedding(50, 4)(embed(IDS))):
        mask = keras.src.backend.get_keras_mask(embedded)
        np.testing.assert_array_equal(mask, IDS != 0)
    # Where zero is a word, too, there is none.
    embedded = SoftEmbedding(50, 4, mask_zero=False)(IDS)
    assert keras.src.backend.get_keras_mask(embedded) is None


def test_functional_models_take_either():
    embed = SoftEmbedding(50, 4)
    ids = keras.Input((3, None), dtype="int32")
    assert embed(ids).shape == (None, 3, None, 4)
    assert embed(keras.Input((3, 50))).shape == (None, 3, 4)


def test_floats_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"\(\.\.\., 50\).*\(4, 7\)"):
        SoftEmbedding(50, 4)(np.zeros((4, 7), "float32"))
