import keras
import numpy as np

from tfcap.training import ClippedAdam

# What it does on two replicas is in `two_replicas.py`.


def test_on_one_device_it_is_keras_own():
    settings = {"learning_rate": 0.1, "beta_1": 0.5, "global_clipnorm": 0.3}
    found = []
    for kind in (keras.optimizers.Adam, ClippedAdam):
        weights = [keras.Variable([1.0, 2.0]), keras.Variable([[3.0]])]
        optimizer = kind(**settings)
        for step in range(3):
            slopes = [keras.ops.ones(2) * step, keras.ops.ones((1, 1))]
            optimizer.apply(slopes, weights)
        found.append([keras.ops.convert_to_numpy(w) for w in weights])
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


def test_a_model_that_was_compiled_with_it_loads(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(ClippedAdam(1e-2, global_clipnorm=5.0), "mse")
    model.fit(np.ones((2, 2)), np.ones((2, 1)), verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras").optimizer
    assert type(again) is ClippedAdam
    assert again.get_config() == model.optimizer.get_config()
