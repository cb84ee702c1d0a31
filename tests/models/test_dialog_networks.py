"""Dialog generators and discriminators: what both meet, and what is theirs."""

import dataclasses
import itertools
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from reproduce.visdial import ENCODERS
from tests import dialogs
from tests.testing import same
from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap.decoding import Sample
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import AnswerEncoder
from tfcap.layers import Categorical
from tfcap.layers import HCIAEEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.losses import EmbeddingNorm
from tfcap.losses import NPairLoss
from tfcap.losses import SequenceCrossentropy
from tfcap.models import DialogDiscriminator
from tfcap.models import DialogGenerator

BATCHES = dialogs.batches(8, negatives=3, in_batch_negatives=2, shuffle=False)
#: The last round of every fourth dialog is absent.
BATCH, LABELS = BATCHES.batch(0)
OPTIONS = BATCH["options"]
VOCABULARY = BATCHES.dialogs.vocabulary.size
NOISY = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)


class Role(NamedTuple):
    """A network's maker, its labels and loss, and what it is asked about."""

    make: Any
    labels: Any
    loss: Any
    key: str


ROLES = {
    "generator": Role(
        dialogs.generator, BATCH["answer"], SequenceCrossentropy(), "answer"
    ),
    "discriminator": Role(
        dialogs.discriminator, LABELS, NPairLoss(), "options"
    ),
}


@pytest.fixture(params=ROLES)
def role(request):
    return ROLES[request.param]


@pytest.fixture(
    scope="module", params=itertools.product(ROLES, ENCODERS), ids="-".join
)
def made(request):
    """A role, and a network of it."""
    keras.utils.set_random_seed(0)
    name, encoder = request.param
    return ROLES[name], ROLES[name].make(encoder)


@pytest.fixture(scope="module", params=list(ENCODERS))
def generator(request):
    keras.utils.set_random_seed(0)
    return dialogs.generator(request.param)


@pytest.fixture(scope="module", params=list(ENCODERS))
def discriminator(request):
    keras.utils.set_random_seed(0)
    return dialogs.discriminator(request.param)


def numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def encoder(units, state=False):
    return LateFusionEncoder(4, output_units=units, return_state=state)


def small_discriminator(**arguments):
    return DialogDiscriminator(
        VOCABULARY,
        encoder(5),
        AnswerEncoder(4, output_units=5),
        embedding_units=5,
        **arguments,
    )


def small_generator():
    return DialogGenerator(VOCABULARY, encoder(5, True), embedding_units=5)


def test_later_rounds_do_not_change_earlier_ones(made):
    role, network = made
    before = numpy(network(BATCH))
    for key in ("question", "history", role.key):
        words = BATCH[key].copy()
        words[:, 2] = np.roll(words[:, 2], 1, axis=0)
        after = numpy(network({**BATCH, key: words}))
        np.testing.assert_allclose(before[:, :2], after[:, :2], atol=1e-6)
        assert (before[:, 2] != after[:, 2]).any()


def test_absent_rounds_are_finite_and_change_no_other(made):
    role, network = made
    assert (~BATCH["question"].any(-1)).sum() == 2
    before = numpy(network(BATCH))
    assert np.isfinite(before).all()
    # The absent rounds are the last ones: cut them off.
    short = {k: x if k == "image" else x[:, :2] for k, x in BATCH.items()}
    after = numpy(network(short))
    np.testing.assert_allclose(before[:, :2], after, atol=1e-5)
    with tf.GradientTape() as tape:
        loss = role.loss(role.labels, network(BATCH))
    for gradient in tape.gradient(loss, network.trainable_weights):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_a_dialog_alone_gives_what_it_gives_in_a_batch(made):
    one = {key: value[2:3] for key, value in BATCH.items()}
    found, wanted = (numpy(made[1](x)) for x in (one, BATCH))
    np.testing.assert_allclose(found, wanted[2:3], atol=1e-5)


def test_image_positions_under_the_mask_do_not_matter(made):
    image, mask = BATCH["image"], np.ones(BATCH["image"].shape[:2])
    padded = {
        **BATCH,
        "image": np.concatenate([image, image + 50], axis=1),
        "image_mask": np.concatenate([mask, 0 * mask], axis=1),
    }
    found, wanted = (numpy(made[1](x)) for x in (padded, BATCH))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_training_by_compile_and_fit_lowers_the_loss(role):
    keras.utils.set_random_seed(0)
    network = role.make()
    adam = keras.optimizers.Adam(0.03)
    network.compile(adam, loss=role.loss, run_eagerly=True)
    history = network.fit(BATCH, role.labels, epochs=12, verbose=0).history
    assert history["loss"][-1] < 0.85 * history["loss"][0]
    said = network.evaluate(BATCH, role.labels, verbose=0)
    # Evaluation has no penalty.
    wanted = role.loss(role.labels, network(BATCH))
    np.testing.assert_allclose(said, wanted, rtol=1e-4)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_trains(role, policy):
    keras.config.set_dtype_policy(policy)
    try:
        network = role.make(settings=NOISY)
    finally:
        keras.config.set_dtype_policy("float32")
    assert network(BATCH).dtype == "float32"
    network.compile("adam", loss=role.loss, run_eagerly=True)
    before = network.get_weights()
    # The first steps in float16 may find that the loss is scaled too high.
    for _ in range(4):
        assert np.isfinite(network.train_on_batch(BATCH, role.labels))
    assert any((a != b).any() for a, b in zip(before, network.get_weights()))


