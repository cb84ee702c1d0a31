"""Visual dialog methods with networks and batches that nobody here knows."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tests.methods import stranger
from tfcap import methods

WORDS = stranger.VOCABULARY.size


class Embedding(keras.Model):
    """Reads pictures, and sentences as words or distributions."""

    def __init__(self):
        super().__init__()
        self.see = keras.layers.Dense(stranger.UNITS)
        self.see.build((None, 3))
        shape = (WORDS, stranger.UNITS)
        self.table = self.add_weight(shape=shape, name="table")
        self.built = True

    def encode(self, inputs, training=False):
        return ops.mean(self.see(inputs["pixels"]), axis=1)

    def embed(self, answers, mask, training=False):
        if "int" in keras.backend.standardize_dtype(answers.dtype):
            answers = ops.one_hot(answers, WORDS)
        mask = ops.cast(mask, "float32")
        return ops.einsum("bstv,vd,bst->bsd", answers, self.table, mask)


class Judge(Embedding):
    """Is asked for all that the methods need."""

    def call(self, inputs, training=False):
        return self.score(self.encode(inputs), inputs["candidates"])[0]

    def score(self, anchor, options, training=False):
        answers = self.embed(options, ops.not_equal(options, 0))
        return ops.einsum("bd,bnd->bn", anchor, answers), answers

    def penalty(self, anchor, answers, options):
        return 0.0


def dataset():
    rows = stranger.batch(6, captions=1)
    wrong = stranger.batch(6, seed=1, captions=3)["sentences"]
    rows["candidates"] = np.concatenate([rows["sentences"], wrong], axis=1)
    labels = np.repeat([[1, 0, 0, 0]], 6, axis=0)
    return tf.data.Dataset.from_tensor_slices((rows, labels)).batch(3)


@pytest.mark.parametrize(
    "method, learning",
    [
        ("dialog_mle", ("generator",)),
        ("n_pair", ("discriminator",)),
        ("gdis", ("generator",)),
        ("gan1", ("generator", "discriminator")),
        ("gan2", ("generator", "discriminator")),
    ],
)
def test_networks_and_batches_of_ones_own_train(method, learning):
    networks = {"generator": stranger.speaker(), "discriminator": Judge()}
    given, options = networks.values(), {"max_length": 4, "seed": 0}
    if method in ("dialog_mle", "n_pair"):
        given, options = [networks[learning[0]]], {}
    if method == "gan2":
        options["candidates"] = "candidates"
    model = getattr(methods, method)(*given, **options)
    adam = {name: keras.optimizers.Adam(0.01) for name in learning}
    if len(learning) == 1:
        adam = adam[learning[0]]
    model.compile(adam, run_eagerly=True)
    before = {name: n.get_weights() for name, n in networks.items()}
    history = model.fit(dataset(), epochs=1, shuffle=False, verbose=0).history
    assert all(np.isfinite(values).all() for values in history.values())
    for name, network in networks.items():
        weights = zip(before[name], network.get_weights())
        moved = any((a != b).any() for a, b in weights)
        assert moved == (name in learning)


BOTH = methods.gdis, methods.gan1, methods.gan2


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((Judge, Judge), {}, "`generator` must satisfy .*Speaker"),
        ((stranger.speaker, stranger.speaker), {}, "`discriminator`.*`encode"),
        ((stranger.speaker, Judge), {"temperature": 0.0}, "`temperature` must"),
        ((stranger.speaker, Judge), {"max_length": 0}, "`max_length` must"),
        ((stranger.speaker, Judge), {"normalize": "word"}, "`normalize` must"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(given, options, message):
    for method in BOTH:
        with pytest.raises((TypeError, ValueError), match=message):
            method(*(network() for network in given), **options)


def test_networks_that_lack_a_method_or_weights_are_refused():
    with pytest.raises(TypeError, match="`generator` must satisfy .*Speaker"):
        methods.dialog_mle(Judge())
    with pytest.raises(TypeError, match="`discriminator`.*keras.Model"):
        methods.n_pair(lambda inputs: inputs)
    methods.gdis(stranger.speaker(), Embedding())
    with pytest.raises(TypeError, match="the method `score"):
        methods.gan2(stranger.speaker(), Embedding())
    speaker, judge = dialogs.generator(), dialogs.discriminator()
    empty = type(judge).from_config(judge.get_config())
    for method in BOTH:
        with pytest.raises(ValueError, match="`discriminator` must be built"):
            method(speaker, empty)
    with pytest.raises(ValueError, match="`discriminator` must be built"):
        methods.n_pair(empty)
    with pytest.raises(ValueError, match="must be built"):
        methods.dialog_mle(type(speaker).from_config(speaker.get_config()))


def test_n_pair_refuses_to_be_saved(tmp_path):
    model = methods.n_pair(Judge())
    with pytest.raises(NotImplementedError, match="discriminator.save"):
        model.save(tmp_path / "training.keras")
    assert not list(tmp_path.iterdir())
