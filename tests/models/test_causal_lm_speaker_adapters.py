"""Adapters, quantized and half-precise bases of causal language models."""

import warnings

import keras
import numpy as np
import pytest
from keras import ops

from tests.models.causal_lms import randomize
from tests.testing import same
from tests.training.resumed import restore
from tests.training.resumed import save
from tfcap._io import load_arrays
from tfcap.decoding import Sample
from tfcap.layers._fast import WordIds
from tfcap.layers._fast import remember_words
from tfcap.models import CausalLMSpeaker
from tfcap.models import WithoutAdapters
from tfcap.models import load_adapters
from tfcap.models import save_adapters
from tfcap.models import without_dropout
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import KLPenalty
from tfcap.training import JointTraining

hub = pytest.importorskip("keras_hub").models
tf = pytest.importorskip("tensorflow")


def speaker_of(rank=2, quantize=None, dtype="float32", remat=False, tie=True):
    backbone = hub.Llama3Backbone(
        vocabulary_size=23,
        num_layers=2,
        num_query_heads=2,
        num_key_value_heads=1,
        hidden_dim=16,
        intermediate_dim=24,
        dtype=dtype,
        tie_word_embeddings=tie,
    )
    model = hub.Llama3CausalLM(backbone=backbone, preprocessor=None)
    randomize(model)
    if quantize:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # It names what it leaves.
            model.quantize(quantize)
    if rank:
        backbone.enable_lora(rank)
        randomize(backbone, seed=1)
    return CausalLMSpeaker(model, bos=1, eos=2, pad=22, remat=remat)


@pytest.fixture(scope="module")
def batch():
    caption = np.random.default_rng(1).integers(4, 22, (2, 2, 4))
    return {"prompt": np.array([[1, 5, 6], [1, 22, 22]]), "caption": caption}


@pytest.fixture(scope="module")
def adapted():
    return speaker_of()


def scores_and_gradients(speaker, batch):
    weights = speaker.trainable_variables
    with tf.GradientTape() as tape:
        state = speaker.begin(batch, training=True)
        scores = speaker.log_probs(state, batch["caption"], training=True)
        loss = ops.sum(scores * scores)
    gradients = tape.gradient(loss, weights)
    return np.asarray(scores), [tf.convert_to_tensor(x) for x in gradients]


def test_without_adapters_it_is_the_base(adapted, batch):
    reference = WithoutAdapters(adapted)
    base = speaker_of(rank=0)
    tokens = batch["caption"]
    scores = reference.log_probs(reference.begin(batch), tokens)
    np.testing.assert_allclose(
        scores, base.log_probs(base.begin(batch), tokens), 1e-5, 1e-5
    )
    _, state = reference.step(np.array([1, 1]), reference.begin(batch))
    logits, _ = reference.step(tokens[:, 0, 0], state)
    wanted = base.logits(base.begin(batch), tokens)[:, 0, 1]
    np.testing.assert_allclose(logits, wanted, 1e-5, 1e-5)
    # And goes on with them.
    after = np.asarray(adapted.log_probs(adapted.begin(batch), tokens))
    assert np.abs(after - scores).max() > 0.01


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_a_checkpoint_leaves_the_base_out(quantize, tmp_path):
    speaker = speaker_of(quantize=quantize)
    training = JointTraining(speaker, TeacherForcing())
    training.compile(keras.optimizers.SGD(0.1))
    save(training, 1, tmp_path)
    held = load_arrays(tmp_path / "checkpoint.npz")
    numbers = sum(x.size for k, x in held.items() if k.startswith("variable"))
    adapters = sum(int(np.prod(x.shape)) for x in speaker.trainable_variables)
    # Beside them the optimizer's count and rate, and random generators.
    assert adapters < numbers < adapters + 20
    assert speaker.count_params() > 3 * adapters
    again = JointTraining(speaker_of(quantize=quantize), TeacherForcing())
    again.compile(keras.optimizers.SGD(0.1))
    assert restore(again, tmp_path) == 1