def test_dropout_is_for_training_only(role):
    network = role.make(settings=NOISY)
    one, two = (numpy(network(BATCH)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert (numpy(network(BATCH, training=True)) != one).any()


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize(
    "make, key", [(small_generator, "answer"), (small_discriminator, "options")]
)
def test_an_absent_input_is_named(make, key, built):
    network = make()
    if built:
        network(BATCH)
    for absent in ("question", "history", "image", key):
        lacking = {k: v for k, v in BATCH.items() if k != absent}
        with pytest.raises(ValueError, match=f"`inputs` must hold '{absent}'"):
            network(lacking)


@pytest.mark.parametrize(
    "make, key, told",
    [
        (small_discriminator, "options", r"\(B, R, N, T\)"),
        (small_discriminator, "history", r"\(B, R, T\)"),
        (small_generator, "question", r"\(B, R, T\).*\(8, "),
        (small_generator, "image", r"\(B, P, D\).*\(8, 3\)"),
    ],
)
def test_an_input_of_another_rank_is_named(make, key, told):
    network = make()
    network(BATCH)
    with pytest.raises(ValueError, match=f"`{key}`.*{told}"):
        network({**BATCH, key: BATCH[key][:, 0]})


#: Encoders of dialogs leave out words of id 0.
REFUSED = {
    "`pad` must be 0.*pad=9": lambda: DialogGenerator(
        20, encoder(3, True), 3, pad=9
    ),
    "`return_state=True`.*Rec": lambda: DialogGenerator(9, HCIAEEncoder(4)),
    "=5 and embedding_units=6": lambda: DialogGenerator(9, encoder(5, True), 6),
    "Received: 5 and 6": lambda: DialogDiscriminator(
        9, encoder(5), AnswerEncoder(4, output_units=6)
    ),
    "`return_state=False`": lambda: DialogDiscriminator(
        9, encoder(5, True), AnswerEncoder(4, output_units=5)
    ),
}


@pytest.mark.parametrize("told", REFUSED)
def test_unfit_parts_are_refused(told):
    with pytest.raises(ValueError, match=told):
        REFUSED[told]()


def test_teacher_forced_logits_agree_with_scored_words(generator):
    tokens = generator.references(BATCH)
    state = generator.begin(BATCH)
    whole = numpy(generator.log_probs(state, tokens))
    steps = numpy(stepwise_log_probs(generator, state, tokens))
    np.testing.assert_allclose(whole, steps, atol=1e-5)
    answer = BATCH["answer"]
    called = numpy(token_log_probs(generator(BATCH), answer)) * (answer != 0)
    np.testing.assert_allclose(called, whole.reshape(called.shape), atol=1e-5)


def test_padding_and_start_are_never_said(generator):
    p = ops.softmax(generator(BATCH), axis=-1)
    assert (numpy(p)[..., :2] == 0).all()
    said = Sample(Categorical(seed=0), num_samples=20, max_length=3).decode(
        generator, generator.begin(BATCH)
    )
    words = numpy(said.tokens)[numpy(said.mask) > 0]
    assert words.min() >= 2


def test_a_longer_padding_changes_nothing(generator):
    def pad(key, more=3):
        return np.pad(BATCH[key], ((0, 0), (0, 0), (0, more)))

    keys = ("question", "history", "answer")
    padded = {**BATCH, **{key: pad(key) for key in keys}}
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


def test_the_scale_sharpens_what_is_said():
    assert dialogs.SETTINGS.logit_scale == 3.0
    settings = dataclasses.replace(dialogs.SETTINGS, logit_scale=1.0)
    sharp, plain = dialogs.generator(), dialogs.generator(settings=settings)
    plain.set_weights(sharp.get_weights())
    found, wanted = (numpy(x(BATCH))[..., 2:] for x in (sharp, plain))
    np.testing.assert_allclose(found, 3 * wanted, rtol=1e-5, atol=1e-6)


def test_ragged_answers_are_read_as_padded_ones():
    generator = dialogs.generator("lf")
    keys = ("question", "history", "answer")
    ragged = {
        key: tf.RaggedTensor.from_tensor(BATCH[key], padding=0, ragged_rank=2)
        for key in keys
    }
    found = numpy(generator({**BATCH, **ragged}))
    wanted = numpy(generator(BATCH))[:, :, : found.shape[2]]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


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
    wanted = numpy(discriminator.embed(tokens, mask))
    # Nothing under the mask changes anything.
    for under in (0.0, 7.0):
        given = np.where(mask[..., None], words, under)
        found = numpy(discriminator.embed(given, mask))
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_gradients_pass_through_words(discriminator):
    words = tf.constant(np.eye(VOCABULARY, dtype="float32")[[[5, 6, 2]]])
    with tf.GradientTape() as tape:
        tape.watch(words)
        found = discriminator.embed(words, np.array([[1, 1, 0]]))
    gradient = numpy(tape.gradient(found, words))
    assert np.abs(gradient[0, :2]).min(-1).max() > 0
    assert (gradient[0, 2] == 0).all()


@pytest.mark.parametrize("convention", ["squared", "frobenius"])
def test_the_norm_penalty_by_a_loop(convention):
    network = small_discriminator(
        norm_regularizer=EmbeddingNorm(0.7, convention)
    )
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
    same(found, slopes(BATCH, LABELS), 1e-4, 1e-5)


@pytest.mark.parametrize(
    "norm", [EmbeddingNorm(0.7, "frobenius"), keras.regularizers.L1L2(0.1, 0.2)]
)
def test_what_is_absent_has_no_penalty_of_any_kind(norm):
    network = small_discriminator(norm_regularizer=norm)
    found = []
    for inputs in (BATCH, with_absent_entries()[0]):
        network(inputs, training=True)
        found += network.losses
    assert found[0] > 0
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_xla_is_left_out_by_itself():
    # On a GPU, "auto" would mean True: what is distinct depends on the data.
    assert not small_discriminator().supports_jit
