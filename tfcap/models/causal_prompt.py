"""Pictures and prompts that a causal language model reads first."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import batch_entry
from tfcap._ops.arguments import check_shapes
from tfcap._ops.arguments import check_values
from tfcap.models.inputs import entry
from tfcap.models.inputs import word_ids


def prompt_ids(speaker: Any, prompt: Any) -> tuple[int, ...]:
    """Reads the prompt of a speaker: a string, ids, or `None` for the start.

    In a string, the start of an image is followed by a placeholder for every
    vector of the image, as KerasHub's preprocessor has it.

    Raises:
        ValueError: If there is no tokenizer, or no such id.
    """
    start = (speaker.bos,) if speaker.has_start else ()
    if prompt is None:
        return start
    if not isinstance(prompt, str):
        return speaker.checked_ids(prompt, "prompt")
    if speaker.tokenizer is None:
        raise ValueError(
            "`prompt` must be a tuple of ids where `causal_lm` has no "
            f"tokenizer. Received: prompt={prompt!r}."
        )
    preprocessor = speaker.causal_lm.preprocessor
    placeholder = getattr(preprocessor, "image_placeholder", None)
    if placeholder is not None:
        begin = preprocessor.start_of_image_token
        image = placeholder * preprocessor.num_vision_tokens_per_image
        image = f"{begin}{image}{preprocessor.end_of_image_token}"
        prompt = prompt.replace(begin, f"\n\n{image}\n\n")
    words = ops.convert_to_numpy(speaker.tokenizer([prompt])[0])
    return (*start, *(int(i) for i in words))


def embedded_prompts(
    speaker: Any, inputs: dict, training: bool
) -> tuple[Any, Any, Any]:
    """Embeds the pictures and prompts of a batch, aligned at their ends.

    Args:
        speaker: `tfcap.models.CausalLMSpeaker`.
        inputs: Dict, the batch.
        training: Boolean.

    Returns:
        Embeddings `(B, P, D)`; their mask `(B, P)`, zeros and then ones; and
        `(B, P)`, 1 where the model's own pictures stand in the prompt, or
        `None`.
    """
    prompt, mask = _prompt_ids(speaker, inputs)
    x, vision = speaker.decoder.embed(prompt), None
    encoder = getattr(speaker.causal_lm.backbone, "vit_encoder", None)
    if speaker.prefix is not None:
        image, here = _features(speaker, inputs, training)
        x, mask = _after_image(image, x, mask, here)
    elif encoder is not None:
        pixels = batch_entry(inputs, speaker.image_key, "pixels of the image")
        image = encoder(pixels, training=training)
        x, mask = _after_image(image, x, mask, None)
    elif _has_pictures(speaker, inputs):
        x, vision = _interleaved(speaker, prompt, x, inputs, training)
    parts = (x, mask) if vision is None else (x, mask, vision)
    if mask.shape[1] == 1:
        # Keras warns of a softmax over a single word.
        parts = [ops.repeat(part, 2, axis=1) for part in parts]
        parts[1] = parts[1] * ops.arange(2)
    x, mask, *vision = _aligned(*parts)
    return x, mask, vision[0] if vision else None


def _prompt_ids(speaker, inputs):
    """Prompts `(B, L)`, and their mask."""
    if "prompt" not in inputs:
        if not speaker.prompt:
            raise ValueError(
                "`inputs` must hold `prompt`, of shape (B, L), where the "
                "speaker has neither a start token nor a prompt of its "
                f"own. Received: inputs with {', '.join(sorted(inputs))}."
            )
        rows = ops.shape(keras.tree.flatten(inputs)[0])[0]
        prompt = ops.convert_to_tensor(speaker.prompt, dtype="int32")[None]
        prompt = ops.repeat(prompt, rows, axis=0)
        return prompt, ops.ones_like(prompt)
    prompt = word_ids(inputs, "prompt", "B L", speaker.pad)
    if "prompt_mask" in inputs:
        mask = ops.cast(entry(inputs, "prompt_mask", "B L"), "bool")
    else:
        mask = ops.not_equal(prompt, speaker.pad)
    length = ops.shape(prompt)[1]
    empty = ops.logical_not(ops.any(mask, axis=1, keepdims=True))
    last = ops.equal(ops.arange(length), length - 1)
    mask = ops.logical_or(mask, ops.logical_and(empty, last))
    return prompt, ops.cast(mask, "int32")


def _features(speaker, inputs, training):
    """Prefix `(B, P, D)` made of features, and their mask, or `None`."""
    image = entry(inputs, speaker.image_key, "B P D")
    image = speaker.prefix(image, training=training)
    mask = inputs.get(f"{speaker.image_key}_mask")
    if mask is not None:
        name = f"{speaker.image_key}_mask"
        check_shapes(prefix=(image, "B P D"), **{name: (mask, "B P")})
    return image, mask


def _after_image(image, x, mask, image_mask):
    """Puts an image `(B, P, D)` in front of the prompt."""
    here = ops.ones_like(image[..., 0], dtype="int32")
    if image_mask is not None:
        here = ops.cast(ops.cast(image_mask, "bool"), "int32")
    x = ops.concatenate([ops.cast(image, x.dtype), x], axis=1)
    return x, ops.concatenate([here, mask], axis=1)


def _has_pictures(speaker, inputs):
    """Check whether pictures stand amid the prompts."""
    encoder = getattr(speaker.causal_lm.backbone, "vision_encoder", None)
    if encoder is None or speaker.image_key not in inputs:
        return False
    if speaker.image_token is None:
        raise ValueError(
            "`image_token` must be the id that stands for an image's vectors "
            "in prompts, where a batch holds an image and `causal_lm` has no "
            "tokenizer that names it. Received: image_token=None. Pass it, or "
            "another `image_key` if the image is not for this model."
        )
    return True


def _interleaved(speaker, prompt, x, inputs, training):
    """Puts images where the prompt has placeholders, and says where."""
    pixels = batch_entry(inputs, speaker.image_key, "pixels of the images")
    if len(pixels.shape) == 4:
        pixels = pixels[:, None]
    image = speaker.causal_lm.backbone.vision_encoder(pixels, training=training)
    shape = ops.shape(x)
    # All vectors of a row's images, one after another: (B, M, D).
    image = ops.reshape(image, (shape[0], -1, shape[2]))
    vision = ops.cast(ops.equal(prompt, speaker.image_token), "int32")
    count = ops.shape(image)[1]
    check_values(
        ops.all(ops.equal(ops.sum(vision, axis=1), count)),
        "`prompt` must hold the placeholder of images, "
        f"{speaker.image_token}, once for every vector of the row's images. "
        "Received: another number of them. Let the model's preprocessor make "
        "the prompt, or pass the speaker a string with `<start_of_image>`.",
    )
    order = ops.clip(ops.cumsum(vision, axis=1) - 1, 0, count - 1)
    image = ops.take_along_axis(image, order[..., None], axis=1)
    image = ops.cast(image, x.dtype)
    return ops.where(vision[..., None] > 0, image, x), vision


def _aligned(x, mask, *others):
    """Moves padding, wherever it is, before the words, in their order."""
    length = ops.shape(mask)[1]
    order = ops.argsort(mask * length + ops.arange(length), axis=1)
    x = ops.take_along_axis(x, order[..., None], axis=1)
    return x, *(ops.take_along_axis(y, order, axis=1) for y in (mask, *others))
