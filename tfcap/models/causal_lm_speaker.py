"""Speakers of pretrained causal language models."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops.arguments import config_of
from tfcap._ops.private_names import layers_of
from tfcap._ops.sequences import batch_entry
from tfcap._ops.sequences import check_shapes
from tfcap._ops.sequences import check_values
from tfcap.layers._fast import masked_word_scores
from tfcap.models.adapters import uses_training
from tfcap.models.causal_decoder import CausalDecoder
from tfcap.models.inputs import entry
from tfcap.models.inputs import with_parts
from tfcap.models.inputs import word_ids
from tfcap.models.word_by_word import never_said
from tfcap.text import as_vocabulary


def prompt_ids(speaker: Any, prompt: Any) -> tuple[int, ...]:
    """Reads the prompt of a speaker: a string, ids, or `None` for the start.

    In a string, the start of an image is followed by a placeholder for every
    vector of the image, as in KerasHub's preprocessor.

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
            "`prompt` must be a tuple of ids if `causal_lm` has no "
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
        `(B, P)`, 1 where the prompt holds a picture that the model encodes,
        or `None`.
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
                "`inputs` must hold `prompt`, of shape (B, L), if the speaker "
                "has neither a start token nor a prompt. Received: inputs "
                f"with {', '.join(sorted(inputs))}. Add it to the batch, or "
                "make the speaker with `prompt=`."
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
    """Returns whether pictures stand amid the prompts."""
    encoder = getattr(speaker.causal_lm.backbone, "vision_encoder", None)
    if encoder is None or speaker.image_key not in inputs:
        return False
    if speaker.image_token is None:
        raise ValueError(
            "`image_token` must be the id of an image's placeholder in "
            "prompts if a batch holds an image and no tokenizer of `causal_lm` "
            "names it. Received: image_token=None. Pass it, or another "
            "`image_key` if the image is not for this model."
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
        "Received: another number of placeholders. Make the prompt by the "
        "model's preprocessor, or from a string with `<start_of_image>`.",
    )
    order = ops.clip(ops.cumsum(vision, axis=1) - 1, 0, count - 1)
    image = ops.take_along_axis(image, order[..., None], axis=1)
    image = ops.cast(image, x.dtype)
    return ops.where(vision[..., None] > 0, image, x), vision


def _aligned(x, mask, *others):
    """Moves all padding before the words, whose order stays."""
    length = ops.shape(mask)[1]
    order = ops.argsort(mask * length + ops.arange(length), axis=1)
    x = ops.take_along_axis(x, order[..., None], axis=1)
    return x, *(ops.take_along_axis(y, order, axis=1) for y in (mask, *others))


