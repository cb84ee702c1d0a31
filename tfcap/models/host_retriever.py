"""Retrievers that read strings on the host."""

import itertools
import threading
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import call_on_host
from tfcap._ops import check_shape
from tfcap._ops import words_only
from tfcap._ops.arguments import optional_package
from tfcap._printed import printed
from tfcap.models.retrieval_listener import mean_unit_vectors
from tfcap.text import as_vocabulary


class HostRetriever:
    """Any pair of encoders with a tokenizer of their own, on the host.

    Captions are decoded to strings outside of the graph, and the distinct
    ones are embedded in batches. Images are embedded once, before:
    `embed_pixels()` returns the `retriever_features` of
    `tfcap.data.CaptionBatches`, which batches hold as `retriever_image`.

    It can replace a `tfcap.models.RetrievalListener` that is not trained and
    reads ids: no gradient passes through strings.

    Args:
        embed_strings: Callable from a list of strings to a float array of
            shape `(n, D)`.
        vocabulary: `tfcap.text.Vocabulary` or tokenizer of the speaker, or an
            object with `decode(ids)` from a list of ids to a string.
        units: Integer `D`.
        embed_pictures: Callable from a list of images, arrays of shape
            `(height, width, 3)`, to a float array of shape `(n, D)`. Defaults
            to `None`: images were embedded elsewhere.
        batch_size: Integer, maximum number of strings or images at a time.
            Defaults to `256`.

    Attributes:
        image_key: String, the entry of a batch that holds what
            `embed_images()` takes.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> retriever = HostRetriever(
    ...     lambda texts: [[len(x), 4] for x in texts], vocabulary, units=2
    ... )
    >>> tokens = np.array([[[5, 2, 0], [5, 2, 0]]])
    >>> print(retriever.embed_texts(tokens, tokens > 0).numpy())
    [[[0.6 0.8]
      [0.6 0.8]]]
    """

    __repr__ = printed

    image_key = "retriever_image"
    #: As of a network that no objective trains, or trains through.
    trainable = differentiable = False
    #: Most captions whose embeddings are kept for the next batches.
    cache_size = 10_000

    def __init__(
        self,
        embed_strings: Callable,
        vocabulary: Any,
        units: int,
        embed_pictures: Callable | None = None,
        batch_size: int = 256,
    ):
        self.embed_strings = embed_strings
        self.vocabulary = as_vocabulary(vocabulary)
        self.units = units
        self.embed_pictures = embed_pictures
        self.batch_size = batch_size
        self._cache = {}
        self._lock = threading.Lock()

    def embed_images(
        self, image: Any, training: bool = False, mask: Any = None
    ) -> Any:
        """Averages `(B, P, D)` vectors of images to unit vectors `(B, D)`.

        They were embedded before, with P usually 1. `mask`, `(B, P)`, is
        nonzero where there is a vector; by default all count.
        """
        check_shape(image, "B P D", "image")
        if image.shape[-1] != self.units:
            raise ValueError(
                f"`image` must hold embeddings of {self.units} numbers. "
                f"Received: image.shape={tuple(image.shape)}. Give batches "
                "the `retriever_features` that `embed_pixels()` returns."
            )
        return mean_unit_vectors(image, mask)

    def embed_texts(self, words: Any, mask: Any, training: bool = False) -> Any:
        """Embeds texts: ids and mask `(B, S, T)` to unit vectors `(B, S, D)`.

        A text without words gives zeros.
        """
        words = ops.convert_to_tensor(words)
        if len(words.shape) != 3 or "int" not in str(words.dtype):
            raise ValueError(
                "`words` must be ids of shape (B, S, T): a retriever on the "
                "host reads strings, through which no gradient passes. "
                f"Received: words of shape {tuple(words.shape)} and type "
                f"{words.dtype}. Train with `ScoreFunction`, not `Pathwise`."
            )
        check_shape(mask, "B S T", "mask")
        shape = (*words.shape[:2], self.units)
        return call_on_host(self.embed, (words_only(words, mask),), shape)

    def embed(self, words: np.ndarray) -> np.ndarray:
        """Embeds texts on the host.

        Args:
            words: Integer array of shape `(B, S, T)`, below 0 for no word.

        Returns:
            Float32 array of shape `(B, S, D)`, as `embed_texts()`.
        """
        words = np.asarray(words)
        rows = words.reshape(-1, words.shape[-1])
        captions = [
            self.vocabulary.decode(ids[ids >= 0].tolist()) for ids in rows
        ]
        with self._lock:
            known = self._known([x for x in dict.fromkeys(captions) if x])
        vectors = np.zeros((len(captions), self.units), "float32")
        for row, caption in zip(vectors, captions):
            if caption:
                row[:] = known[caption]
        return vectors.reshape(*words.shape[:2], self.units)

    def embed_pixels(self, images: Iterable) -> np.ndarray:
        """Embeds all images of a split, once.

        Args:
            images: Iterable of arrays of shape `(height, width, 3)`, RGB, 0 to
                255; sizes may differ.

        Returns:
            Float32 array of shape `(M, 1, D)`.
        """
        if self.embed_pictures is None:
            raise ValueError(
                "`embed_pictures` must be a callable to embed pixels. "
                "Received: embed_pictures=None. Pass it when the retriever is "
                "made."
            )
        images, parts = map(np.asarray, images), []
        while batch := list(itertools.islice(images, self.batch_size)):
            parts.append(self._vectors(self.embed_pictures, batch))
        return np.concatenate(parts)[:, None]

    def _known(self, captions):
        """Returns vectors of distinct captions, by the caption."""
        known = {x: self._cache.pop(x) for x in captions if x in self._cache}
        new = [x for x in captions if x not in known]
        for start in range(0, len(new), self.batch_size):
            batch = new[start : start + self.batch_size]
            # Views of the vectors would keep their whole batch.
            vectors = map(np.copy, self._vectors(self.embed_strings, batch))
            known |= zip(batch, vectors)
        # In the order in which they were said last.
        self._cache |= {x: known[x] for x in captions}
        for caption in list(self._cache)[: -self.cache_size]:
            del self._cache[caption]
        return known

    def _vectors(self, function, batch):
        """Calls an encoder; checks its vectors, and scales them to length 1."""
        vectors = np.asarray(function(batch), "float32")
        if vectors.shape != (len(batch), self.units):
            raise ValueError(
                "`embed_strings` and `embed_pictures` must return arrays of "
                f"shape (n, {self.units}). Received: shape {vectors.shape} for "
                f"{len(batch)}."
            )
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if wrong.size:
            raise ValueError(
                "`embed_strings` and `embed_pictures` must return finite "
                f"numbers. Received: others for {batch[wrong[0]]!r:.60}."
            )
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.maximum(length, 1e-7)


