"""Causal language models of KerasHub, small and random, as speakers."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.models.causal_lms import close
from tests.models.causal_lms import randomize
from tfcap.decoding import BeamSearch
from tfcap.models import CausalLMSpeaker

hub = pytest.importorskip("keras_hub").models
tf = pytest.importorskip("tensorflow")

SIZE = {
    "vocabulary_size": 23,
    "num_layers": 2,
    "hidden_dim": 16,
    "intermediate_dim": 24,
}
HEADS = {"num_query_heads": 2, "num_key_value_heads": 1}
GEMMA = {**SIZE, **HEADS, "head_dim": 8, "sliding_window_size": 4}
SMOL = {
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "rope_layer_enabled_list": [True, False],
    "layer_types": ["full_attention"] * 2,
    "mlp_bias": False,
    "layer_norm_epsilon": 1e-6,
    "max_position_embeddings": 32,
    "rope_theta": 1e4,
    "partial_rotary_factor": 1.0,
}
TABLE = {"num_heads": 2, "dropout": 0.0, "max_sequence_length": 12}
FAMILIES = {
    "GPT2": {**SIZE, **TABLE},
    "OPT": {**SIZE, **TABLE},
    "Gemma": {
        **GEMMA,
        "use_sliding_window_attention": True,
        "attention_logit_soft_cap": 5.0,
        "final_logit_soft_cap": 3.0,
    },
    "Gemma3": {
        **GEMMA,
        "image_size": None,
        "use_sliding_window_attention": True,
    },
    "Llama3": {**SIZE, **HEADS},
    "Qwen3": GEMMA,
    "SmolLM3": {**SIZE, **SMOL},
    "Mistral": {**SIZE, **HEADS, "sliding_window": 4},
}
EOS, PAD = (2, 3), 22


def causal_lm(family, **options):
    backbone = getattr(hub, family + "Backbone")
    backbone = backbone(**{**FAMILIES[family], **options})
    model = getattr(hub, family + "CausalLM")
    return randomize(model(backbone=backbone, preprocessor=None))


def speaker_of(model, **options):
    return CausalLMSpeaker(
        model, **{"bos": 1, "eos": EOS, "pad": PAD, **options}
    )


@pytest.fixture(scope="module", params=list(FAMILIES))
def family(request):
    return speaker_of(causal_lm(request.param))


@pytest.fixture(scope="module")
def gpt2():
    return speaker_of(causal_lm("GPT2"))


@pytest.fixture(scope="module")
def batch():
    random = np.random.default_rng(1)
    prompt = random.integers(4, PAD, (2, 4))
    prompt[1, 2:] = PAD
    caption = random.integers(4, PAD, (2, 2, 4))
    caption[0, 0, 0] = 0  # A word like others.
    caption[0, 1, 2:] = EOS[1], PAD
    caption[1, 0, 1:] = EOS[0], PAD, PAD
    return {"prompt": prompt, "caption": caption}


def plain_logits(speaker, prompt, caption):
    """KerasHub's own scores of one sequence, before each word."""
    ids = np.concatenate([prompt[prompt != PAD], caption])[None]
    mask = np.ones_like(ids)
    inputs = {"token_ids": ids, "padding_mask": mask}
    if hasattr(speaker.causal_lm, "score"):
        logits = speaker.causal_lm.score(**inputs)
    else:
        logits = speaker.causal_lm(inputs)
    return logits[0, -len(caption) - 1 : -1]


def said(speaker):
    ids = set(range(23)) - set(speaker.suppressed_ids)
    return sorted(ids)


def test_ragged_prompts_give_the_logits_of_each_row_alone(family, batch):
    ids = said(family)
    state = family.begin(batch)
    logits = np.asarray(family.logits(state, batch["caption"]))
    for row, sample in ((0, 1), (1, 0)):
        plain = plain_logits(
            family, batch["prompt"][row], batch["caption"][row, sample]
        )
        close(logits[row, sample][:, ids], np.asarray(plain)[:, ids])
    assert np.all(np.delete(logits, ids, axis=-1) < -1e8)
    # Words with a cache, which grows or has room, against the same.
    fixed = family.extend_state(family.fixed_state(state, 4, room=2), 2)
    for start in (state, fixed):
        state, words = start, np.full(2, family.bos)
        shapes = keras.tree.map_structure(lambda x: x.shape, state)
        for t in range(4):
            step, state = family.step(words, state)
            close(step, logits[:, 0, t])
            words = batch["caption"][:, 0, t]
    assert keras.tree.map_structure(lambda x: x.shape, state) == shapes


