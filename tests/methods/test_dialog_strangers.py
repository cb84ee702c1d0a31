"""Visual dialog methods with networks and batches that nobody here knows."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import dialogs
from tfcap import methods
from tfcap.decoding import stepwise_log_probs

VOCABULARY, UNITS, LENGTH = 9, 5, 4


class Bag(keras.layers.Layer):
    """Mean embedding of words or distributions `(..., T[, V])`."""

    def __init__(self):
        super().__init__()
        self.table = self.add_weight(shape=(VOCABULARY, UNITS), name="table")
        self.built = True

    def call(self, words, mask=None):
        if "int" in keras.backend.standardize_dtype(words.dtype):
            words = ops.one_hot(words, VOCABULARY)
        vectors = ops.matmul(ops.cast(words, "float32"), self.table)
        if mask is not None:
            vectors = vectors * ops.cast(mask, "float32")[..., None]
        return ops.mean(vectors, axis=-2)


class Answerer(keras.Model):
    """A speaker of questions about audio, with keys of its own."""

    vocabulary_size, bos, eos = VOCABULARY, 1, 2

    def __init__(self):
        super().__init__()
        self.bag = Bag()
        self.sound = keras.layers.Dense(UNITS)
        self.cell = keras.layers.GRUCell(UNITS)
        self.head = keras.layers.Dense(VOCABULARY)
        self.sound.build((None, 3))
        self.cell.build((None, UNITS))
        self.head.build((None, UNITS))
        self.built = True

    def begin(self, inputs, training=False):
        return [self.bag(inputs["asked"]) + self.sound(inputs["sound"])]

    def step(self, words, state, training=False):
        # `(n,)` words or `(n, V)` distributions, as a bag of one.
        hidden, state = self.cell(self.bag(words[:, None]), state)
        unsaid = np.array([-1e9, -1e9, *[0.0] * (VOCABULARY - 2)], "float32")
        return self.head(hidden) + unsaid, state

    def log_probs(self, state, tokens, training=False):
        return stepwise_log_probs(self, state, tokens, training)

    def references(self, inputs):
        return inputs["said"][:, None]


class Judge(keras.Model):
    """Reads the same batches, and is asked for what the methods need."""

    def __init__(self):
        super().__init__()
        self.question, self.answer = Bag(), Bag()
        self.built = True

    def call(self, inputs, training=False):
        return self.score(self.encode(inputs), inputs["candidates"])[0]

    def encode(self, inputs, training=False):
        return self.question(inputs["asked"])

    def embed(self, answers, mask, training=False):
        return self.answer(answers, mask)

    def score(self, anchor, options, training=False):
        answers = self.answer(options, ops.not_equal(options, 0))
        return ops.einsum("bd,bnd->bn", anchor, answers), answers

    def penalty(self, anchor, answers, options):
        return 0.0


def dataset():
    rng = np.random.default_rng(0)
    said = rng.integers(3, VOCABULARY, (6, LENGTH)).astype("int32")
    said[:, -1] = 2
    wrong = rng.integers(3, VOCABULARY, (6, 3, LENGTH)).astype("int32")
    inputs = {
        "asked": rng.integers(3, VOCABULARY, (6, 5)).astype("int32"),
        "sound": rng.normal(size=(6, 3)).astype("float32"),
        "said": said,
        "candidates": np.concatenate([said[:, None], wrong], axis=1),
    }
    labels = np.repeat([[1, 0, 0, 0]], 6, axis=0)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(3)


def moved(network, before):
    after = network.get_weights()
    return any((a != b).any() for a, b in zip(after, before))


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
    networks = {"generator": Answerer(), "discriminator": Judge()}
    options = {"max_length": LENGTH, "seed": 0}
    if method in ("dialog_mle", "n_pair"):
        model = getattr(methods, method)(networks[learning[0]])
    else:
        if method == "gan2":
            options["candidates"] = "candidates"
        model = getattr(methods, method)(*networks.values(), **options)
    optimizers = {name: keras.optimizers.Adam(0.01) for name in learning}
    model.compile(
        optimizers if len(learning) > 1 else optimizers[learning[0]],
        run_eagerly=True,
    )
    before = {name: n.get_weights() for name, n in networks.items()}
    history = model.fit(dataset(), epochs=1, shuffle=False, verbose=0).history
    assert all(np.isfinite(values).all() for values in history.values())
    for name, network in networks.items():
        assert moved(network, before[name]) == (name in learning)


def test_what_lacks_a_method_is_refused_with_its_name():
    speaker, judge = Answerer(), Judge()
    for method in (methods.gdis, methods.gan1, methods.gan2):
        with pytest.raises(
            TypeError, match="`generator` must satisfy .*Speaker"
        ):
            method(judge, judge)
        with pytest.raises(TypeError, match="`discriminator`.*`encode"):
            method(speaker, speaker)
        with pytest.raises(ValueError, match="`temperature` must"):
            method(speaker, judge, temperature=0.0)
        with pytest.raises(ValueError, match="`max_length` must"):
            method(speaker, judge, max_length=0)
        with pytest.raises(ValueError, match="`normalize` must"):
            method(speaker, judge, normalize="word")
    with pytest.raises(TypeError, match="`generator` must satisfy .*Speaker"):
        methods.dialog_mle(judge)
    with pytest.raises(TypeError, match="`discriminator`.*keras.Model"):
        methods.n_pair(lambda inputs: inputs)


def test_gan2_asks_for_scores_and_gdis_does_not():
    class Embedding(keras.Model):
        encode, embed = Judge.encode, Judge.embed

        def __init__(self):
            super().__init__()
            self.question, self.answer = Bag(), Bag()
            self.built = True

    methods.gdis(Answerer(), Embedding())
    with pytest.raises(TypeError, match="the method `score"):
        methods.gan2(Answerer(), Embedding())


def test_networks_without_weights_are_refused():
    made = dialogs.discriminator()
    empty = type(made).from_config(made.get_config())
    for method in (methods.gdis, methods.gan1, methods.gan2):
        with pytest.raises(ValueError, match="`discriminator` must be built"):
            method(dialogs.generator(), empty)
    with pytest.raises(ValueError, match="`discriminator` must be built"):
        methods.n_pair(empty)
    speaker = dialogs.generator()
    empty = type(speaker).from_config(speaker.get_config())
    with pytest.raises(ValueError, match="must be built"):
        methods.dialog_mle(empty)


def test_n_pair_refuses_to_be_saved(tmp_path):
    model = methods.n_pair(Judge())
    with pytest.raises(NotImplementedError, match="discriminator.save"):
        model.save(tmp_path / "training.keras")
    assert not list(tmp_path.iterdir())
