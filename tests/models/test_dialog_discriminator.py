import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from reproduce.visdial import ENCODERS
from tests import dialogs
from tfcap._ops import sequence_mask
from tfcap.layers import AnswerEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.losses import EmbeddingNorm
from tfcap.losses import NPairLoss
from tfcap.models import DialogDiscriminator

BATCHES = dialogs.batches(8, negatives=3, in_batch_negatives=2, shuffle=False)
BATCH, LABELS = BATCHES.batch(0)
OPTIONS = BATCH["options"]
VOCABULARY = BATCHES.dialogs.vocabulary.size


@pytest.fixture(scope="module", params=list(ENCODERS))
def discriminator(request):
    keras.utils.set_random_seed(0)
    return dialogs.discriminator(request.param)


def numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def small(**arguments):
    return DialogDiscriminator(
        VOCABULARY,
        LateFusionEncoder(4, output_units=5),
        AnswerEncoder(4, output_units=5),
        **{"embedding_units": 5, **arguments},
    )


def test_scores_are_those_of_every_answer_read_alone(discriminator):
    scores = numpy(discriminator(BATCH))
    anchor = numpy(discriminator.encode(BATCH)).reshape(8, 3, -1)
    for place in np.ndindex(2, 3, OPTIONS.shape[2]):
        tokens = OPTIONS[place][None, None]
        found = discriminator.embed(tokens, sequence_mask(tokens, 2))
        expected = anchor[place[:2]] @ numpy(found)[0, 0]
        np.testing.assert_allclose(scores[place], expected, atol=1e-5)


def test_words_and_tokens_are_read_alike(discriminator):
    tokens = BATCH["answer"].reshape(-1, 1, BATCH["answer"].shape[-1])
    mask = numpy(sequence_mask(tokens, 2))
    words = np.eye(VOCABULARY, dtype="float32")[tokens] * mask[..., None]
    np.testing.assert_allclose(
        numpy(discriminator.embed(tokens, mask)),
        numpy(discriminator.embed(words, mask)),
        atol=1e-6,
    )
    # Nothing under the mask changes anything.
    noise = np.where(mask[..., None], words, 7.0)
    np.testing.assert_allclose(
        numpy(discriminator.embed(tokens, mask)),
        numpy(discriminator.embed(noise, mask)),
        atol=1e-6,
    )


def test_gradients_pass_through_words(discriminator):
    words = tf.constant(np.eye(VOCABULARY, dtype="float32")[[[5, 6, 2]]])
    with tf.GradientTape() as tape:
        tape.watch(words)
        found = discriminator.embed(words, np.array([[1, 1, 0]]))
    gradient = numpy(tape.gradient(found, words))
    assert np.abs(gradient[0, :2]).min(-1).max() > 0
    assert (gradient[0, 2] == 0).all()


def test_later_rounds_do_not_change_earlier_ones(discriminator):
    before = numpy(discriminator(BATCH))
    for key in ("question", "history", "options"):
        words = BATCH[key].copy()
        words[:, 2] = np.roll(words[:, 2], 1, axis=0)
        after = numpy(discriminator({**BATCH, key: words}))
        np.testing.assert_allclose(before[:, :2], after[:, :2], atol=1e-6)
        assert (before[:, 2] != after[:, 2]).any()


def test_absent_rounds_and_options_change_no_other(discriminator):
    before = numpy(discriminator(BATCH))
    assert np.isfinite(before).all()
    assert (LABELS[::4, -1] == -1).all()
    padded = np.pad(OPTIONS, ((0, 0), (0, 0), (0, 1), (0, 2)))
    after = numpy(discriminator({**BATCH, "options": padded}))
    np.testing.assert_allclose(before, after[:, :, :-1], atol=1e-5)
    with tf.GradientTape() as tape:
        loss = NPairLoss()(LABELS, discriminator(BATCH, training=True))
    for gradient in tape.gradient(loss, discriminator.trainable_weights):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


@pytest.mark.parametrize("convention", ["squared", "frobenius"])
def test_the_norm_penalty_by_a_loop(convention):
    network = small(norm_regularizer=EmbeddingNorm(0.7, convention))
    network(BATCH)
    assert network.losses == []
    network(BATCH, training=True)
    (found,) = network.losses
    anchor = numpy(network.encode(BATCH))
    there = OPTIONS.any(axis=-1).reshape(len(anchor), -1)
    assert not there.all()
    anchor = anchor[there.any(axis=-1)]
    rows = OPTIONS.reshape(-1, 1, OPTIONS.shape[-1])
    answers = numpy(network.embed(rows, sequence_mask(rows, 2)))[:, 0]
    answers = answers[there.ravel()]
    expected = 0.0
    for embeddings in (anchor, answers):
        squares = sum(float(row @ row) for row in embeddings)
        if convention == "squared":
            expected += 0.7 * squares / len(embeddings)
        else:
            expected += 0.7 * np.sqrt(squares) / len(anchor)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def with_absent_entries():
    """The batch with dialogs, rounds, options and words that are absent.

    Dialogs and their images are not zeros: nobody tells that they are absent
    but that nothing is asked.
    """
    inputs = {
        key: np.pad(BATCH[key], [(0, 2), (0, 1), (0, 2)])
        for key in ("question", "history")
    }
    inputs["image"] = np.pad(BATCH["image"], [(0, 2), (0, 0), (0, 0)])
    inputs["image"][-2:] = 7.0
    inputs["options"] = np.pad(OPTIONS, [(0, 2), (0, 1), (0, 1), (0, 2)])
    labels = np.pad(
        LABELS, [(0, 2), (0, 1), (0, 1)], mode="constant", constant_values=-1
    )
    return inputs, labels


