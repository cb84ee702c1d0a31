"""Image-text models of KerasHub, small and random, as speakers."""

import io

import keras
import numpy as np
import pytest
from keras import ops

from tests.models.causal_lms import close
from tests.models.causal_lms import randomize
from tfcap.models import CausalLMSpeaker

hub = pytest.importorskip("keras_hub").models
tf = pytest.importorskip("tensorflow")

SIZE = {
    "vocabulary_size": 23,
    "image_size": 8,
    "num_layers": 2,
    "num_query_heads": 2,
    "num_key_value_heads": 1,
    "hidden_dim": 16,
    "intermediate_dim": 24,
    "head_dim": 8,
}
EOS, PAD, IMAGE = 2, 0, 21


def pali_gemma(preprocessor=None):
    return hub.PaliGemmaCausalLM(
        backbone=hub.PaliGemmaBackbone(
            **SIZE,
            vit_patch_size=4,
            vit_num_heads=2,
            vit_hidden_dim=8,
            vit_num_layers=1,
            vit_intermediate_dim=8,
        ),
        preprocessor=preprocessor,
    )


def gemma3(preprocessor=None):
    encoder = __import__(
        "keras_hub.src.models.gemma3.gemma3_vision_encoder", fromlist=["x"]
    ).Gemma3VisionEncoder(8, 2, 2, 8, 1, 8, 16, pool_size=2)
    return hub.Gemma3CausalLM(
        backbone=hub.Gemma3Backbone(
            **SIZE,
            vision_encoder=encoder,
            use_sliding_window_attention=True,
            sliding_window_size=4,
        ),
        preprocessor=preprocessor,
    )


@pytest.fixture(scope="module", params=[pali_gemma, gemma3])
def speaker(request):
    model = randomize(request.param())
    return CausalLMSpeaker(model, bos=1, eos=EOS, pad=PAD, image_token=IMAGE)


@pytest.fixture(scope="module")
def batch(speaker):
    random = np.random.default_rng(1)
    prompt = [1, 5, *[IMAGE] * 4, 6, 7], [1, *[IMAGE] * 4, 8, PAD, PAD]
    if speaker.image_token is None:
        prompt = [1, 5, 6, 7], [1, 8, PAD, PAD]
    return {
        "prompt": np.array(prompt),
        "image": random.normal(size=(2, 8, 8, 3)).astype("float32"),
        "caption": random.integers(3, 20, (2, 2, 4)),
    }


def plain_logits(speaker, prompt, image, caption):
    """KerasHub's own forward pass of one sequence, before each word."""
    prompt = prompt[prompt != PAD]
    ids = np.concatenate([prompt, caption])[None]
    inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    inputs["images"] = image[None]
    if speaker.image_token is None:
        inputs["response_mask"] = (np.arange(ids.size) >= prompt.size)[None]
    else:
        inputs["images"] = image[None, None]
        inputs["vision_mask"] = (ids == IMAGE).astype("int32")
        inputs["vision_indices"] = np.flatnonzero(ids == IMAGE)[None]
    return speaker.causal_lm(inputs)[0, -len(caption) - 1 : -1]


def test_words_after_pictures_and_prompts_of_different_lengths(speaker, batch):
    state = speaker.begin(batch)
    logits = np.asarray(speaker.logits(state, batch["caption"]))
    for row in range(2):
        parts = (batch[name][row] for name in ("prompt", "image"))
        plain = plain_logits(speaker, *parts, batch["caption"][row, 1])
        close(logits[row, 1][:, 2:], np.asarray(plain)[:, 2:])
    state, words = speaker.fixed_state(state, 4), np.full(2, speaker.bos)
    for t in range(4):
        step, state = speaker.step(words, state)
        close(step, logits[:, 0, t])
        words = batch["caption"][:, 0, t]


def test_every_weight_learns_from_the_scores(speaker, batch):
    weights = speaker.trainable_variables
    with tf.GradientTape() as tape:
        scores = speaker.log_probs(
            speaker.begin(batch, True), batch["caption"], True
        )
        loss = ops.sum(scores * scores)
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        assert gradient is not None, weight.path
        assert np.abs(tf.convert_to_tensor(gradient)).max() > 0, weight.path


def test_a_picture_for_every_prompt(speaker, batch):
    if speaker.image_token is None:
        with pytest.raises(ValueError, match="`inputs` must hold 'image'"):
            speaker.begin({"prompt": batch["prompt"]})
        return
    with pytest.raises(ValueError, match="`prompt` must hold the placeholder"):
        speaker.begin({**batch, "prompt": batch["prompt"][:, :4]})
    blind = CausalLMSpeaker(speaker.causal_lm, bos=1, eos=EOS, pad=PAD)
    with pytest.raises(ValueError, match="`image_token` must be the id"):
        blind.begin(batch)
    # Gemma 3 also speaks of nothing but words.
    words = {"prompt": batch["prompt"][:, :1], "caption": batch["caption"]}
    assert keras.ops.shape(speaker(words)) == (2, 2, 4, 23)


def save_preset(make, folder):
    """Saves a model with a tokenizer of its own; returns its preprocessor."""
    library, pieces = pytest.importorskip("sentencepiece"), io.BytesIO()
    turns = ["<start_of_turn>", "<end_of_turn>"]
    images = ["<start_of_image>", "<img>", "<end_of_image>"]
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(["a red bed", "dear bee"] * 9),
        model_writer=pieces,
        vocab_size=SIZE["vocabulary_size"],
        model_type="BPE",
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        pad_piece="<pad>",
        bos_piece="<bos>",
        eos_piece="<eos>",
        unk_piece="<unk>",
        user_defined_symbols=[*images, *turns, "\n\n"],
        minloglevel=2,
    )
    family = {pali_gemma: "PaliGemma", gemma3: "Gemma3"}[make]
    preprocessor = getattr(hub, family + "CausalLMPreprocessor")(
        getattr(hub, family + "Tokenizer")(pieces.getvalue()),
        __import__("keras_hub").layers.ImageConverter(image_size=(8, 8)),
        sequence_length=14,
        **({"num_vision_tokens_per_image": 4} if family == "Gemma3" else {}),
    )
    make(preprocessor).save_to_preset(str(folder))
    return preprocessor


@pytest.mark.parametrize("make", [pali_gemma, gemma3])
def test_a_preset_reads_strings_and_pictures(make, tmp_path):
    preprocessor = save_preset(make, tmp_path)
    model = hub.CausalLM.from_preset(str(tmp_path))
    prompt = "a red<start_of_image>bed"
    speaker = CausalLMSpeaker(model, prompt=prompt)
    image = np.random.default_rng(3).normal(size=(1, 8, 8, 3))
    inputs = preprocessor.generate_preprocess(
        {"prompts": [prompt], "images": image.astype("float32")}
    )
    read = np.asarray(inputs["padding_mask"])[0]
    ids = np.asarray(inputs["token_ids"])[0][read]
    assert speaker.prompt == tuple(ids.tolist())
    plain = model(inputs)[0, read.sum() - 1]
    logits, _ = speaker.step(np.array([1]), speaker.begin({"image": image}))
    close(logits[0, 3:], plain[3:])
