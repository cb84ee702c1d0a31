import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from reproduce.visdial import ENCODERS
from tests import dialogs
from tfcap._ops import token_log_probs
from tfcap.decoding import Sample
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import Categorical
from tfcap.layers import HCIAEEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.losses import SequenceCrossentropy
from tfcap.models import DialogGenerator

ROWS = np.arange(8)
BATCH = dialogs.batches().inputs(ROWS)
#: The last round of every fourth dialog is absent.
ABSENT = ~BATCH["question"].any(-1)


@pytest.fixture(scope="module", params=list(ENCODERS))
def generator(request):
    keras.utils.set_random_seed(0)
    return dialogs.generator(request.param)


def numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def changed(batch, **values):
    return {**batch, **values}


def test_there_are_absent_rounds_in_this_test():
    assert ABSENT.sum() == 2


def test_teacher_forced_logits_agree_with_scored_words(generator):
    tokens = generator.references(BATCH)
    state = generator.begin(BATCH)
    whole = numpy(generator.log_probs(state, tokens))
    steps = numpy(stepwise_log_probs(generator, state, tokens))
    np.testing.assert_allclose(whole, steps, atol=1e-5)
    answer = BATCH["answer"]
    called = numpy(token_log_probs(generator(BATCH), answer)) * (answer != 0)
    np.testing.assert_allclose(called, whole.reshape(called.shape), atol=1e-5)


def test_several_samples_are_scored_as_one_by_one(generator):
    state = generator.begin(BATCH)
    said = Sample(Categorical(seed=0), num_samples=3, max_length=4).decode(
        generator, state
    )
    scores = numpy(generator.log_probs(state, said.tokens))
    np.testing.assert_allclose(scores, said.log_probs, atol=1e-5)
    alone = numpy(generator.log_probs(state, said.tokens[:, 1:2]))
    np.testing.assert_allclose(scores[:, 1:2], alone, atol=1e-5)


def test_padding_and_start_are_never_said(generator):
    p = ops.softmax(generator(BATCH), axis=-1)
    assert (numpy(p)[..., :2] == 0).all()
    said = Sample(Categorical(seed=0), num_samples=20, max_length=3).decode(
        generator, generator.begin(BATCH)
    )
    words = numpy(said.tokens)[numpy(said.mask) > 0]
    assert words.min() >= 2


def test_padding_by_another_id_is_refused():
    """Encoders of dialogs leave out words of id 0."""
    encoder = LateFusionEncoder(4, output_units=3, return_state=True)
    with pytest.raises(ValueError, match="`pad` must be 0.*pad=9"):
        DialogGenerator(20, encoder, embedding_units=3, pad=9)


def test_later_rounds_do_not_change_earlier_ones(generator):
    before = numpy(generator(BATCH))
    for key in ("question", "history", "answer"):
        words = BATCH[key].copy()
        words[:, 2] = np.roll(words[:, 2], 1, axis=0)
        assert (words != BATCH[key]).any()
        after = numpy(generator(changed(BATCH, **{key: words})))
        np.testing.assert_allclose(before[:, :2], after[:, :2], atol=1e-6)
        assert (before[:, 2] != after[:, 2]).any()


def test_a_longer_padding_changes_nothing(generator):
    def pad(key, more=3):
        return np.pad(BATCH[key], ((0, 0), (0, 0), (0, more)))

    keys = ("question", "history", "answer")
    padded = changed(BATCH, **{key: pad(key) for key in keys})
    length = BATCH["answer"].shape[-1]
    np.testing.assert_allclose(
        numpy(generator(padded))[:, :, :length],
        numpy(generator(BATCH)),
        atol=1e-6,
    )
    state = generator.begin(BATCH)
    tokens = generator.references(padded)
    scores = numpy(generator.log_probs(state, tokens))
    assert (scores[numpy(tokens) == 0] == 0).all()


def test_a_dialog_alone_gives_what_it_gives_in_a_batch(generator):
    one = {key: value[2:3] for key, value in BATCH.items()}
    np.testing.assert_allclose(
        numpy(generator(one)), numpy(generator(BATCH))[2:3], atol=1e-5
    )


