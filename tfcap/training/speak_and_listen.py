"""One graph that captions a batch and embeds images and captions."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops.sequences import batch_entry
from tfcap._ops.sequences import mask_for
from tfcap.training.dataset_inputs import concatenated

_REMEDY = (
    "Name their key in `references`, or pass a function of the inputs; or "
    "pass `texts` and `decoder`, with `human_captions=0` if there is a "
    "listener."
)


class SpeakAndListen:
    """Captions a batch, and embeds its images and captions, in one graph.

    The graph is traced for batches of any size; where another axis varies
    too, as after `padded_batch()`, it is traced again for all sizes of it.

    Args:
        listeners: Dict of name to an object with `embed_images()` and
            `embed_texts()`; that named `""` also embeds human captions.
        image: Key of the images for listeners without `image_key`, or
            function of the inputs.
        references: Function from inputs to human captions `(B, N, T)`, or
            `None` where nobody needs them.
        human_captions: Integer, how many of an image's human captions are
            embedded; `None` for all.

    Call arguments:
        inputs: Nest of tensors or arrays with leading axis `B`.

    Returns:
        Dict of arrays: `tokens` `(B, S, T)`; `pairs`, by listener `(B, D)` of
        images and `(B, D)` of each image's first caption; where there are
        references, `references` `(B, N, T)`, and of the listener named `""`
        `human` `(B, N, D)` and `present` `(B, N)`, which of them are there.
    """

    def __init__(
        self,
        speaker: Any,
        decoder: Any,
        listeners: dict[str, Any],
        image: str | Callable,
        references: Callable | None,
        human_captions: int | None,
    ):
        self.speaker = speaker
        self.decoder = decoder
        self.listeners = listeners
        self.image = image
        self.references = references
        self.human_captions = human_captions
        self._graph = None

    def __call__(self, inputs: Any) -> dict:
        inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
        if self._graph is None:
            self._graph = tf.function(
                self._run, reduce_retracing=True, autograph=False
            )
            # The last batch may be smaller.
            spec = keras.tree.map_structure(_any_rows, inputs)
            self._graph.get_concrete_function(spec)
        return keras.tree.map_structure(np.asarray, self._graph(inputs))

    def _run(self, inputs):
        speaker = self.speaker
        state = speaker.begin(inputs, training=False)
        rollout = self.decoder.decode(speaker, state, training=False)
        # Searches put the best first.
        tokens, mask = rollout.tokens[:, :1], rollout.mask[:, :1]
        pairs = {
            name: (
                self._images(listener, inputs),
                _texts(listener, tokens, mask)[:, 0],
            )
            for name, listener in self.listeners.items()
        }
        outputs = {"tokens": rollout.tokens, "pairs": pairs}
        if self.references is None:
            return outputs
        references = self.references(inputs)
        outputs["references"] = references
        human = references[:, : self.human_captions]
        if "" in self.listeners and self.human_captions != 0:
            pad = getattr(speaker, "pad", 0)
            mask = reference_mask(human, speaker.eos, pad)
            outputs["human"] = _texts(self.listeners[""], human, mask)
            outputs["present"] = tf.reduce_any(mask > 0, axis=-1)
        return outputs

    def _images(self, listener, inputs):
        key, mask = getattr(listener, "image_key", self.image), None
        if callable(key):
            image = key(inputs)
        else:
            image = batch_entry(
                inputs,
                key,
                f"the images that {type(listener).__name__} embeds",
                "Name their key in `image`, or pass a function of the inputs.",
            )
            mask = inputs.get(f"{key}_mask")
        masked = mask_for(listener.embed_images, mask)
        embeddings = listener.embed_images(image, training=False, **masked)
        return tf.cast(embeddings, "float32")


def find_references(inputs: Any, references: Any, speaker: Any) -> Any:
    """Returns the human captions of a batch.

    Returns:
        Integer tensor of shape `(B, N, T)`, padded.

    Raises:
        ValueError: If the batch has none.
        TypeError: If they are no ids of words.
    """
    what = "the human captions of every image, integers of shape (B, N, T)"
    named = isinstance(inputs, dict) and "references" in inputs
    if callable(references):
        human = references(inputs)
    elif references or named or not hasattr(speaker, "references"):
        key, pad = references or "references", getattr(speaker, "pad", 0)
        human = batch_entry(inputs, key, what, _REMEDY, pad)
    else:
        try:
            human = speaker.references(inputs)
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"`dataset` must hold {what}. Received: batches in which the "
                f"speaker finds none ({error}). {_REMEDY}"
            ) from error
    human = keras.ops.convert_to_tensor(human)
    if "int" not in str(human.dtype) or len(human.shape) not in (2, 3):
        raise TypeError(
            f"`references` must be {what}. Received: shape "
            f"{tuple(human.shape)} and type {human.dtype}. Pass strings in "
            "`texts`."
        )
    human = without_start(human, speaker)
    return human[:, None] if len(human.shape) == 2 else human


def _any_rows(tensor):
    """Signature of a tensor whose rows may be of any number."""
    shape = [None, *tensor.shape[1:]] if tensor.shape.rank else []
    return tf.TensorSpec(shape, tensor.dtype)


def _texts(listener, tokens, mask):
    embeddings = listener.embed_texts(tokens, mask, training=False)
    return tf.cast(embeddings, "float32")


def joined(parts: list[dict], pad: int) -> dict:
    """Concatenates batches, padded where they differ in other axes.

    Args:
        parts: List of what `SpeakAndListen` returned.
        pad: Integer, padding of words; all else is padded with 0.
    """
    outputs = {}
    for name in parts[0]:
        fill = pad if name in ("tokens", "references") else 0
        outputs[name] = keras.tree.map_structure(
            lambda *arrays, fill=fill: concatenated(arrays, fill),
            *(part[name] for part in parts),
        )
    return outputs
