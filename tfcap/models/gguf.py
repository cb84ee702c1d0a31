"""Causal language models of KerasHub from GGUF files."""

import dataclasses
import re
from os import PathLike
from typing import Any

import keras
import numpy as np

from tfcap._ops.arguments import optional_package

#: What reading a damaged file may raise.
_DAMAGED = ValueError, IndexError, KeyError, TypeError, OverflowError
#: Types of SentencePiece's pieces, by the numbers of GGUF.
_PIECES = "NORMAL UNKNOWN CONTROL USER_DEFINED UNUSED BYTE".split()

_GEMMA3 = {
    "attn_norm": "pre_attention_norm",
    "attn_q": "attention.query_dense",
    "attn_k": "attention.key_dense",
    "attn_v": "attention.value_dense",
    "attn_q_norm": "attention.query_norm",
    "attn_k_norm": "attention.key_norm",
    "attn_output": "attention.output_dense",
    "post_attention_norm": "post_attention_norm",
    "ffn_norm": "pre_ffw_norm",
    "ffn_gate": "gating_ffw",
    "ffn_up": "gating_ffw_2",
    "ffn_down": "ffw_linear",
    "post_ffw_norm": "post_ffw_norm",
}
_LLAMA = {
    "attn_norm": "_self_attention_layernorm",
    "attn_q": "_self_attention_layer._query_dense",
    "attn_k": "_self_attention_layer._key_dense",
    "attn_v": "_self_attention_layer._value_dense",
    "attn_output": "_self_attention_layer._output_dense",
    "ffn_norm": "_feedforward_layernorm",
    "ffn_gate": "_feedforward_gate_dense",
    "ffn_up": "_feedforward_intermediate_dense",
    "ffn_down": "_feedforward_output_dense",
}
_QWEN3 = {
    **_LLAMA,
    "attn_q_norm": "_self_attention_layer._query_dense_layer_norm",
    "attn_k_norm": "_self_attention_layer._key_dense_layer_norm",
}
#: Axes of a weight: d of the hidden state, f of the feed-forward layer, q and
#: k of all queries and keys, h of one head, v of the vocabulary.
_AXES = {
    "attn_q": "qd",
    "attn_k": "kd",
    "attn_v": "kd",
    "attn_q_norm": "h",
    "attn_k_norm": "h",
    "attn_output": "dq",
    "ffn_gate": "fd",
    "ffn_up": "fd",
    "ffn_down": "df",
    "token_embd": "vd",
    "output": "vd",
}


def from_gguf(path: str | PathLike, dtype: Any = None) -> Any:
    """Reads a causal language model and its tokenizer from a GGUF file.

    The families are Gemma 3 (its text model), Llama and Qwen 3, in any type of
    quantization, which is undone. Needs `pip install tfcap[gguf]`.

    Args:
        path: String or path of one file.
        dtype: Data type or policy of the model. Defaults to Keras' policy.

    Returns:
        `keras_hub.models.CausalLM` with a preprocessor, for
        `tfcap.models.CausalLMSpeaker`, or for its own `generate()`.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If `gguf`, `keras_hub` or `sentencepiece` is missing.
        ValueError: If the file is damaged, of another family, or has weights
            or a kind of positions that KerasHub's model has not.

    Example:

    ```python
    lm = tfcap.models.from_gguf("gemma-3-270m-Q4_K_M.gguf")
    lm.generate("A photo of a dog that", max_length=20)
    ```
    """
    gguf, hub = _package("gguf"), _package("keras_hub").models
    try:
        file = _File(gguf, path)
        family = file.family()
        sizes = file.sizes(family)
        tokenizer = _tokenizer(file, family, hub)
    except _Refused:
        raise
    except _DAMAGED as error:
        raise ValueError(
            "`path` must name a whole GGUF file. Received: "
            f"path={str(path)!r}: {error}. Fetch the file again."
        ) from error
    # Words lie here as arrays, hundreds of megabytes of them.
    file.fields.clear()
    backbone = getattr(hub, f"{family.name}Backbone")(**sizes, dtype=dtype)
    _assign(backbone, file, family)
    preprocessor = getattr(hub, f"{family.name}CausalLMPreprocessor")
    task = getattr(hub, f"{family.name}CausalLM")
    return task(backbone=backbone, preprocessor=preprocessor(tokenizer))


def _package(name):
    return optional_package(name, "from_gguf", "gguf")


class _Refused(ValueError):
    """A whole file that cannot be used."""


@dataclasses.dataclass(frozen=True)
class _Family:
    """A family of models, as KerasHub names it.

    Attributes:
        name: String, the beginning of its classes.
        weights: Dict from names in GGUF to places in a block.
        byte_pairs: Boolean, whether its tokenizer is not SentencePiece.
    """

    name: str
    weights: dict[str, str]
    byte_pairs: bool