def test_absent_rounds_are_finite_and_change_no_other(generator):
    before = numpy(generator(BATCH))
    assert np.isfinite(before).all()
    # The absent rounds are the last ones: cut them off.
    short = {
        key: value if key == "image" else value[:, :2]
        for key, value in BATCH.items()
    }
    np.testing.assert_allclose(
        before[:, :2], numpy(generator(short)), atol=1e-5
    )
    with tf.GradientTape() as tape:
        loss = SequenceCrossentropy()(BATCH["answer"], generator(BATCH))
    for gradient in tape.gradient(loss, generator.trainable_weights):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_training_by_compile_and_fit_lowers_the_loss():
    keras.utils.set_random_seed(0)
    generator = dialogs.generator()
    generator.compile("adam", loss=SequenceCrossentropy(), run_eagerly=True)
    generator.optimizer.learning_rate = 0.03
    history = generator.fit(BATCH, BATCH["answer"], epochs=12, verbose=0)
    losses = history.history["loss"]
    assert losses[-1] < 0.7 * losses[0]
    expected = np.nanmean(
        np.where(ABSENT, np.nan, _nll(generator, BATCH).sum(-1))
    )
    found = generator.evaluate(BATCH, BATCH["answer"], verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def _nll(generator, batch):
    scores = numpy(token_log_probs(generator(batch), batch["answer"]))
    return -scores * (batch["answer"] != 0)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_trains(policy):
    keras.config.set_dtype_policy(policy)
    try:
        settings = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)
        generator = dialogs.generator(settings=settings)
    finally:
        keras.config.set_dtype_policy("float32")
    assert generator(BATCH).dtype == "float32"
    loss = SequenceCrossentropy()
    generator.compile("adam", loss=loss, run_eagerly=True)
    before = generator.get_weights()
    # The first steps in float16 may find that the loss is scaled too high.
    for _ in range(4):
        assert np.isfinite(generator.train_on_batch(BATCH, BATCH["answer"]))
    assert any((a != b).any() for a, b in zip(before, generator.get_weights()))


def test_dropout_is_for_training_only():
    settings = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)
    generator = dialogs.generator(settings=settings)
    one, two = (numpy(generator(BATCH)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert (numpy(generator(BATCH, training=True)) != one).any()


def test_the_scale_sharpens_what_is_said():
    sharp, plain = (
        dialogs.generator(
            settings=dataclasses.replace(dialogs.SETTINGS, logit_scale=s)
        )
        for s in (3.0, 1.0)
    )
    plain.set_weights(sharp.get_weights())
    np.testing.assert_allclose(
        numpy(sharp(BATCH))[..., 2:],
        3 * numpy(plain(BATCH))[..., 2:],
        rtol=1e-5,
        atol=1e-6,
    )


def test_an_unfit_encoder_is_refused():
    with pytest.raises(ValueError, match="`return_state=True`.*Received"):
        DialogGenerator(9, HCIAEEncoder(4))
    encoder = LateFusionEncoder(4, output_units=5, return_state=True)
    with pytest.raises(ValueError, match="=5 and embedding_units=6. Make"):
        DialogGenerator(9, encoder, embedding_units=6)


@pytest.mark.parametrize("key", ["question", "history", "answer", "image"])
@pytest.mark.parametrize("built", [True, False])
def test_an_absent_input_is_named(key, built):
    encoder = LateFusionEncoder(4, output_units=5, return_state=True)
    generator = DialogGenerator(40, encoder, embedding_units=5)
    if built:
        generator(BATCH)
    lacking = {k: v for k, v in BATCH.items() if k != key}
    with pytest.raises(ValueError, match=rf"`inputs` must hold '{key}'"):
        generator(lacking)


def test_an_input_of_another_rank_is_named():
    generator = dialogs.generator()
    flat = changed(BATCH, question=BATCH["question"][:, 0])
    with pytest.raises(ValueError, match=r"`question`.*\(B, R, T\).*\(8, "):
        generator(flat)
    flat = changed(BATCH, image=BATCH["image"][:, 0])
    with pytest.raises(ValueError, match=r"`image`.*\(B, P, D\).*\(8, 3\)"):
        generator(flat)


def test_image_positions_under_the_mask_do_not_matter(generator):
    image = BATCH["image"]
    mask = np.ones(image.shape[:2])
    padded = changed(
        BATCH,
        image=np.concatenate([image, image + 50], axis=1),
        image_mask=np.concatenate([mask, 0 * mask], axis=1),
    )
    np.testing.assert_allclose(
        numpy(generator(padded)), numpy(generator(BATCH)), atol=1e-6
    )


def test_ragged_answers_are_read_as_padded_ones():
    generator = dialogs.generator("lf")
    keys = ("question", "history", "answer")
    ragged = changed(
        BATCH,
        **{
            key: tf.RaggedTensor.from_tensor(
                BATCH[key], padding=0, ragged_rank=2
            )
            for key in keys
        },
    )
    found = numpy(generator(ragged))
    wanted = numpy(generator(BATCH))[:, :, : found.shape[2]]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