def gpt2(dropout=0.0):
    backbone = hub.GPT2Backbone(23, 1, 1, 4, 4, dropout=dropout)
    return hub.GPT2CausalLM(backbone=backbone, preprocessor=None)


def test_a_reference_does_not_move_with_biases():
    speaker = CausalLMSpeaker(gpt2(), bos=1, eos=2)
    speaker.causal_lm.backbone.enable_lora(1)
    assert "bias" in {x.name for x in speaker.trainable_weights}
    WithoutAdapters(speaker)
    left = {x.name for x in speaker.trainable_weights}
    assert left == {"lora_kernel_a", "lora_kernel_b"}


def test_adapters_alone_are_trained_saved_and_loaded(tmp_path, batch):
    speaker = speaker_of()
    frozen = [np.asarray(weight) for weight in speaker.non_trainable_weights]
    samples = Sample(num_samples=2, max_length=3)
    penalty = KLPenalty(WithoutAdapters(speaker))
    objective = ScoreFunction(penalty, samples, LeaveOneOutBaseline())
    training = JointTraining(speaker, objective)
    training.compile(keras.optimizers.Adam(0.1), run_eagerly=True)
    before = [np.asarray(weight) for weight in speaker.trainable_weights]
    training.train_on_batch(batch)
    assert len(before) == 2 * 2 * 2  # Layers, query and value, A and B.
    for weight, value in zip(speaker.trainable_weights, before):
        assert np.abs(np.asarray(weight) - value).max() > 0
    same(speaker.non_trainable_weights, frozen)
    save_adapters(speaker, tmp_path / "adapters.npz")
    assert (tmp_path / "adapters.npz").stat().st_size < 20_000
    other = speaker_of()
    load_adapters(other, tmp_path / "adapters.npz")
    np.testing.assert_array_equal(other(batch), speaker(batch))
    with pytest.raises(ValueError, match="Enable adapters of the same layers"):
        load_adapters(speaker_of(rank=1), tmp_path / "adapters.npz")
    (tmp_path / "adapters.npz").write_bytes(b"no")
    with pytest.raises(ValueError, match="`path` must name a file of adapters"):
        load_adapters(other, tmp_path / "adapters.npz")