@keras.saving.register_keras_serializable(package="tfcap")
class CausalLMSpeaker(keras.Model):
    """Wraps a causal language model of KerasHub as a speaker.

    ```
    speaker = CausalLMSpeaker(
        keras_hub.models.CausalLM.from_preset("gpt2_base_en"),
        prefix=keras.layers.Dense(768),
    )
    ```

    `begin()` reads a row's picture and prompt, once for all its samples, and
    caches their keys and values; `step()` reads a word; `log_probs()` and
    `logits()` read all words in one pass. Prompts of a batch may differ in
    length. A picture is read by the model's own vision encoder, or, with
    `prefix`, as features in front of the prompt.

    Words are ids or distributions, which the model's own table embeds with
    gradient. The trainable weights of `causal_lm` are trained: after
    `causal_lm.backbone.enable_lora(rank)` its adapters, also in a model
    quantized by `quantize("int8")` or `("int4")`.

    Decoders replace KerasHub's samplers: `GreedySampler()` is `Greedy()`,
    `TopKSampler(k)` is `Sample(top_k=k)`, `TopPSampler(p, k)` is
    `Sample(top_p=p, top_k=k)`, `BeamSampler(n)` is `BeamSearch(n)`, and their
    `temperature` is that of `Categorical(temperature)`.

    Args:
        causal_lm: `keras_hub.models.CausalLM`, which is not copied.
        prompt: Tuple of ids, or a string for the model's tokenizer, the prompt
            of batches that hold no `prompt`. In a string for Gemma 3,
            `<start_of_image>` stands for an image, as in KerasHub's
            preprocessor. Defaults to the start token.
        prefix: Keras layer from features `(B, P, D)` to `(B, P, hidden_dim)`,
            optional.
        bos: Integer, id of the start token. Defaults to the tokenizer's.
        eos: Integer, or tuple of integers, ids that end a sequence. Defaults
            to the tokenizer's.
        pad: Integer, id of padding in captions and prompts. Defaults to the
            tokenizer's if it is a token of its own, else to the end token.
        suppress: Tuple of ids that are never generated, beside padding and
            start. If some of `eos` are among them, human captions must end
            with another one.
        image_key: String, key of the image in a batch; its mask is under this
            key with `_mask`. Defaults to `"image"`.
        image_token: Integer, id of the placeholder of an image's vector in
            prompts, for models that read images within the prompt, such as
            Gemma 3. Defaults to the tokenizer's.
        remat: Boolean, whether activations of blocks are computed again for
            gradients rather than kept. Defaults to `False`.

    Call arguments:
        inputs: Dict of `caption`, `(B, S, T)` integers padded with `pad`;
            optionally `image`, features `(B, P, D)` for `prefix`, with an
            optional `image_mask`, `(B, P)`, nonzero where there is a position;
            or pixels for the model's encoder, `(B, H, W, 3)`, or
            `(B, M, H, W, 3)` of several images; optionally `prompt`, `(B, L)`
            integers, with a `prompt_mask`, `(B, L)`, 1 where there is a word,
            by default where `prompt` is not `pad`. An empty prompt is read as
            one `pad`.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, S, T, V)`: logits of the words of `caption`.

    Example:

    >>> hub = __import__("keras_hub").models
    >>> backbone = hub.GPT2Backbone(
    ...     50, num_layers=1, num_heads=1, hidden_dim=4, intermediate_dim=4
    ... )
    >>> speaker = tfcap.models.CausalLMSpeaker(
    ...     hub.GPT2CausalLM(backbone), bos=1, eos=2, pad=0
    ... )
    >>> speaker({"caption": np.array([[[5, 6, 2, 0]]])}).shape
    TensorShape([1, 1, 4, 50])
    """

    #: A step costs a pass through all blocks: decoders do not unroll.
    unroll = False

    #: Frozen weights are those of a preset, which checkpoints leave out.
    pretrained = True

    def __init__(
        self,
        causal_lm: Any,
        prompt: Any = None,
        prefix: Any = None,
        bos: int | None = None,
        eos: Any = None,
        pad: int | None = None,
        suppress: tuple[int, ...] = (),
        image_key: str = "image",
        image_token: int | None = None,
        remat: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.decoder = CausalDecoder(causal_lm)
        self.causal_lm = causal_lm
        self.vocabulary_size = causal_lm.backbone.vocabulary_size
        self.prefix = prefix
        self.image_key = image_key
        self.image_token = image_token
        if getattr(causal_lm.backbone, "vision_encoder", None) is None:
            self.image_token = None
        elif image_token is None:
            name = "image_placeholder_id"
            self.image_token = getattr(self.tokenizer, name, None)
        self.remat = remat
        if remat and self.decoder.blocks_use_training:
            raise ValueError(
                "`remat` must be False if blocks of `causal_lm` use dropout, "
                "which would draw other masks when a block is computed again. "
                "Received: remat=True. Call "
                "`tfcap.models.without_dropout(causal_lm)` first."
            )
        self._read_special_ids(bos, eos, pad)
        self.suppress = self.checked_ids(suppress, "suppress")
        silent = never_said((self.bos, self.pad), self.eos)
        self.suppressed_ids = tuple(sorted({*silent, *self.suppress}))
        if {*np.ravel(self.eos).tolist()} <= {*self.suppressed_ids}:
            raise ValueError(
                "`suppress` must not hold every token of `eos`. Received: "
                f"suppress={self.suppress}, eos={self.eos}. Remove the token "
                "that ends captions from `suppress`."
            )
        self.prompt = prompt_ids(self, prompt)
        self.built = prefix is None

    def _read_special_ids(self, bos, eos, pad):
        tokenizer = self.tokenizer
        if eos is None:
            names = ("end_token_id", "end_token2_id")
            eos = [getattr(tokenizer, name, None) for name in names]
            eos = tuple(i for i in eos if i is not None)
            # Gemma 3 ends its turn with a token that its tokenizer does not
            # name; its `generate()` stops there, too.
            if eos and type(self.causal_lm).__name__ == "Gemma3CausalLM":
                eos = (*eos, tokenizer.token_to_id("<end_of_turn>"))
        eos = eos if isinstance(eos, tuple | list) else (eos,)
        if not eos:
            raise ValueError(
                "`eos` must be an id, or a tuple of ids, if no tokenizer of "
                "`causal_lm` names the end token. Received: eos=None. Pass the "
                "id of the token that ends a caption."
            )
        eos = self.checked_ids(eos, "eos")
        self.eos = eos[0] if len(eos) == 1 else eos
        if pad is None and hasattr(tokenizer, "pad_token"):
            pad = tokenizer.pad_token_id
        (self.pad,) = self.checked_ids([eos[0] if pad is None else pad], "pad")
        bos = getattr(tokenizer, "start_token_id", None) if bos is None else bos
        self.has_start = bos is not None
        # The id that decoders hand over first; the prompt is read instead.
        self.bos = (
            self.pad if bos is None else self.checked_ids([bos], "bos")[0]
        )

    def checked_ids(self, ids: Any, name: str) -> tuple[int, ...]:
        """Returns ids as integers; rejects those beyond the vocabulary."""
        size = self.vocabulary_size
        try:
            ids = tuple(int(i) for i in ids)
        except (TypeError, ValueError):
            ids = (-1,)
        if all(0 <= i < size for i in ids):
            return ids
        raise ValueError(
            f"`{name}` must hold ids from 0 to {size - 1}, those of the "
            f"vocabulary. Received: {name}={ids}."
        )

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, or `None`."""
        preprocessor = getattr(self.causal_lm, "preprocessor", None)
        return getattr(preprocessor, "tokenizer", None)

    @property
    def vocabulary(self) -> Any:
        """The tokenizer as a vocabulary, or `None`."""
        return None if self.tokenizer is None else as_vocabulary(self.tokenizer)

    @property
    def begin_uses_training(self) -> bool:
        """True if `begin(training=True)` may differ from inference."""
        return any(uses_training(layer) for layer in layers_of(self))

    def build(self, input_shape):
        if self.prefix is not None and not self.prefix.built:
            self.prefix.build(
                tuple(entry(input_shape, self.image_key, "B P D"))
            )
        self.built = True

    def call(self, inputs, training=False):
        state = self.begin(inputs, training=training)
        return self.logits(state, self.references(inputs), training)

    def references(self, inputs: dict) -> Any:
        """Returns the human captions: `(B, S, T)`."""
        return word_ids(inputs, "caption", "B S T", self.pad)

    def begin(self, inputs: dict, training: bool = False) -> dict:
        """Reads pictures and prompts.

        Returns:
            Dict of `cache`, keys and values of `P` words; `mask`, `(B, P)`,
            zeros and then ones; and `hidden`, `(B, D)`, of the last word.
        """
        x, mask, vision = embedded_prompts(self, inputs, training)
        self._check_length(mask, 0)
        hidden, cache = self.decoder(
            x,
            mask,
            self.decoder.new_cache(mask),
            vision=vision,
            remat=self.remat and training,
            training=training,
        )
        return {"cache": cache, "mask": mask, "hidden": hidden[:, -1]}

    def _check_length(self, mask, words):
        room, length = self.decoder.learned_positions, mask.shape[1]
        if room is None or length is None or length + words <= room:
            return
        raise ValueError(
            f"`causal_lm` has {room} positions, which prompt, picture and "
            f"caption must fit. Received: {length} of prompt and picture, and "
            f"{words} of caption. Shorten the prompt or `max_length`."
        )

    def fixed_state(
        self, state: dict, steps: int, room: int | None = None
    ) -> dict:
        """Returns a state of `begin()` with constant shapes for `steps` words.

        With `room`, it has room for as many before `extend_state()`.
        """
        self._check_length(state["mask"], steps - 1)
        cache = self.decoder.extended(state["cache"], room or steps)
        # Calls of `step()`; the first one gets no word of the caption.
        calls = ops.zeros_like(state["mask"][:, 0])
        return {**state, "cache": cache, "calls": calls}

    def extend_state(self, state: dict, more: int) -> dict:
        """Returns a fixed state with room for `more` more words."""
        cache = self.decoder.extended(state["cache"], more)
        return {**state, "cache": cache}

    def step(
        self, words: Any, state: dict, training: bool = False
    ) -> tuple[Any, dict]:
        """Reads one word: logits `(B, V)` of the next, and the next state.

        The first step reads nothing, since the prompt has been read.
        """
        cache, mask, prompt = state["cache"], state["mask"], state["hidden"]
        if "calls" in state:
            # All rows are of one step; of no rows there is none.
            calls = ops.max(ops.pad(state["calls"], [(0, 1)]))
            place = ops.shape(mask)[1] + ops.maximum(calls - 1, 0)
        elif "started" in state:
            place = self.decoder.slots(cache)
            cache = self.decoder.extended(cache, 1)
        else:
            started = ops.ones_like(mask[:, 0])
            return self.compute_logits(prompt), {**state, "started": started}
        hidden, cache = self.decoder(
            self.decoder.embed(words)[:, None],
            mask,
            cache,
            index=place,
            training=training,
        )
        hidden = hidden[:, 0]
        if "calls" in state:
            hidden = ops.where(ops.equal(calls, 0), prompt, hidden)
            state = {**state, "calls": state["calls"] + 1}
        state = {**state, "cache": cache, "hidden": hidden}
        return self.compute_logits(hidden), state

    def compute_logits(self, hidden: Any) -> Any:
        """Computes logits `(..., V)` from hidden states `(..., D)`."""
        logits = self.decoder.compute_logits(hidden)
        if not self.suppressed_ids:
            return logits
        ids = ops.convert_to_tensor(self.suppressed_ids, dtype="int32")
        size = self.vocabulary_size
        floor = ops.sum(ops.one_hot(ids, size, dtype="float32"), axis=0)
        return ops.cast(logits, "float32") - 1e9 * floor

    def state_vector(self, state: dict) -> Any:
        """Returns the last word's hidden state: `(n, D)`."""
        return state["hidden"]

    def _teacher_forced(self, state, tokens, training):
        """Returns rows `(B * S, T)`, and hidden states before their words."""
        check_shape(tokens, "B S T", "tokens")
        shape = ops.shape(tokens)
        rows = ops.cast(ops.reshape(tokens, (-1, shape[2])), "int32")
        state = repeat_samples(state, shape[1])
        hidden = state["hidden"][:, None]
        if tokens.shape[2] == 1:
            return rows, hidden
        self._check_length(state["mask"], (tokens.shape[2] or 2) - 1)
        words, _ = self.decoder(
            self.decoder.embed(rows[:, :-1]),
            state["mask"],
            self.decoder.extended(state["cache"], shape[2] - 1),
            index=ops.shape(state["mask"])[1],
            remat=self.remat and training,
            training=training,
        )
        return rows, ops.concatenate([hidden, words], axis=1)

    def logits(self, state: dict, tokens: Any, training: bool = False) -> Any:
        """Computes logits before given words in one pass.

        Args:
            state: Dict, from `begin()`.
            tokens: Integer tensor of shape `(B, S, T)`.
            training: Boolean.

        Returns:
            Float tensor of shape `(B, S, T, V)`.
        """
        _, hidden = self._teacher_forced(state, tokens, training)
        shape = (*ops.shape(tokens), self.vocabulary_size)
        return ops.reshape(self.compute_logits(hidden), shape)

    def log_probs(
        self, state: dict, tokens: Any, training: bool = False
    ) -> Any:
        """Scores given words in one pass: `(B, S, T)` to `(B, S, T)`."""
        rows, hidden = self._teacher_forced(state, tokens, training)
        mask = sequence_mask(rows, self.eos, self.pad)
        scores = masked_word_scores(self.compute_logits, hidden, rows, mask)
        return ops.reshape(scores, ops.shape(tokens))

    def get_config(self):
        names = (
            "causal_lm prompt prefix eos pad suppress image_key image_token "
            "remat"
        )
        config = config_of(self, names)
        # Its own optimizer trains nothing here.
        config["causal_lm"].pop("compile_config", None)
        bos = self.bos if self.has_start else None
        return {**super().get_config(), **config, "bos": bos}

    @classmethod
    def from_config(cls, config):
        return cls(**with_parts(config, "causal_lm", "prefix"))
