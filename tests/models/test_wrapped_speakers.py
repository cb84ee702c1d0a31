"""Captioners in the forms in which others publish them, as speakers."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from keras import ops

from tests.testing import same
from tfcap import decoding
from tfcap import objectives
from tfcap import rewards
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.losses import SequenceCrossentropy
from tfcap.models import RetrievalListener
from tfcap.models import StepwiseSpeaker
from tfcap.models import TeacherForcedSpeaker
from tfcap.models import without_dropout
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.training import JointTraining

WORDS = [[[5, 6, 2], [7, 2]], [[8, 5, 2], [6, 2]]]
CAPTION = tf.ragged.constant(WORDS, dtype="int32").to_tensor().numpy()
VOCABULARY = Vocabulary(list("abcde"))
V, D = VOCABULARY.size, 4
RNG = np.random.default_rng(0)
BATCH = {
    "image": RNG.normal(size=(2, 3, D)).astype("float32"),
    "question": np.array([[4, 5], [6, 0]], "int32"),
    "caption": CAPTION,
    "references": CAPTION,
}


@keras.saving.register_keras_serializable("tests")
class Places(layers.Layer):
    """Embeds words and their positions."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.words, self.places = layers.Embedding(V, D), layers.Embedding(9, D)

    def build(self, shape):
        self.words.build(shape)
        self.places.build(shape[-1:])

    def call(self, words):
        places = ops.arange(ops.shape(words)[-1])
        return self.words(words) + self.places(places)


class Decoder(layers.Layer):
    """keras.io's captioner: a block that ends with the words' softmax."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embed, self.norm = Places(), layers.LayerNormalization()
        self.own = layers.MultiHeadAttention(1, D)
        self.cross = layers.MultiHeadAttention(1, D)
        self.out = layers.Dense(V, activation="softmax")

    def call(self, inputs, encoder_outputs, training, mask=None):
        x = self.embed(inputs)
        x = self.norm(x + self.own(x, x, use_causal_mask=True))
        return self.out(x + self.cross(x, encoder_outputs, training=training))


class ImageCaptioningModel(keras.Model):
    """Parts and a train step, and no `call()`."""

    def __init__(self, cnn_model, encoder, decoder):
        super().__init__()
        self.cnn_model, self.encoder = cnn_model, encoder
        self.decoder = decoder


class Captioner(keras.Model):
    """TensorFlow's tutorial: reads images and words."""

    def __init__(self):
        super().__init__()
        self.embed, self.cross = Places(), layers.MultiHeadAttention(1, D)
        self.gru = layers.GRU(D, return_sequences=True)
        self.output_layer = layers.Dense(V)

    def call(self, inputs):
        image, words = inputs
        x = self.gru(self.embed(words))
        return self.output_layer(x + self.cross(x, image))


def image_captioning():
    model = ImageCaptioningModel(
        layers.Dense(D), layers.Dense(D, "relu"), Decoder()
    )
    # As a user writes it:
    return TeacherForcedSpeaker(
        model.decoder,
        inputs=["caption", "encoded"],
        positional=True,
        encoder=keras.Sequential([model.cnn_model, model.encoder]),
        from_logits=False,
        vocabulary=VOCABULARY,
    )


def visual_attention():
    return TeacherForcedSpeaker(
        Captioner(),
        inputs=("image", "caption"),
        from_logits=True,
        vocabulary=VOCABULARY,
    )


def miniature_gpt():
    words = keras.Input((5,), dtype="int32")
    x = Places()(words)
    x = x + layers.MultiHeadAttention(1, D)(x, x, use_causal_mask=True)
    gpt = keras.Model(words, [layers.Dense(V)(x), x])
    # As a user writes it:
    return TeacherForcedSpeaker(
        keras.Model(gpt.inputs, gpt.outputs[0]),
        inputs="caption",
        length=5,
        from_logits=True,
        vocabulary=VOCABULARY,
    )


def seq2seq_transformer():
    read = keras.Input((None,), dtype="int32", name="encoder_inputs")
    said = keras.Input((None,), dtype="int32", name="decoder_inputs")
    y = layers.Dense(D)(Places()(read))
    x = Places()(said)
    x = x + layers.MultiHeadAttention(1, D)(x, x, use_causal_mask=True)
    x = x + layers.MultiHeadAttention(1, D)(x, y)
    out = layers.Dense(V, activation="softmax")(x)
    model = keras.Model({"encoder_inputs": read, "decoder_inputs": said}, out)
    # As a user writes it:
    return TeacherForcedSpeaker(
        model,
        inputs={"encoder_inputs": "question", "decoder_inputs": "caption"},
        from_logits=False,
        vocabulary=VOCABULARY,
    )