def test_ragged_ids_are_filled_with_the_speakers_padding(gpt2, batch):
    ids = {key: batch[key] for key in ("caption", "prompt")}
    ragged = {
        key: tf.RaggedTensor.from_tensor(
            value, padding=PAD, ragged_rank=value.ndim - 1
        )
        for key, value in ids.items()
    }
    np.testing.assert_array_equal(gpt2.references(ragged), batch["caption"])
    np.testing.assert_array_equal(gpt2(ragged), gpt2(ids))


def test_scores_and_their_gradients_are_those_of_plain_passes(gpt2, batch):
    weights = gpt2.trainable_variables
    with tf.GradientTape() as tape:
        scores = gpt2.log_probs(gpt2.begin(batch, True), batch["caption"], True)
        total = ops.sum(scores)
    gradients = tape.gradient(total, weights)
    floor = np.zeros(23)
    floor[list(gpt2.suppressed_ids)] = -1e9
    with tf.GradientTape() as tape:
        plain = 0.0
        for row in range(2):
            for caption in batch["caption"][row]:
                end = np.isin(caption, (*EOS, PAD)).argmax()
                end = end + 1 if np.isin(caption, EOS).any() else 4
                words = caption[:end]
                logits = plain_logits(gpt2, batch["prompt"][row], words)
                logits = ops.log_softmax(logits + floor)
                plain += ops.sum(logits * ops.one_hot(words, 23))
    close(total, plain)
    assert np.asarray(scores)[1, 0, 2:].tolist() == [0, 0]
    for mine, its in zip(gradients, tape.gradient(plain, weights)):
        close(tf.convert_to_tensor(mine), tf.convert_to_tensor(its))


@pytest.mark.parametrize("family", ["GPT2", "Gemma3", "SmolLM3"], indirect=True)
def test_gradients_to_soft_words_are_those_of_a_plain_model(family, batch):
    """Relaxed words, read through the cache, against blocks without one."""
    random = np.random.default_rng(2)
    soft = tf.constant(random.dirichlet(np.ones(23), (2, 3)), "float32")
    weights = random.normal(size=(2, 23)).astype("float32")
    weights[:, list(family.suppressed_ids)] = 0
    decoder, blocks = family.decoder, family.causal_lm.backbone
    prompt = batch["prompt"][:1, :3]

    def by_steps(words):
        state = family.begin({"prompt": np.repeat(prompt, 2, axis=0)})
        _, state = family.step(np.full(2, 1), state)
        for t in range(3):
            logits, state = family.step(words[:, t], state)
        return ops.sum(logits * weights)

    def plainly(words):
        table = blocks.token_embedding.embeddings
        x = tf.concat([tf.repeat(tf.one_hot(prompt, 23), 2, 0), words], axis=1)
        x = x @ table * decoder.scale
        if decoder.learned_positions:
            x = x + decoder._position_embedding().position_embeddings[:6]
        mask = ops.ones((2, 6), "int32")
        for block in blocks.transformer_layers:
            x = block(x, **{decoder.arguments["mask"]: mask})
        logits = blocks.token_embedding(decoder.norm(x), reverse=True)
        return ops.sum(logits[:, -1] * weights)

    wanted = [soft, *family.trainable_variables]
    gradients = []
    for function in (by_steps, plainly):
        with tf.GradientTape() as tape:
            tape.watch(soft)
            value = function(soft)
        gradients.append([value, *tape.gradient(value, wanted)])
    for mine, its in zip(*gradients):
        close(tf.convert_to_tensor(mine), tf.convert_to_tensor(its))


def test_sizes_that_are_unknown_while_traced_and_beams(gpt2, batch):
    unknown = {
        name: tf.TensorSpec([None] * value.ndim, tf.int64)
        for name, value in batch.items()
    }

    @tf.function(input_signature=[unknown], autograph=False)
    def scores(batch):
        return gpt2.log_probs(gpt2.begin(batch, True), batch["caption"], True)

    state = gpt2.begin(batch)
    close(scores(batch), gpt2.log_probs(state, batch["caption"]))
    beams = BeamSearch(2, max_length=3).decode(gpt2, state)
    again = ops.sum(gpt2.log_probs(state, beams.tokens), axis=-1)
    close(again, beams.scores)


def test_the_prompt_of_rows_without_one(gpt2, batch):
    caption = {"caption": batch["caption"]}
    start = {**caption, "prompt": np.full((2, 1), 1)}
    close(gpt2(caption), gpt2(start))
    # Empty prompts are one padding token, which GPT-2 starts from.
    padded = {**caption, "prompt": np.full((2, 3), PAD)}
    mask = {**padded, "prompt_mask": np.array([[0, 0, 1]] * 2)}
    close(gpt2(padded), gpt2(mask))