_FAMILIES = {
    ("gemma3", "llama"): _Family("Gemma3", _GEMMA3, False),
    ("llama", "llama"): _Family("Llama", _LLAMA, False),
    ("llama", "gpt2"): _Family("Llama3", _LLAMA, True),
    ("qwen3", "gpt2"): _Family("Qwen3", _QWEN3, True),
}


class _File:
    """Contents of a GGUF file."""

    def __init__(self, gguf, path):
        self.path = str(path)
        reader = gguf.GGUFReader(path)
        self.fields = reader.fields
        self.tensors = {x.name: x for x in reader.tensors}
        self.dequantize = gguf.quants.dequantize
        self.untied = "output.weight" in self.tensors
        self.architecture = ""
        self.architecture = self.get("general.architecture")

    def refused(self, why):
        return _Refused(
            "`path` must name a model of a family that is known. Received: "
            f"path={self.path!r}: {why}."
        )

    def get(self, name, *default):
        """A value by its full name, or by that after the architecture's."""
        for key in (name, f"{self.architecture}.{name}"):
            if key in self.fields:
                return self.fields[key].contents()
        if default:
            return default[0]
        raise ValueError(f"it has no {name}")

    def family(self):
        kind = self.architecture, self.get("tokenizer.ggml.model")
        if kind not in _FAMILIES:
            known = sorted({name for name, _ in _FAMILIES})
            raise self.refused(
                f"architecture {kind[0]!r} with tokenizer {kind[1]!r}. "
                f"Families are {', '.join(known)}"
            )
        return _FAMILIES[kind]

    def sizes(self, family):
        """Arguments of the backbone; the weights are known to fit them."""
        heads = self.get("attention.head_count")
        hidden = self.get("embedding_length")
        found = {
            "vocabulary_size": len(self.get("tokenizer.ggml.tokens")),
            "num_layers": self.get("block_count"),
            "num_query_heads": heads,
            "num_key_value_heads": self.get("attention.head_count_kv", heads),
            "hidden_dim": hidden,
            "intermediate_dim": self.get("feed_forward_length"),
            "layer_norm_epsilon": self.get("attention.layer_norm_rms_epsilon"),
        }
        kind = self.get("rope.scaling.type", "none")
        if kind not in ("none", "linear"):
            raise self.refused(f"positions are scaled by {kind!r}")
        scale = self.get("rope.scaling.factor", 1.0)
        base = self.get("rope.freq_base", 10000.0)
        head = self.get("attention.key_length", hidden // heads)
        if family.name == "Gemma3":
            if base != 1e6:
                raise self.refused(f"rope.freq_base is {base:g}, not 1e6")
            found |= {
                "image_size": None,
                "head_dim": head,
                # As llama.cpp tells the largest model from the others.
                "query_head_dim_normalize": found["num_layers"] != 62,
                "use_post_ffw_norm": True,
                "use_post_attention_norm": True,
                "use_sliding_window_attention": True,
                "sliding_window_size": self.get("attention.sliding_window"),
                "global_rope_scaling_factor": scale,
            }
        elif family.name == "Qwen3":
            found |= {
                "head_dim": head,
                "rope_scaling_factor": scale,
                "rope_max_wavelength": base,
                "tie_word_embeddings": not self.untied,
            }
        else:
            # Its configuration cannot say that tables are tied: two are made.
            found |= {
                "rope_position_scaling_factor": scale,
                "rope_max_wavelength": base,
            }
        self.check(family, found, head)
        return found

    def check(self, family, sizes, head):
        """Refuses weights that are missing, unknown or of other shapes."""
        lengths = {
            "d": sizes["hidden_dim"],
            "f": sizes["intermediate_dim"],
            "q": sizes["num_query_heads"] * head,
            "k": sizes["num_key_value_heads"] * head,
            "h": head,
            "v": sizes["vocabulary_size"],
        }
        wanted = {"token_embd", "output_norm"}
        if family.name != "Gemma3" and self.untied:
            wanted |= {"output"}
        # No more blocks than there are weights: the number may be nonsense.
        if sizes["num_layers"] > len(self.tensors):
            raise ValueError(f"it has not all of {sizes['num_layers']} blocks")
        for i in range(sizes["num_layers"]):
            wanted |= {f"blk.{i}.{name}" for name in family.weights}
        wanted = {f"{name}.weight" for name in wanted}
        if lacking := sorted(wanted - {*self.tensors}):
            raise ValueError(f"it has no {lacking[0]}")
        if unknown := sorted({*self.tensors} - wanted):
            raise self.refused(
                f"{', '.join(unknown[:3])} is not in KerasHub's {family.name}"
            )
        for name in wanted:
            axes = _AXES.get(name.split(".")[-2], "d")
            shape = tuple(int(n) for n in self.tensors[name].shape[::-1])
            if shape != tuple(lengths[axis] for axis in axes):
                raise ValueError(f"{name} has the shape {shape}")

    def weight(self, name):
        """A weight in float32, in PyTorch's layout: `(outputs, inputs)`."""
        tensor = self.tensors[f"{name}.weight"]
        found = np.empty(tensor.shape[::-1], "float32")
        # What is computed on the way takes some times the memory.
        for first in range(0, len(found), 4096):
            rows = slice(first, first + 4096)
            found[rows] = self.dequantize(tensor.data[rows], tensor.tensor_type)
        return found


def _tokenizer(file, family, hub):
    tokens, options = file.get("tokenizer.ggml.tokens"), {}
    if family.name == "Gemma3":
        options = {"has_vision_tokens": False}
    elif family.name == "Llama3":
        options = {
            "bos_token": tokens[file.get("tokenizer.ggml.bos_token_id")],
            "eos_token": tokens[file.get("tokenizer.ggml.eos_token_id")],
            "misc_special_tokens": {"<|start_header_id|>", "<|end_header_id|>"}
            & {*tokens},
        }
    if family.byte_pairs:
        ids = {token: i for i, token in enumerate(tokens)}
        merges = file.get("tokenizer.ggml.merges")
        options |= {"vocabulary": ids, "merges": merges}
    else:
        options["proto"] = _sentencepiece(file, tokens)
    try:
        return getattr(hub, f"{family.name}Tokenizer")(**options)
    except ValueError as error:
        raise file.refused(str(error).rstrip(".")) from error


def _sentencepiece(file, tokens):
    """The vocabulary as a model of SentencePiece, serialized."""
    protos = _package("sentencepiece.sentencepiece_model_pb2")
    model, kinds = protos.ModelProto(), protos.ModelProto.SentencePiece
    for token, score, kind in zip(
        tokens,
        file.get("tokenizer.ggml.scores"),
        file.get("tokenizer.ggml.token_type"),
        strict=True,
    ):
        kind = getattr(kinds, _PIECES[kind - 1])
        model.pieces.add(piece=token, score=score, type=kind)
    trainer, text = model.trainer_spec, model.normalizer_spec
    for name, key in (
        ("unk", "unknown"),
        ("bos", "bos"),
        ("eos", "eos"),
        ("pad", "padding"),
    ):
        i = file.get(f"tokenizer.ggml.{key}_token_id", -1)
        setattr(trainer, f"{name}_id", i)
        if i >= 0:
            setattr(trainer, f"{name}_piece", tokens[i])
    # SentencePiece wants exactly one such piece; files name it by its id.
    if trainer.unk_id >= 0:
        model.pieces[trainer.unk_id].type = kinds.UNKNOWN
    trainer.model_type = protos.TrainerSpec.BPE
    trainer.byte_fallback = True
    text.name = "identity"
    default = file.architecture == "llama"
    text.add_dummy_prefix = file.get("tokenizer.ggml.add_space_prefix", default)
    text.remove_extra_whitespaces = False
    text.escape_whitespaces = True
    return model.SerializeToString()


def _assign(backbone, file, family):
    """Assigns the weights, one after another."""
    # GGUF adds the 1 that Gemma's layers add again.
    added = 1.0 if family.name == "Gemma3" else 0.0
    table = backbone.token_embedding
    table.embeddings.assign(file.weight("token_embd"))
    if not table.tie_weights:
        name = "output" if file.untied else "token_embd"
        table.reverse_embeddings.assign(file.weight(name).T)
    backbone.layer_norm.scale.assign(file.weight("output_norm") - added)
    for i, block in enumerate(backbone.transformer_layers):
        for name, place in family.weights.items():
            layer = block
            for part in place.split("."):
                layer = getattr(layer, part)
            weight = file.weight(f"blk.{i}.{name}")
            if weight.ndim == 1:
                layer.scale.assign(weight - added)
                continue
            if file.architecture == "llama" and name in ("attn_q", "attn_k"):
                weight = _halves(weight, layer.kernel.shape[1])
            layer.kernel.assign(_kernel(layer, weight))


def _halves(weight, heads):
    """Rows of rotated pairs as KerasHub has them: first ones, then second.

    GGUF keeps the two numbers that llama.cpp rotates side by side.
    """
    pairs = weight.reshape((heads, -1, 2, weight.shape[-1]))
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def _kernel(layer, weight):
    """A matrix `(outputs, inputs)` as a layer has it."""
    if isinstance(layer, keras.layers.Dense):
        return weight.T
    read, kernel, written = re.split(",|->", layer.equation)
    order = list(dict.fromkeys(x for x in written + read if x in kernel))
    sizes = dict(zip(kernel, layer.kernel.shape))
    weight = weight.reshape([sizes[x] for x in order])
    return weight.transpose([order.index(x) for x in kernel])
