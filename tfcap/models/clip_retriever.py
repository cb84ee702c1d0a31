"""CLIP of KerasHub, as a retriever."""

import glob
import importlib
import os
from typing import Any

import keras
import numpy as np

from tfcap.models.host_retriever import HostRetriever


def clip_retriever(
    preset: Any,
    vocabulary: Any,
    allow_download: bool = False,
    batch_size: int = 64,
    cache_size: int = 10_000,
    dtype: str | None = None,
) -> HostRetriever:
    """Loads a CLIP backbone of KerasHub, its tokenizer and image converter.

    Nothing is downloaded unless asked for: a preset is a folder, or a handle
    that is in the cache of its hub already.

    Args:
        preset: String or path: a folder that `save_to_preset()` of a
            `keras_hub.models.CLIPPreprocessor` and its backbone wrote; a
            handle `kaggle://...` or `hf://...`; or the name of one of
            KerasHub's presets, such as `"clip_vit_base_patch32"`.
        vocabulary: `tfcap.text.Vocabulary` of the speaker.
        allow_download: Boolean, whether a preset that is not on this machine
            may be downloaded. Defaults to `False`.
        batch_size: Integer, texts or images at a time. Defaults to `64`.
        cache_size: Integer, captions whose embeddings are kept. Defaults to
            `10_000`.
        dtype: String, optional, of the network.

    Returns:
        `HostRetriever` with the attribute `backbone`. Its embeddings are those
        of `backbone.get_text_embeddings()` and
        `backbone.get_vision_embeddings()`, of length 1.

    Raises:
        ImportError: If KerasHub is not installed.
        ValueError: If the preset is not on this machine, or is not CLIP's.

    Reference:

    - Radford et al., Learning Transferable Visual Models From Natural Language
      Supervision, ICML 2021; with ViT-B/32, the retriever of Chaffin et al.,
      Distinctive Image Captioning, 2024
    """
    hub = _keras_hub()
    folder = _find(hub, str(preset), allow_download)
    options = {} if dtype is None else {"dtype": dtype}
    backbone = hub.models.Backbone.from_preset(folder, **options)
    if not isinstance(backbone, hub.models.CLIPBackbone):
        raise ValueError(
            "`preset` must be one of a CLIP backbone. Received: "
            f"preset={str(preset)!r}, of a {type(backbone).__name__}."
        )
    backbone.trainable = False
    preprocessor = hub.models.CLIPPreprocessor.from_preset(folder)
    retriever = HostRetriever(
        _strings(backbone, preprocessor),
        vocabulary,
        backbone.projection_dim,
        _pictures(backbone, preprocessor.image_converter),
        batch_size,
        cache_size,
    )
    retriever.backbone = backbone
    return retriever


def _keras_hub():
    try:
        return importlib.import_module("keras_hub")
    except ImportError as error:
        raise ImportError(
            "`clip_retriever` needs the package keras_hub. Install it with "
            "`pip install tfcap[vision]`."
        ) from error


def _find(hub, preset, allow_download):
    """A folder with the files of a preset, or what KerasHub may download."""
    if allow_download or os.path.isdir(preset):
        return preset
    presets = hub.models.CLIPBackbone.presets
    handle = presets.get(preset, {}).get("kaggle_handle", preset)
    kind, _, name = handle.partition("://")
    if kind not in _CACHES or not name:
        raise ValueError(
            "`preset` must be a folder, a handle kaggle://... or hf://..., or "
            f"a preset of KerasHub. Received: preset={preset!r}. KerasHub has "
            f"{', '.join(presets)}."
        )
    folder = _CACHES[kind](name)
    if folder is None:
        raise ValueError(
            "`preset` must be on this machine, since nothing is downloaded "
            f"unasked. Received: preset={preset!r}, which is in no cache. Pass "
            "`allow_download=True`, or the path of its folder."
        )
    return folder


def _cached_by_kaggle(handle):
    """Folder of a Kaggle model, the latest version if none is named."""
    from kagglehub.config import get_cache_folder

    folder = os.path.join(get_cache_folder(), "models", *handle.split("/"))
    paths = glob.glob(os.path.join(glob.escape(folder), "*", "config.json"))
    folders = [os.path.dirname(path) for path in paths]
    folders = [path for path in folders if os.path.basename(path).isdigit()]
    if os.path.exists(os.path.join(folder, "config.json")):
        return folder
    return max(folders, key=lambda x: int(os.path.basename(x)), default=None)


def _cached_by_hugging_face(handle):
    """Folder of a repository's files that were downloaded, or `None`."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(handle, "config.json")
    return os.path.dirname(path) if isinstance(path, str) else None


#: Where hubs keep what was downloaded.
_CACHES = {"kaggle": _cached_by_kaggle, "hf": _cached_by_hugging_face}


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
