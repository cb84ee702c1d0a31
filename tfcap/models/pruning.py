"""Causal language models with a smaller vocabulary."""

import re
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from tfcap._ops.arguments import optional_package
from tfcap.text import as_vocabulary


def prune_vocabulary(
    causal_lm: Any, corpus: Iterable[str]
) -> tuple[Any, np.ndarray]:
    """Removes the words of a language model that a corpus does not need.

    Kept are the pieces that the corpus is made of, all pieces inside these,
    from which tokenizers build them, and special ones, such as those for
    bytes and control. Texts of the corpus are tokenized as before, and logits
    of pieces that are kept are the same numbers; probabilities are shared among
    fewer pieces.

    Args:
        causal_lm: `keras_hub.models.CausalLM` whose tokenizer is SentencePiece
            or byte pairs. It stays as it is.
        corpus: Iterable of strings, all texts that the model will read.

    Returns:
        - The smaller model, with its tokenizer.
        - Integer array `(v,)`, ascending: the former id of each id.
          `np.searchsorted` of it goes the other way.

    Raises:
        ImportError: If `sentencepiece` is missing where the tokenizer is one.
        ValueError: If the model has no such tokenizer, or adapters.

    Example: captions of Gemma 3 270M.

    ```python
    lm = tfcap.models.from_gguf("gemma-3-270m-Q4_K_M.gguf")
    lm, kept = tfcap.models.prune_vocabulary(lm, captions)
    speaker = tfcap.models.CausalLMSpeaker(lm, prefix=keras.layers.Dense(640))
    ```
    """
    preprocessor = causal_lm.preprocessor
    tokenizer = getattr(preprocessor, "tokenizer", None)
    proto = getattr(tokenizer, "proto", None)
    if proto is None and not getattr(tokenizer, "merges", None):
        raise ValueError(
            "`causal_lm` must have a tokenizer of SentencePiece or byte pairs. "
            f"Received: tokenizer={tokenizer!r}. Make the model with its "
            "preprocessor."
        )
    ids, _ = as_vocabulary(tokenizer).encode_ragged(list(corpus))
    used = np.unique(ids)
    make = _sentencepiece if proto is not None else _byte_pairs
    kept, assets = make(tokenizer, used)
    config = {**tokenizer.get_config(), **assets}
    tokenizer = type(tokenizer).from_config(config)
    config = {**preprocessor.get_config(), "tokenizer": tokenizer}
    preprocessor = type(preprocessor).from_config(config)
    backbone = _pruned(causal_lm.backbone, kept)
    return type(causal_lm)(backbone=backbone, preprocessor=preprocessor), kept


def _pruned(backbone, kept):
    """The same network with these rows of its table."""
    config = {**backbone.get_config(), "vocabulary_size": len(kept)}
    small = type(backbone).from_config(config)
    if len(small.weights) != len(backbone.weights):
        raise ValueError(
            "`causal_lm` must have no adapters and not be quantized. Received: "
            f"causal_lm with {len(backbone.weights)} weights, of which its "
            f"configuration makes {len(small.weights)}. Remove words first."
        )
    for new, old in zip(small.weights, backbone.weights):
        value = keras.ops.convert_to_numpy(old)
        for axis in range(value.ndim):
            if new.shape[axis] != old.shape[axis]:
                value = value.take(kept, axis)
        new.assign(value)
    return small


def _inside(pieces, used):
    """Ids of all pieces that are part of a piece in use."""
    index = {piece: i for i, piece in enumerate(pieces)}
    found = set()
    for piece in (pieces[i] for i in used):
        for first in range(len(piece)):
            for last in range(first + 1, len(piece) + 1):
                found.add(index.get(piece[first:last]))
    return found - {None}


def _sentencepiece(tokenizer, used):
    name = "sentencepiece.sentencepiece_model_pb2"
    protos = optional_package(name, "prune_vocabulary", "gguf")
    model = protos.ModelProto.FromString(tokenizer.proto)
    kinds = protos.ModelProto.SentencePiece
    kept = _inside([x.piece for x in model.pieces], used)
    kept |= {
        i
        for i, x in enumerate(model.pieces)
        if x.type not in (kinds.NORMAL, kinds.UNUSED)
        and not re.fullmatch(r"<unused\d+>", x.piece)
    }
    kept = np.array(sorted(kept))
    pieces = [model.pieces[i] for i in kept]
    small = protos.ModelProto()
    small.CopyFrom(model)
    del small.pieces[:]
    small.pieces.extend(pieces)
    for name in ("unk_id", "bos_id", "eos_id", "pad_id"):
        old = getattr(model.trainer_spec, name)
        if old >= 0:
            new = int(np.searchsorted(kept, old))
            setattr(small.trainer_spec, name, new)
    return kept, {"proto": small.SerializeToString()}


def _byte_pairs(tokenizer, used):
    ids = tokenizer.vocabulary
    pieces = [""] * len(ids)
    for piece, i in ids.items():
        pieces[i] = piece
    kept = _inside(pieces, used)
    # What is one character stands for a byte.
    always = re.compile(r".|<\|.*\|>")
    kept |= {i for i, piece in enumerate(pieces) if always.fullmatch(piece)}
    kept = np.array(sorted(kept))
    vocabulary = {pieces[i]: new for new, i in enumerate(kept)}
    merges = [x for x in tokenizer.merges if x.replace(" ", "") in vocabulary]
    return kept, {"vocabulary": vocabulary, "merges": merges}
