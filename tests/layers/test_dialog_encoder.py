"""Contract of every dialog encoder."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import testing
from tfcap.layers import AnswerEncoder
from tfcap.layers import HCIAEEncoder
from tfcap.layers import HREAEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.layers import MemoryNetworkEncoder
from tfcap.layers import SoftEmbedding

RNG = np.random.default_rng(0)
B, R, TQ, TH, E, P, D = 2, 4, 3, 5, 6, 7, 8
QUESTION = RNG.normal(size=(B, R, TQ, E)).astype("float32")
HISTORY = RNG.normal(size=(B, R, TH, E)).astype("float32")
IMAGE = RNG.normal(size=(B, P, D)).astype("float32")
INPUTS = {"question": QUESTION, "history": HISTORY, "image": IMAGE}
ENCODERS = [
    HCIAEEncoder,
    HREAEncoder,
    LateFusionEncoder,
    MemoryNetworkEncoder,
]
ATTENTIVE = [x for x in ENCODERS if x is not LateFusionEncoder]


@pytest.fixture(params=ENCODERS)
def encoder(request):
    return request.param


def ids(shape):
    """Words with padding at their end, and the same at their beginning."""
    words = RNG.integers(1, 20, size=shape)
    length = RNG.integers(1, shape[-1] + 1, size=(*shape[:-1], 1))
    right = np.where(np.arange(shape[-1]) < length, words, 0)
    shift = np.arange(shape[-1]) - (shape[-1] - length)
    moved = np.take_along_axis(right, np.maximum(shift, 0), -1)
    return right, np.where(shift >= 0, moved, 0)


def test_no_round_sees_a_later_one(encoder):
    encode = encoder(units=5)
    before = encode(**INPUTS).numpy()
    for later in range(1, R):
        question, history = QUESTION.copy(), HISTORY.copy()
        question[:, later:] += 1
        history[:, later:] -= 1
        after = encode(question, history, IMAGE).numpy()
        np.testing.assert_array_equal(before[:, :later], after[:, :later])
        assert (np.abs(before - after)[:, later:].max((0, 2)) > 1e-4).all()


def test_every_round_sees_its_history_and_its_image(encoder):
    encode = encoder(units=5)
    before = encode(**INPUTS).numpy()
    history, image = HISTORY.copy(), IMAGE.copy()
    history[:, 0] += 1
    image += 1
    for changed in ((history, IMAGE), (HISTORY, image)):
        after = encode(QUESTION, *changed)
        assert (np.abs(before - after).max((0, 2)) > 1e-6).all()


def test_nothing_under_the_masks_matters(encoder):
    question = np.arange(TQ) < RNG.integers(1, TQ + 1, size=(B, R, 1))
    history = np.arange(TH) < RNG.integers(1, TH + 1, size=(B, R, 1))
    positions = np.arange(P) < RNG.integers(1, P + 1, size=(B, 1))
    testing.check_mask(
        lambda: encoder(units=5, return_state=True),
        INPUTS,
        {
            "question": ("question_mask", question),
            "history": ("history_mask", history),
            "image": ("image_mask", positions),
        },
    )


def test_masks_of_an_embedding_arrive_wherever_padding_is(encoder):
    embed, encode = SoftEmbedding(20, E), encoder(units=5)
    (question, question_left), (history, history_left) = (
        ids((B, R, steps)) for steps in (TQ, TH)
    )
    wanted = encode(
        embed(question).numpy(),
        embed(history).numpy(),
        IMAGE,
        question_mask=question != 0,
        history_mask=history != 0,
    )
    for words in ((question, history), (question_left, history_left)):
        found = encode(*map(embed, words), IMAGE)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_an_absent_round_is_finite_and_harms_no_other(encoder):
    embed, encode = SoftEmbedding(20, E), encoder(units=5)
    question, history = ids((B, R, TQ))[0], ids((B, R, TH))[0]
    whole = encode(embed(question), embed(history), IMAGE).numpy()
    question[:, -1], history[:, -1] = 0, 0
    less = encode(embed(question), embed(history), IMAGE).numpy()
    assert np.isfinite(less).all()
    np.testing.assert_allclose(whole[:, :-1], less[:, :-1], atol=1e-6)


@pytest.mark.parametrize("empty", range(R))
def test_a_history_row_without_words_is_as_if_it_were_not_there(encoder, empty):
    encode = encoder(units=5)
    history = np.delete(HISTORY, empty, axis=1)
    mask = np.ones((B, R, TH), bool)
    mask[:, empty] = False
    found = encode(QUESTION[:, 0], HISTORY, IMAGE, history_mask=mask)
    np.testing.assert_allclose(
        found, encode(QUESTION[:, 0], history, IMAGE), atol=1e-6
    )


@pytest.mark.parametrize("encoder", ATTENTIVE, indirect=True)
def test_no_round_looks_at_a_history_row_without_words(encoder):
    mask = np.ones((B, R, TH), bool)
    mask[0, 1] = mask[1, 0] = False
    _, attention = encoder(units=5, return_attention=True)(
        **INPUTS, history_mask=mask
    )
    rows = attention["history"].numpy()
    expected = np.tril(np.ones((B, R, R))) * mask.any(-1)[:, None]
    np.testing.assert_array_equal(rows > 0, expected > 0)
    # The first round of the second dialog has nothing to look at.
    np.testing.assert_allclose(
        rows.sum(-1), [[1, 1, 1, 1], [0, 1, 1, 1]], atol=1e-5
    )


@pytest.mark.parametrize(
    "encoder", [x for x in ENCODERS if x is not HREAEncoder], indirect=True
)
def test_a_single_question_is_the_last_round_of_its_dialog(encoder):
    encode = encoder(units=5, output_units=3)
    whole = encode(**INPUTS).numpy()
    for r in range(R):
        single = encode(QUESTION[:, r], HISTORY[:, : r + 1], IMAGE)
        assert single.shape == (B, 3)
        np.testing.assert_allclose(single, whole[:, r], atol=1e-6)


def test_the_state_is_that_of_the_questions_lstm(encoder):
    encode = encoder(units=5, output_units=3, return_state=True)
    encoding, state = encode(QUESTION[:, 0], HISTORY, IMAGE)
    assert [x.shape for x in (encoding, *state)] == [(B, 3), (B, 5), (B, 5)]
    _, state = encode(**INPUTS)
    assert [x.shape for x in state] == [(B, R, 5)] * 2
    if encoder is not HREAEncoder:
        _, wanted = encode.read_question(QUESTION)
        for one, other in zip(state, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_rounds_and_batch_may_be_dynamic(encoder):
    encode = encoder(units=5)
    specs = [
        tf.TensorSpec((None, None, TQ, E)),
        tf.TensorSpec((None, None, TH, E)),
        tf.TensorSpec((None, P, D)),
    ]
    graph = tf.function(
        lambda *x: encode(*x), input_signature=specs, autograph=False
    )
    np.testing.assert_allclose(
        graph(QUESTION, HISTORY, IMAGE), encode(**INPUTS), atol=1e-6
    )


def test_masks_arrive_in_a_functional_model_that_trains():
    embed = SoftEmbedding(20, E)
    question, history = (keras.Input((R, t), dtype="int32") for t in (TQ, TH))
    image = keras.Input((P, D))
    encoding = HCIAEEncoder(units=5, dropout=0.5, seed=0)(
        embed(question), embed(history), image
    )
    model = keras.Model([question, history, image], encoding)
    model.compile("adam", "mse", run_eagerly=True)
    inputs = [ids((B, R, TQ))[0], ids((B, R, TH))[0], IMAGE]
    history = model.fit(inputs, np.zeros((B, R, 5)), epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.parametrize(
    "history, image, told",
    [
        (HISTORY[:, :2], IMAGE, "one row for each round"),
        (HISTORY, IMAGE[:, 0], r"`image` must have shape \(B, P, D"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(encoder, history, image, told):
    with pytest.raises(ValueError, match=told):
        encoder(units=5)(QUESTION, history, image)


@pytest.mark.parametrize("kind", [*ENCODERS, AnswerEncoder])
def test_dropout_of_one_is_refused(kind):
    with pytest.raises(ValueError, match="dropout=1.0"):
        kind(units=5, dropout=1.0)


def test_masked_positions_are_as_if_they_were_not_there(encoder):
    encode = encoder(units=5)
    padded = np.concatenate([IMAGE, 50 + IMAGE], axis=1)
    mask = np.repeat([[1] * P + [0] * P], B, axis=0)
    np.testing.assert_allclose(
        encode(QUESTION, HISTORY, padded, image_mask=mask),
        encode(**INPUTS),
        atol=1e-6,
    )