@keras.saving.register_keras_serializable("tests")
class Cell(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.words, self.gru = layers.Embedding(V, D), layers.GRUCell(D)
        self.head = layers.Dense(V)

    def build(self, words_shape, state_shape):
        self.words.build(words_shape)
        self.gru.build((None, D))
        self.head.build((None, D))

    def call(self, words, state):
        hidden, state = self.gru(self.words(words), state)
        return self.head(hidden), state


def cell():
    encoder = keras.Sequential([layers.GlobalAveragePooling1D()])
    return StepwiseSpeaker(
        Cell(), encoder, from_logits=True, vocabulary=VOCABULARY
    )


@pytest.fixture(scope="module")
def listener():
    keras.utils.set_random_seed(0)
    network = RetrievalListener(V, units=D, embedding_units=D)
    network(BATCH)
    return network


MADE = [
    image_captioning,
    visual_attention,
    miniature_gpt,
    seq2seq_transformer,
    cell,
]


@pytest.mark.parametrize("make", MADE)
def test_trains_by_all_methods(make, listener):
    keras.utils.set_random_seed(0)
    speaker = make()
    logits = speaker(BATCH)
    assert isinstance(speaker, decoding.Speaker)
    state = speaker.begin(BATCH)
    scores = speaker.log_probs(state, CAPTION)
    # One pass, steps, and steps of a state that keeps its shapes.
    steps = decoding.stepwise_log_probs(speaker, state, CAPTION)
    np.testing.assert_allclose(scores, steps, atol=1e-5)
    if hasattr(speaker, "fixed_state"):
        fixed = speaker.fixed_state(state, 3)
        steps = decoding.stepwise_log_probs(speaker, fixed, CAPTION)
        np.testing.assert_allclose(scores, steps, atol=1e-5)
    loss = SequenceCrossentropy(reduction=None)(CAPTION, logits)
    np.testing.assert_allclose(loss, -ops.sum(scores, -1), atol=1e-5)
    cider = rewards.CIDErD(
        DocumentFrequencies.from_references(WORDS, VOCABULARY),
        jit_compile=False,
    )
    drawn = decoding.Sample(GumbelSoftmaxST(seed=2), max_length=3)
    partial = decoding.Sample(PartialSamplingST(0.5, seed=1), max_length=3)
    judged = rewards.Retrieval(listener)
    objective = (
        objectives.ScoreFunction(cider, drawn)
        + objectives.Pathwise(judged, drawn)
        + objectives.Pathwise(judged, partial)
    )
    model = JointTraining(speaker, objective)
    model.compile("sgd", run_eagerly=True)
    before = [np.array(v) for v in speaker.trainable_variables]
    logs = model.train_on_batch(BATCH, return_dict=True)
    assert all(map(np.isfinite, logs.values()))
    after = speaker.trainable_variables
    moved = [np.any(a != b) for a, b in zip(before, after)]
    # Of an attention's keys, a bias has no gradient.
    still = [v.path for v, m in zip(after, moved) if not m]
    assert all("key" in p or "query" in p for p in still), still


class Own(StepwiseSpeaker):
    """Reads its config as other models do, as arguments alone."""

    @classmethod
    def from_config(cls, config):
        parts = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in (cls.model_argument, "encoder")
        }
        return cls(**{**config, **parts})


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_subclass_may_read_its_config_by_itself(rate):
    config = {**cell().get_config(), "condition_dropout": rate}
    again = Own.from_config(Own.from_config(config).get_config())
    assert again.condition_dropout == rate


@pytest.mark.parametrize("make", [seq2seq_transformer, cell])
def test_what_drops_nothing_any_more_is_saved_so_and_still_guided(
    make, tmp_path
):
    speaker = make()
    config = {**speaker.get_config(), "condition_dropout": 0.999}
    speaker = without_dropout(type(speaker).from_config(config))
    logits = speaker(BATCH)
    speaker.save(tmp_path / "speaker.keras")
    again = keras.saving.load_model(tmp_path / "speaker.keras")
    assert not again.begin_uses_training
    assert again.eos == speaker.eos and again.pad == 0
    np.testing.assert_array_equal(again(BATCH, training=True), logits)
    states = speaker.begin(BATCH), again.begin(BATCH, training=True)
    same(*states)
    guided = decoding.Greedy(max_length=3, guidance=2.0)
    pairs = zip((speaker, again), states)
    same(*(guided.decode(x, state).tokens for x, state in pairs))