def clip_retriever(
    preset: Any,
    vocabulary: Any,
    batch_size: int = 64,
    dtype: str | None = None,
) -> HostRetriever:
    """Loads CLIP of KerasHub with its tokenizer and image converter.

    Args:
        preset: String or path: a folder that `save_to_preset()` of a
            `keras_hub.models.CLIPPreprocessor` and its backbone wrote; a
            handle `kaggle://...` or `hf://...`; or the name of one of
            KerasHub's presets, such as `"clip_vit_base_patch32"`.
        vocabulary: `tfcap.text.Vocabulary` of the speaker.
        batch_size: Integer, texts or images at a time. Defaults to `64`.
        dtype: String, optional, of the network.

    Returns:
        `HostRetriever` with the attribute `backbone`. Its embeddings are those
        of `backbone.get_text_embeddings()` and
        `backbone.get_vision_embeddings()`, of length 1.

    Raises:
        ImportError: If KerasHub is not installed.
        ValueError: If the preset is not CLIP's.

    Reference:

    - Radford et al., Learning Transferable Visual Models From Natural Language
      Supervision, ICML 2021; with ViT-B/32, the retriever of Chaffin et al.,
      Distinctive Image Captioning, 2024
    """
    hub = optional_package("keras_hub", "clip_retriever", "vision")
    preset = str(preset)
    options = {} if dtype is None else {"dtype": dtype}
    backbone = hub.models.Backbone.from_preset(preset, **options)
    if not isinstance(backbone, hub.models.CLIPBackbone):
        raise ValueError(
            "`preset` must be that of a CLIP backbone. Received: "
            f"preset={preset!r}, of a {type(backbone).__name__}."
        )
    backbone.trainable = False
    preprocessor = hub.models.CLIPPreprocessor.from_preset(preset)
    retriever = HostRetriever(
        _strings(backbone, preprocessor),
        vocabulary,
        backbone.projection_dim,
        _pictures(backbone, preprocessor.image_converter),
        batch_size,
    )
    retriever.backbone = backbone
    return retriever


def _strings(backbone, preprocessor):
    """Function from strings to embeddings."""

    def embed(texts):
        packed = preprocessor({"prompts": texts, "images": None})
        tokens = keras.ops.convert_to_numpy(packed["token_ids"])
        # Words look back only: what follows the end token, which has the
        # largest id and is what is read, may be cut off.
        used = int(tokens.argmax(axis=1).max()) + 1
        # Without a graph of its own: one that is run from within another
        # waits for ever where TensorFlow has a single thread for both.
        vectors = backbone.get_text_embeddings(tokens[:, :used])
        return keras.ops.convert_to_numpy(vectors)

    return embed


def _pictures(backbone, converter):
    """Function from images of any sizes to embeddings."""

    def embed(images):
        if converter is not None:
            images = [converter(np.asarray(x, "float32")) for x in images]
        images = [keras.ops.convert_to_numpy(x) for x in images]
        vectors = backbone.get_vision_embeddings(np.stack(images))
        return keras.ops.convert_to_numpy(vectors)

    return embed