@pytest.mark.parametrize("encoder", ENCODERS)
def test_what_is_absent_changes_no_loss_and_no_gradient(encoder):
    keras.utils.set_random_seed(0)
    network = dialogs.discriminator(encoder)
    network.norm_regularizer = EmbeddingNorm(0.7)

    def slopes(inputs, labels):
        with tf.GradientTape() as tape:
            loss = NPairLoss()(labels, network(inputs, training=True))
            (penalty,) = network.losses
            total = loss + penalty
        found = tape.gradient(total, network.trainable_variables)
        return [loss, penalty, *map(tf.convert_to_tensor, found)]

    found = slopes(*with_absent_entries())
    for one, other in zip(found, slopes(BATCH, LABELS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "norm", [EmbeddingNorm(0.7, "frobenius"), keras.regularizers.L1L2(0.1, 0.2)]
)
def test_what_is_absent_has_no_penalty_of_any_kind(norm):
    network = small(norm_regularizer=norm)
    found = []
    for inputs in (BATCH, with_absent_entries()[0]):
        network(inputs, training=True)
        found += network.losses
    assert found[0] > 0
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_training_by_compile_and_fit_lowers_the_loss():
    keras.utils.set_random_seed(0)
    network = dialogs.discriminator()
    network.compile(
        keras.optimizers.Adam(0.03),
        loss=NPairLoss(),
        run_eagerly=True,
    )
    history = network.fit(BATCH, LABELS, epochs=12, verbose=0).history
    assert history["loss"][-1] < 0.85 * history["loss"][0]
    said = network.evaluate(BATCH, LABELS, verbose=0, return_dict=True)
    loss = NPairLoss()(LABELS, network(BATCH))
    # Evaluation has no penalty.
    np.testing.assert_allclose(said["loss"], loss, rtol=1e-5, atol=1e-6)


def test_xla_is_left_out_by_itself():
    network = small()
    network(BATCH)
    # On a GPU, "auto" would mean True: what is distinct depends on the data.
    assert not network.supports_jit


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_trains(policy):
    keras.config.set_dtype_policy(policy)
    try:
        settings = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)
        network = dialogs.discriminator(settings=settings)
    finally:
        keras.config.set_dtype_policy("float32")
    assert network(BATCH).dtype == "float32"
    network.compile("adam", loss=NPairLoss(), run_eagerly=True)
    before = network.get_weights()
    # The first steps in float16 may find that the loss is scaled too high.
    for _ in range(4):
        assert np.isfinite(network.train_on_batch(BATCH, LABELS))
    assert any((a != b).any() for a, b in zip(before, network.get_weights()))


def test_unfit_parts_are_refused():
    with pytest.raises(ValueError, match="Received: 5 and 6"):
        DialogDiscriminator(
            9,
            LateFusionEncoder(4, output_units=5),
            AnswerEncoder(4, output_units=6),
        )
    with pytest.raises(ValueError, match="`return_state=False`"):
        DialogDiscriminator(
            9, LateFusionEncoder(4, return_state=True), AnswerEncoder(4)
        )


@pytest.mark.parametrize("key", ["question", "history", "options", "image"])
@pytest.mark.parametrize("built", [True, False])
def test_an_absent_input_is_named(key, built):
    network = small()
    if built:
        network(BATCH)
    lacking = {k: v for k, v in BATCH.items() if k != key}
    with pytest.raises(ValueError, match=rf"`inputs` must hold '{key}'"):
        network(lacking)


def test_an_input_of_another_rank_is_named():
    network = small()
    network(BATCH)
    with pytest.raises(ValueError, match=r"`options`.*\(B, R, N, T\)"):
        network({**BATCH, "options": OPTIONS[:, 0]})
    with pytest.raises(ValueError, match=r"`history`.*\(B, R, T\)"):
        network({**BATCH, "history": BATCH["history"][:, 0]})


def test_image_positions_under_the_mask_do_not_matter(discriminator):
    image = BATCH["image"]
    mask = np.ones(image.shape[:2])
    padded = {
        **BATCH,
        "image": np.concatenate([image, image + 50], axis=1),
        "image_mask": np.concatenate([mask, 0 * mask], axis=1),
    }
    np.testing.assert_allclose(
        numpy(discriminator(padded)), numpy(discriminator(BATCH)), atol=1e-6
    )