def test_shifted_models_and_captions_with_a_start():
    class Shifted(Captioner):
        def call(self, inputs):
            image, words = inputs
            start = ops.full_like(words[:, :1], VOCABULARY.bos)
            words = ops.concatenate([start, words[:, :-1]], axis=1)
            return super().call((image, words))

    speaker, shifted = visual_attention(), Shifted()
    expected = speaker(BATCH)
    shifted((BATCH["image"], CAPTION[:, 0]))
    shifted.set_weights(speaker.model.get_weights())
    other = TeacherForcedSpeaker(
        shifted,
        inputs=("image", "caption"),
        from_logits=True,
        vocabulary=VOCABULARY,
        shifts=True,
        has_start=True,
    )
    start = np.full_like(CAPTION[:, :, :1], VOCABULARY.bos)
    begun = {**BATCH, "caption": np.concatenate([start, CAPTION], axis=2)}
    np.testing.assert_allclose(other(begun), expected, atol=1e-6)
    greedy = decoding.Greedy(max_length=3)
    said = [greedy.decode(x, x.begin(BATCH)).tokens for x in (speaker, other)]
    np.testing.assert_array_equal(*said)


def of_words(**options):
    words = keras.Input((None,), dtype="int32")
    x = layers.GRU(D, return_sequences=True)(Places()(words))
    return TeacherForcedSpeaker(
        keras.Model(words, layers.Dense(V)(x)),
        inputs="caption",
        from_logits=True,
        vocabulary_size=V,
        bos=1,
        **options,
    )


def test_ends_may_be_a_list(tmp_path):
    speaker = of_words(eos=[2, 3])
    assert speaker.eos == (2, 3) and speaker.suppressed_ids == (0, 1)
    wanted = speaker(BATCH)
    speaker.save(tmp_path / "speaker.keras")
    again = keras.saving.load_model(tmp_path / "speaker.keras")
    np.testing.assert_array_equal(again(BATCH), wanted)
    assert again.eos == (2, 3)


def test_ragged_ids_are_filled_with_the_speakers_padding():
    speaker = of_words(eos=2, pad=8)
    ragged = {"caption": tf.ragged.constant([[[5, 6, 2]], [[7]]], tf.int32)}
    full = {"caption": ragged["caption"].to_tensor(8)}
    np.testing.assert_array_equal(speaker.references(ragged), full["caption"])
    losses = [
        objectives.TeacherForcing().loss(objectives.Episode(speaker, x))[0]
        for x in (ragged, full)
    ]
    assert float(losses[0]) == float(losses[1])
    bleu, scores = rewards.BLEU(2, jit_compile=False), []
    for inputs in (ragged, full):
        inputs = {**inputs, "references": inputs["caption"]}
        episode = objectives.Episode(speaker, inputs)
        scores.append(bleu(episode.references, episode))
    np.testing.assert_array_equal(*scores)
    # So are those that the model or the encoder read beside.
    asked = tf.ragged.constant([[5], [6, 7]], tf.int32)
    read = speaker.entries({"question": asked}, ["question"])
    np.testing.assert_array_equal(read[0], [[5, 8], [6, 7]])


WORD_IDS = keras.Input((None,), dtype="int32")
LINEAR = keras.Model(WORD_IDS, layers.Dense(V)(Places()(WORD_IDS)))
SOFTMAX = keras.Sequential([LINEAR, layers.Softmax()])


@pytest.mark.parametrize(
    "model, told, options",
    [
        (LINEAR, "from_logits=True.", {"from_logits": False}),
        (SOFTMAX, "from_logits=False.", {}),
        (
            ImageCaptioningModel(LINEAR, LINEAR, LINEAR),
            "must have a method `call",
            {},
        ),
        (
            LINEAR,
            "`bos` must be given",
            {"vocabulary": None, "vocabulary_size": V},
        ),
        (LINEAR, "`inputs` must hold 'caption'", {"inputs": "image"}),
    ],
)
def test_models_that_are_no_speakers_are_refused(model, told, options):
    plain = dict(inputs="caption", from_logits=True, vocabulary=VOCABULARY)
    with pytest.raises((TypeError, ValueError), match=told):
        TeacherForcedSpeaker(model, **{**plain, **options})


def test_what_a_model_cannot_do_is_refused():
    gpt, longer = miniature_gpt(), decoding.Greedy(max_length=6)
    with pytest.raises(ValueError, match="`length` of the speaker.*smaller"):
        longer.decode(gpt, gpt.begin(BATCH))
    # What a model of one's own returns is known by its values.
    hidden = keras.layers.Lambda(lambda x: ops.one_hot(x, V) * 3.0 - 1.0)
    speaker = TeacherForcedSpeaker(
        hidden, inputs="caption", from_logits=False, vocabulary=VOCABULARY
    )
    with pytest.raises(ValueError, match="outputs are not prob"):
        speaker(BATCH)
    speaker = cell()
    speaker(BATCH)
    relaxed = decoding.Sample(GumbelSoftmaxST(), 1, 2, feedback="relaxed")
    with pytest.raises(ValueError, match='`feedback="index"`'):
        relaxed.decode(speaker, speaker.begin(BATCH))
    with pytest.raises(ValueError, match="Use a baseline of rewards"):
        visual_attention().state_vector({})