def test_a_quantized_base_does_not_cut_the_gradient(adapted, batch):
    speaker = speaker_of(quantize="int8")
    ids = np.array([[1, 5, 6, *batch["caption"][0, 0]]])
    plain = speaker.causal_lm(
        {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    )
    logits = speaker.logits(speaker.begin(batch), batch["caption"])
    np.testing.assert_allclose(
        logits[0, 0, :, 2:22], plain[0, 2:6, 2:22], 1e-5, 1e-5
    )
    # Its adapters are the same on the base before it was quantized.
    scores, gradients = scores_and_gradients(speaker, batch)
    wanted_scores, wanted = scores_and_gradients(adapted, batch)
    np.testing.assert_allclose(scores, wanted_scores, 0.1, 0.1)
    for gradient, value in zip(gradients, wanted):
        assert np.linalg.norm(gradient - value) < 0.3 * np.linalg.norm(value)


def test_four_bits_do_not_cut_the_gradient(batch):
    """Weights alone are rounded, so that differences tell the slope."""
    speaker = speaker_of(quantize="int4")
    _, gradients = scores_and_gradients(speaker, batch)
    random, values = np.random.default_rng(3), []
    weights = speaker.trainable_weights
    way = [random.normal(size=w.shape).astype("float32") for w in weights]
    for size in (1e-3, -2e-3):
        for weight, step in zip(weights, way):
            weight.assign_add(size * step)
        scores = speaker.log_probs(speaker.begin(batch), batch["caption"])
        values.append(np.sum(np.asarray(scores, "float64") ** 2))
    slope = sum(np.sum(g * step) for g, step in zip(gradients, way))
    np.testing.assert_allclose(slope, (values[0] - values[1]) / 2e-3, 0.01)


@pytest.mark.parametrize("mode, error", [("int8", 0.01), ("int4", 0.1)])
def test_a_quantized_head_of_its_own(mode, error):
    """Its gradient is the product with what the integers stand for."""
    head = speaker_of(rank=0, tie=False)
    table = head.causal_lm.backbone.token_embedding
    kernel = np.asarray(table.reverse_embeddings)
    table.quantize(mode)
    hidden = tf.constant(
        np.random.default_rng(2).normal(size=(1, 16)), "float32"
    )
    with tf.GradientTape() as tape:
        tape.watch(hidden)
        logits = head.compute_logits(hidden)[0, 5]
    gradient = tape.gradient(logits, hidden)[0]
    np.testing.assert_allclose(gradient, kernel[:, 5], 0, error)
    assert np.abs(kernel[:, 5]).max() > 3 * error


@pytest.mark.parametrize("cap", [None, 2.0])
def test_a_quantized_head_is_differentiated_twice(cap):
    head = speaker_of(rank=0, tie=False).decoder
    table = head.backbone.token_embedding
    table.quantize("int8")
    kernel = table(tf.eye(16), reverse=True)
    table.logit_soft_cap = cap

    def smooth(hidden):
        logits, x = table(hidden, reverse=True), hidden @ kernel
        if cap is None:
            return x + tf.stop_gradient(logits - x)
        x += tf.stop_gradient(cap * tf.atanh(logits / cap) - x)
        return cap * tf.tanh(x / cap)

    def penalty_and_slope(function):
        values = np.random.default_rng(2).normal(size=(3, 16))
        hidden = tf.Variable(values, dtype="float32")
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(tf.sin(function(hidden)))
            penalty = tf.reduce_sum(inner.gradient(loss, hidden) ** 2)
        return penalty, outer.gradient(penalty, hidden)

    pairs = map(penalty_and_slope, (head.compute_logits, smooth))
    for ours, plain in zip(*pairs):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)


def test_activations_computed_again_change_no_gradient(adapted, batch):
    wanted = scores_and_gradients(adapted, batch)
    found = scores_and_gradients(speaker_of(remat=True), batch)
    same(found, wanted, 1e-4, 1e-5)
    model = gpt2(dropout=0.1)
    with pytest.raises(ValueError, match="`remat` must be False if"):
        CausalLMSpeaker(model, eos=2, remat=True)
    # What stands before the blocks is computed once.
    for block in model.backbone.transformer_layers:
        without_dropout(block)
    prefix = keras.layers.Dropout(0.5)
    speaker = CausalLMSpeaker(model, None, prefix, bos=1, eos=2, remat=True)
    assert speaker.remat and speaker.begin_uses_training


def test_half_precision(adapted, batch):
    speaker = speaker_of(dtype="mixed_bfloat16")
    scores, gradients = scores_and_gradients(speaker, batch)
    wanted_scores, wanted = scores_and_gradients(adapted, batch)
    assert scores.dtype == "float32"
    np.testing.assert_allclose(scores, wanted_scores, 0.1, 0.1)
    for gradient, value in zip(gradients, wanted):
        assert np.linalg.norm(gradient - value) < 0.2 * np.linalg.norm(value)
    # The cache is in half precision, the logits that are said are not.
    state = speaker.fixed_state(speaker.begin(batch), 2)
    assert {"bfloat16"} == {x.dtype.name for x in state["cache"]}
    logits, _ = speaker.step(np.array([1, 1]), state)
    assert logits.dtype == "float32"
    # Words in single precision are looked up, not multiplied.
    known = WordIds(ops.convert_to_tensor([3, 7]))
    words = remember_words(ops.full((2, 23), np.nan), known)
    found = speaker.decoder.embed(words)
    np.testing.assert_array_equal(found, speaker.decoder.embed(known.ids))