@pytest.fixture(scope="module")
def seeing():
    prefix = keras.layers.Dense(16)
    return speaker_of(causal_lm("GPT2"), prefix=prefix, image_key="features")


FEATURES = np.random.default_rng(3).normal(size=(2, 2, 5)).astype("float32")


def test_features_in_front_of_the_prompt(seeing, batch):
    batch = {**batch, "features": FEATURES}
    with tf.GradientTape() as tape:
        logits = seeing(batch)
        loss = ops.sum(logits[..., 4] * logits[..., 5])
    gradients = tape.gradient(loss, seeing.trainable_variables)
    assert all(gradient is not None for gradient in gradients)
    learned = seeing.causal_lm.trainable_variables
    assert len(gradients) == len(learned) + 2


class Pooling(keras.layers.Layer):
    """All positions as one."""

    def call(self, x):
        return ops.mean(ops.repeat(x, 4, axis=-1)[..., :16], 1, keepdims=True)


def test_a_mask_is_that_of_the_image_that_is_read(seeing, batch):
    own, mask = {**batch, "features": FEATURES}, np.array([[1, 0]] * 2)
    alone = seeing({**own, "features": FEATURES[:, :1]})
    # What the mask hides changes nothing, and neither does its position.
    close(seeing({**own, "features_mask": mask}), alone)
    assert np.abs(np.asarray(seeing(own) - alone)).max() > 1e-3
    # Pixels are of another network, say of the listener.
    other = {"image": np.ones((2, 3, 3)), "image_mask": np.ones((2, 3))}
    close(seeing({**own, **other}), seeing(own))
    pooled = speaker_of(seeing.causal_lm, prefix=Pooling())
    with pytest.raises(ValueError, match="`image_mask` must have the P of"):
        pooled({**batch, "image": FEATURES, "image_mask": mask})
    with pytest.raises(ValueError, match=r"must have shape \(B, P\)"):
        seeing({**own, "features_mask": mask[0]})


def test_it_is_saved_and_loaded(tmp_path, batch):
    speaker = speaker_of(
        causal_lm("GPT2"), prefix=keras.layers.Dense(16), prompt=(5, 6)
    )
    image = np.ones((2, 1, 3), "float32")
    batch = {"caption": batch["caption"], "image": image}
    wanted = speaker(batch)
    speaker.save(tmp_path / "speaker.keras")
    loaded = keras.models.load_model(tmp_path / "speaker.keras")
    close(loaded(batch), wanted)
    assert (loaded.eos, loaded.pad, loaded.prompt) == (EOS, PAD, (5, 6))


def test_an_end_that_is_suppressed_is_never_said(gpt2):
    speaker = speaker_of(gpt2.causal_lm, suppress=(EOS[1], 7))
    assert speaker.suppressed_ids == (1, EOS[1], 7, PAD)
    logits = speaker({"caption": np.array([[[5, 6, EOS[0]]]])})
    assert np.asarray(logits)[..., EOS[1]].max() < -1e8
    assert np.asarray(logits)[..., EOS[0]].min() > -1e8
    # A start token that ends, too, goes on ending unless it is suppressed.
    assert speaker_of(gpt2.causal_lm, bos=EOS[1]).suppressed_ids == (PAD,)


@pytest.mark.parametrize(
    "told, options",
    [
        ("`suppress` must not hold every token", {"suppress": (*EOS, 7)}),
        ("`suppress` must hold ids from 0", {"suppress": (23,)}),
        ("`eos` must be an id, or a tuple", {"eos": None}),
    ],
)
def test_unfit_ids_are_refused(gpt2, told, options):
    with pytest.raises(ValueError, match=told):
        speaker_of(gpt2.causal_lm, **options)


def test_unfit_models_and_batches_are_refused(gpt2):
    words = {"caption": np.ones((1, 1, 1))}
    with pytest.raises(ValueError, match="has no `transformer_layers`"):
        speaker_of(keras.Sequential())
    with pytest.raises(ValueError, match="positions, which prompt, picture"):
        gpt2.fixed_state(gpt2.begin(words), 13)
    silent = speaker_of(gpt2.causal_lm, bos=None)
    with pytest.raises(ValueError, match="`inputs` must hold `prompt`"):
        silent.begin(words)
    neox = hub.GPTNeoXBackbone(**SIZE, num_heads=2, dropout=0.0)
    model = hub.GPTNeoXCausalLM(backbone=neox, preprocessor=None)
    # Its cache turns keys otherwise than its own forward pass.
    with pytest.raises(ValueError, match="its logits differ by"):
        speaker_of(randomize(model))
