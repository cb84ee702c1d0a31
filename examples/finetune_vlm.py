"""Fine-tune a vision-language model of KerasHub through its own words.

    python examples/finetune_vlm.py                  # a tiny one, random
    python examples/finetune_vlm.py --preset pali_gemma_3b_mix_224

PaliGemma describes pictures of colored squares: it learns by teacher forcing,
and then by LoRA: SCST with CIDEr-D and a KL penalty from the model without
adapters, and partially sampled words for a frozen listener, a tiny CLIP or,
beside a preset, `RetrievalListener`. A preset, a name or a folder of
`save_to_preset()`, is loaded by KerasHub and trained by LoRA throughout.
"""

import argparse
import itertools

import keras
import numpy as np

import tfcap

COLORS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}
ROWS, COLUMNS = ("top", "bottom"), ("left", "right")
PROMPTS = {
    "PaliGemmaCausalLM": "caption en\n",
    "Gemma3CausalLM": "<start_of_turn>user\n<start_of_image>Describe it.\n"
    "<end_of_turn>\n<start_of_turn>model\n",
}
HIDDEN = {"hidden_dim": 32, "num_layers": 2, "intermediate_dim": 64}


def scenes(size):
    """Pictures (48, size, size, 3), and two captions of each."""
    images, captions = [], []
    for (color, rgb), back, (i, row), (j, column) in itertools.product(
        COLORS.items(), (0.0, 0.2, 0.4, 0.6), *map(enumerate, (ROWS, COLUMNS))
    ):
        image, half = np.full((size, size, 3), back), size // 2
        image[i * half :, j * half :][:half, :half] = rgb
        images.append(2 * image - 1)
        place = f"{row} {column}"
        captions.append([f"a {color} square {place}", f"{place} is {color}"])
    return np.array(images, "float32"), captions


def tiny_pali_gemma(vocabulary, size):
    hub = __import__("keras_hub").models
    backbone = hub.PaliGemmaBackbone(
        vocabulary.size,
        size,
        num_query_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        vit_patch_size=size // 2,
        vit_num_heads=2,
        vit_hidden_dim=32,
        vit_num_layers=1,
        vit_intermediate_dim=64,
        **HIDDEN,
    )
    model = hub.PaliGemmaCausalLM(backbone=backbone, preprocessor=None)
    special = {
        name: getattr(vocabulary, name) for name in ("pad", "bos", "eos")
    }
    return tfcap.models.CausalLMSpeaker(model, image_key="pixels", **special)


def tiny_clip(vocabulary, size):
    """CLIP whose pieces are the speaker's words."""
    hub = __import__("keras_hub").models
    vision = hub.CLIPVisionEncoder(
        patch_size=size // 2,
        num_heads=2,
        image_shape=(size, size, 3),
        **HIDDEN,
    )
    text = hub.CLIPTextEncoder(
        vocabulary.size, 32, num_heads=2, max_sequence_length=16, **HIDDEN
    )
    clip = hub.CLIPBackbone(vision, text, projection_dim=32)
    clip.get_layer("clip_head").trainable = False
    return tfcap.models.CLIPListener(clip, vocabulary, image_key="pixels")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", help="of KerasHub: PaliGemma, Gemma 3")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--adapters", help="file *.npz to keep adapters in")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(0)
    if options.preset:
        lm = __import__("keras_hub").models.CausalLM.from_preset(options.preset)
        if (kind := type(lm).__name__) not in PROMPTS:
            parser.error(f"--preset must be of {', '.join(PROMPTS)}: {kind}")
        speaker = tfcap.models.CausalLMSpeaker(
            lm, prompt=PROMPTS[kind], image_key="pixels"
        )
        vocabulary = tfcap.text.as_vocabulary(speaker.tokenizer)
        images, captions = scenes(lm.backbone.image_size)
        listener = tfcap.models.RetrievalListener(vocabulary.size, 64, 64)
    else:
        images, captions = scenes(size=8)
        words = {
            word: None for rows in captions for x in rows for word in x.split()
        }
        vocabulary = tfcap.text.Vocabulary(list(words))
        speaker = tiny_pali_gemma(vocabulary, 8)
        listener = tiny_clip(vocabulary, 8)
    texts = sum(captions, [])
    if not options.preset:
        texts = [text.split() for text in texts]
    ids, splits = vocabulary.encode_ragged(texts, eos=True)
    length = int(np.diff(splits).max())
    tokens = np.full((len(texts), length), speaker.pad)
    for row, (start, end) in enumerate(itertools.pairwise(splits)):
        tokens[row, : end - start] = ids[start:end]
    count, side = len(images), images.shape[1] // 4
    grid = images.reshape(count, 4, side, 4, side, 3).mean(axis=(2, 4))
    batch = {
        "pixels": images,
        "image": grid.reshape(count, 16, 3),  # for a listener from scratch
        "caption": tokens.reshape(count, 2, -1),
    }
    return train(options, speaker, listener, vocabulary, batch)


def train(options, speaker, listener, vocabulary, batch):
    lora = speaker.causal_lm.backbone.enable_lora

    def fit(name, model, rate):
        model.compile(keras.optimizers.Adam(rate))
        logs = model.fit(batch, batch_size=16, epochs=options.epochs, verbose=0)
        logs = {
            key: f"{values[-1]:.3g}" for key, values in logs.history.items()
        }
        greedy = tfcap.decoding.Greedy(batch["caption"].shape[-1])
        shown = {key: rows[::9] for key, rows in batch.items()}
        said = greedy.decode(speaker, speaker.begin(shown)).tokens
        said = vocabulary.decode_batch(np.asarray(said)[:, 0])
        print(f"\n{name}: {logs}\n  " + "\n  ".join(said), flush=True)
        return said

    if options.preset:
        lora(options.rank)
    print("listener", listener(batch).shape)
    loss = tfcap.losses.BidirectionalContrastiveLoss()
    listener.compile(keras.optimizers.Adam(3e-3), loss=loss)
    listener.fit(batch, batch_size=16, epochs=options.epochs, verbose=0)
    said = {"mle": fit("mle", tfcap.methods.mle(speaker), 3e-3)}
    if not options.preset:
        lora(options.rank)
    count = tfcap.text.DocumentFrequencies.from_references
    cider = tfcap.rewards.CIDErD(
        count(batch["caption"], vocabulary), references="caption"
    )
    reference = tfcap.models.WithoutAdapters(speaker)
    reward = cider + 0.05 * tfcap.rewards.KLPenalty(reference)
    how = {"max_length": batch["caption"].shape[-1], "seed": 0}
    scst = tfcap.methods.scst(speaker, reward, num_samples=4, **how)
    said["scst"] = fit("scst", scst, 1e-3)
    psst = tfcap.methods.frozen_listener(
        speaker,
        listener,
        lambda_=0.5,
        naturalness=cider,
        estimator="psst",
        **how,
    )
    said["psst"] = fit("psst", psst, 1e-3)
    if options.adapters:
        tfcap.models.save_adapters(speaker, options.adapters)
    return said


if __name__ == "__main__":
    main()
