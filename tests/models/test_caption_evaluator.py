import keras
import numpy as np
import pytest

import tests.testing as contract
from tfcap.models import CaptionEvaluator

RNG = np.random.default_rng(0)
BATCH = {
    "image": RNG.normal(size=(3, 4, 5)).astype("float32"),
    "caption": np.array([[[5, 6, 2]], [[7, 2, 0]], [[8, 9, 2]]], "int32"),
}


def small(**arguments):
    return CaptionEvaluator(
        11, **{"units": 6, "embedding_units": 5, **arguments}
    )


def test_logits_are_scaled_cosines_and_a_bias():
    network = small(scale=4.0)
    network(BATCH)
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


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_is_saved_with_its_scale(tmp_path, policy):
    network = small(scale=4.0, dtype=policy, word_dropout=0.1)
    said = network(BATCH)
    network.log_scale.assign(0.25)
    network.bias.assign(2.0)
    network.save(tmp_path / "evaluator.keras")
    loaded = keras.saving.load_model(tmp_path / "evaluator.keras")
    np.testing.assert_array_equal(loaded(BATCH), said)
    texts = RNG.normal(size=(2, 1, 3)).astype("float32")
    found = loaded.logits(np.ones((2, 3), "float32"), texts)
    wanted = np.exp(0.25) * texts.sum(axis=-1) + 2.0
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    contract.check_config(lambda: small(scale=2.0, eos=3, seed=1))


def test_a_scale_must_be_positive():
    with pytest.raises(ValueError, match="`scale` must be positive.*scale=0"):
        small(scale=0.0)
