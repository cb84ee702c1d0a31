"""Decoder blocks of KerasHub's causal language models, with their caches."""

import inspect
from typing import Any

import keras
from keras import ops

from tfcap._ops.private_names import layers_of
from tfcap.layers._fast import cast_words
from tfcap.layers._fast import embed_words
from tfcap.models.adapters import uses_training

#: Backbones that multiply a word's embedding by the root of its size.
_SCALED = {"GemmaBackbone", "Gemma3Backbone", "PaliGemmaBackbone"}
#: Backbones that tests compare with KerasHub's own forward pass. Any other one
#: is compared with it when a speaker is made.
_TESTED = _SCALED | {
    "GPT2Backbone",
    "Llama3Backbone",
    "OPTBackbone",
    "Qwen3Backbone",
    "SmolLM3Backbone",
}
_NORMS = ("layer_norm", "norm", "final_layernorm")
_KEY_HEADS = ("num_key_value_heads", "num_heads", "num_attention_heads")
_QUERY_HEADS = ("num_query_heads", "num_heads", "num_attention_heads")


class CausalDecoder(keras.layers.Layer):
    """Runs the blocks of a causal language model of KerasHub.

    KerasHub's `call_with_cache()` reads only ids, at the same positions in
    every row, without padding between them. This layer runs the same blocks,
    with the same weights, on embedded words and features, after prompts of
    different lengths. Prompts are aligned at their ends; padding before them
    is masked, and positions count from their first word.

    Families differ in the names of arguments and the layout of a cache, which
    are read from the signatures of their blocks. A model that computes
    anything else between its embedding and its logits is rejected.

    Args:
        causal_lm: `keras_hub.models.CausalLM`.

    Raises:
        ValueError: If the model does not follow KerasHub's conventions.
    """

    def __init__(self, causal_lm: Any):
        super().__init__(dtype="float32", autocast=False, name="decoder")
        self.backbone = backbone = getattr(causal_lm, "backbone", None)
        self.name_of_model = type(causal_lm).__name__
        blocks = getattr(backbone, "transformer_layers", None)
        norm = [name for name in _NORMS if hasattr(backbone, name)]
        if not blocks or not norm or not hasattr(backbone, "token_embedding"):
            self._refuse(
                "its backbone has no `transformer_layers`, `token_embedding` "
                "and final normalization"
            )
        self.norm = getattr(backbone, norm[0])
        self.arguments = self._arguments(blocks[0])
        self.units = backbone.hidden_dim
        families = {base.__name__ for base in type(backbone).__mro__}
        self.scale = self.units**0.5 if families & _SCALED else 1.0
        # Pairs of keys and values rather than one tensor of both.
        self.pairs = "Gemma3Backbone" in families
        self.built = True
        _register_gradient()
        if type(backbone).__name__ not in _TESTED:
            self._compare(causal_lm)

    def _refuse(self, why):
        raise ValueError(
            "`causal_lm` must be a causal language model of KerasHub whose "
            "blocks cache keys and values. Received: "
            f"causal_lm={self.name_of_model}: {why}. Wrap it in "
            "`tfcap.models.TeacherForcedSpeaker`, which needs no cache."
        )

    def _arguments(self, block):
        """Names of a block's arguments: mask, cache and index."""
        names = inspect.signature(block.call).parameters
        open_ended = "kwargs" in names
        for prefix in ("self_attention_", "attention_", ""):
            cache = prefix + "cache"
            known = cache + "_update_index" in names
            if known or (prefix == "self_attention_" and open_ended):
                break
        else:
            self._refuse("the blocks take no `cache_update_index`")
        for mask in ("decoder_padding_mask", "padding_mask"):
            if mask in names:
                return {
                    "mask": mask,
                    "cache": cache,
                    "index": cache + "_update_index",
                    "responses": "response_mask" in names,
                    "vision": "vision_mask" in names,
                }
        self._refuse("the blocks take no padding mask")

    def _compare(self, causal_lm):
        """Rejects a model whose own forward pass gives other logits."""
        ids = ops.arange(4, dtype="int32")[None]
        ones = ops.ones_like(ids)
        try:
            wanted = causal_lm({"token_ids": ids, "padding_mask": ones})
            x, mask = self.embed(ids), ones[:, :3]
            hidden, cache = self(x[:, :3], mask, self.new_cache(mask))
            cache = self.extended(cache, 1)
            last, _ = self(x[:, 3:], mask, cache, index=3)
            hidden = ops.concatenate([hidden, last], axis=1)
            logits = self.compute_logits(hidden)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._refuse(f"its blocks cannot be run ({error})")
        off = ops.max(ops.abs(ops.cast(wanted - logits, "float32")))
        if not float(off) <= 0.05 * max(1.0, float(ops.max(ops.abs(wanted)))):
            self._refuse(f"its logits differ by {float(off):.2g}")

    @property
    def blocks_use_training(self) -> bool:
        """True if the blocks may differ in training."""
        return any(
            uses_training(layer)
            for block in self.backbone.transformer_layers
            for layer in layers_of(block)
        )

    @property
    def learned_positions(self) -> int | None:
        """Size of the table of position embeddings, or `None`."""
        table = self._position_embedding()
        return None if table is None else table.sequence_length

    def _position_embedding(self):
        both = getattr(self.backbone, "embeddings", self.backbone)
        return getattr(both, "position_embedding", None)

    def embed(self, words: Any) -> Any:
        """Embeds ids `(...)`, or distributions `(..., V)`, without position.

        The table is the model's own, with its adapters and dequantized.
        """
        embedding = self.backbone.token_embedding
        if "int" in keras.backend.standardize_dtype(words.dtype):
            embedded = embedding(words)
        else:
            table = embedding(ops.arange(self.backbone.vocabulary_size))
            embedded = embed_words(cast_words(words, table.dtype), table)
        return embedded * ops.cast(self.scale, embedded.dtype)

    def new_cache(self, rows: Any) -> list:
        """Returns an empty cache for the words of the rows: `(n, C, ...)`."""
        backbone = self.backbone

        def first(names):
            return next(
                getattr(backbone, name)
                for name in names
                if hasattr(backbone, name)
            )

        size = getattr(backbone, "head_dim", None)
        size = size or self.units // first(_QUERY_HEADS)
        shape = (ops.shape(rows)[1], first(_KEY_HEADS), size)
        shape = shape if self.pairs else (2, *shape)
        dtype = backbone.token_embedding.compute_dtype
        blank = ops.zeros((ops.shape(rows)[0], *shape), dtype=dtype)
        cache = (blank, blank) if self.pairs else blank
        return [cache for _ in backbone.transformer_layers]

    def slots(self, cache: list) -> Any:
        """Number of words `C` that a cache has room for."""
        first = cache[0]
        return ops.shape(first[0])[1] if self.pairs else ops.shape(first)[2]

    def extended(self, cache: list, steps: int) -> list:
        """Returns a cache with room for as many words more."""
        axis = 1 if self.pairs else 2

        def extend(tensor):
            padding = [(0, 0)] * len(tensor.shape)
            padding[axis] = (0, steps)
            return ops.pad(tensor, padding)

        return keras.tree.map_structure(extend, cache)

    def call(
        self, x, mask, cache, index=0, vision=None, remat=False, training=None
    ):
        """Reads words, and writes their keys and values to the cache.

        Args:
            x: Float tensor of shape `(n, T, D)`, embedded words.
            mask: Integer tensor of shape `(n, P)`, 1 for the words of the
                prompt, which are aligned at its end.
            cache: List of a cache for each block, of `C >= P` words.
            index: Integer or scalar tensor, where the first word is written:
                0 for the prompt, `P` and more for the words.
            vision: Integer tensor of shape `(n, P)`, optional: 1 where the
                prompt is a picture.
            remat: Boolean, whether blocks are computed again for gradients.

        Returns:
            Float tensor of shape `(n, T, D)`, and the next cache.
        """
        names = self.arguments
        x = self._with_positions(x, mask, index)
        count = self.slots(cache) - ops.shape(mask)[1]
        words = ops.ones((ops.shape(mask)[0], count), dtype=mask.dtype)
        options = {}
        if names["responses"]:
            # The prompt is seen from everywhere, the words from behind.
            options["response_mask"] = ops.concatenate(
                [ops.zeros_like(mask), words], axis=1
            )
            words = ops.zeros_like(words)
        options[names["mask"]] = ops.concatenate([mask, words], axis=1)
        options[names["index"]] = ops.convert_to_tensor(index, dtype="int32")
        if vision is not None:
            options["vision_mask"] = vision
        caches = []
        for block, before in zip(self.backbone.transformer_layers, cache):

            def run(x, before, block=block):
                return block(x, **{names["cache"]: before}, **options)

            x, after = (keras.remat(run) if remat else run)(x, before)
            caches.append(after)
        return self.norm(x), caches

    def _with_positions(self, x, mask, index):
        """Adds a family's position embeddings before its first block."""
        positions = self._position_embedding()
        backbone = self.backbone
        if positions is not None:
            prompt = ops.cumsum(mask, axis=1)
            if isinstance(index, int) and index == 0:
                place = ops.maximum(prompt - 1, 0)
            else:
                place = index - ops.shape(mask)[1] + ops.arange(ops.shape(x)[1])
                place = prompt[:, -1:] + place[None]
            added = positions(x, positions=ops.cast(place, "int32"))
            x = x + ops.cast(added, x.dtype)
        for name in ("embeddings_layer_norm", "embeddings_dropout"):
            if hasattr(backbone, name):
                x = getattr(backbone, name)(x)
        return x

    def compute_logits(self, hidden: Any) -> Any:
        """Computes logits `(..., V)` from hidden states `(..., D)`.

        KerasHub has no gradient of a quantized head: here it is that of the
        product with the dequantized table.
        """
        head = self.backbone.token_embedding
        if head.quantization_mode not in ("int8", "int4"):
            return head(hidden, reverse=True)

        @ops.custom_gradient
        def product(hidden):
            logits = _uncapped(head(hidden, reverse=True), head)

            def gradient(*args, upstream=None):
                slope = args[0] if upstream is None else upstream
                table = ops.cast(self._dequantized_head(head), slope.dtype)
                return ops.cast(ops.matmul(slope, table), hidden.dtype)

            return logits, gradient

        logits, cap = product(hidden), head.logit_soft_cap
        # Out here, it has second derivatives.
        return logits if cap is None else ops.tanh(logits / cap) * cap

    def _dequantized_head(self, head):
        """Returns the dequantized table `(V, D)` of a head."""
        if head.tie_weights and not head.lora_enabled:
            return head(ops.arange(head.input_dim))
        # Every unit alone, which no quantizer of inputs rounds.
        units = ops.eye(self.units, dtype=head.compute_dtype)
        return ops.transpose(_uncapped(head(units, reverse=True), head))


def _uncapped(logits, head):
    """Returns the logits `(..., V)` of a head before its soft cap."""
    cap = head.logit_soft_cap
    if cap is None:
        return logits
    share = ops.cast(logits, "float32") / cap
    return cap * ops.arctanh(ops.clip(share, -1 + 1e-7, 1 - 1e-7))


def _register_gradient():
    """Registers the gradient of a slice update, which TensorFlow lacks.

    ```
    output = operand, but `update` in the slice
    ```
    """
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    def gradient(operation, upstream):
        operand, update, start = operation.inputs
        start = tf.cast(start, tf.int32)
        size = tf.shape(update)
        start = tf.clip_by_value(start, 0, tf.shape(operand) - size)
        blank = tf.zeros_like(update)
        to_operand = ops.slice_update(upstream, start, blank)
        return to_operand, tf.slice(upstream, start, size), None

    try:
        tf.RegisterGradient("XlaDynamicUpdateSlice")(gradient)
    except KeyError:
        # Registered before, by another speaker or by TensorFlow itself.
        return
