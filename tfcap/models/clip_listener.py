"""Pretrained CLIP and SigLIP as listeners that read soft words."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops.arguments import config_of
from tfcap.layers import SoftEmbedding
from tfcap.layers import embed_words
from tfcap.layers._fast import ids_of_words
from tfcap.models.inputs import with_parts
from tfcap.models.inputs import word_ids
from tfcap.models.retrieval_listener import mean_unit_vectors
from tfcap.models.retrieval_listener import unit_vectors
from tfcap.text import as_vocabulary
from tfcap.text.tokenizers import word_pieces


@keras.saving.register_keras_serializable(package="tfcap")
class CLIPListener(keras.Model):
    """Embeds words, soft or discrete, by a pretrained CLIP or SigLIP.

    ```
    v = unit(backbone.get_vision_embeddings(image))
    w = unit(backbone.get_text_embeddings(pieces of the words))
    score = v . w
    ```

    A word of the speaker is read as the pieces into which the backbone's
    tokenizer splits it: a caption gets the embedding of its string. The j-th
    piece of a soft word is the expected j-th piece,

    ```
    vector_j = words @ pieces_j @ table
    ```

    with a fixed sparse matrix of words and pieces; the drawn word determines
    the number of pieces. Pieces beyond the backbone's `max_sequence_length`
    are cut off.

    It learns with the speaker unless `listener.trainable = False`.
    `clip_retriever()` scores strings, without gradient.

    Args:
        backbone: `keras_hub.models.CLIPBackbone` or `SigLIPBackbone`.
        tokenizer: Its tokenizer, which `tfcap.text.as_vocabulary()` reads, or
            such a vocabulary.
        vocabulary: Vocabulary or tokenizer of the speaker. Defaults to `None`:
            the speaker's ids are those of the tokenizer.
        image_key: String, the entry of a batch that holds its images: pixels
            `(B, height, width, 3)`, preprocessed for the backbone, or
            precomputed embeddings `(B, P, D)`. Defaults to `"image"`.

    Call arguments:
        inputs: Dict of the images and of `caption` `(B, S, T)` integers.

    Returns:
        Float32 tensor of shape `(B, 1 + S, D)`, the embeddings of image and
        texts.

    Raises:
        TypeError: If the backbone is of another kind.

    Example:

    ```python
    preset = "clip_vit_base_patch32"
    backbone = keras_hub.models.CLIPBackbone.from_preset(preset)
    tokenizer = keras_hub.models.CLIPTokenizer.from_preset(preset)
    listener = tfcap.models.CLIPListener(backbone, tokenizer, vocabulary)
    training = tfcap.methods.frozen_listener(
        speaker, listener, lambda_=1.0, estimator="psst"
    )
    ```

    Reference:

    - Radford et al., Learning Transferable Visual Models From Natural Language
      Supervision, ICML 2021
    - Zhai et al., Sigmoid Loss for Language Image Pre-Training, ICCV 2023
    """

    #: Frozen weights are those of a preset, which checkpoints leave out.
    pretrained = True

    def __init__(
        self,
        backbone: keras.Model,
        tokenizer: Any = None,
        vocabulary: Any = None,
        image_key: str = "image",
        pieces: Any = None,
        special: dict | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        text = getattr(backbone, "text_encoder", None)
        layers = getattr(text, "embedding", None)
        if not hasattr(layers, "token_embedding"):
            raise TypeError(
                "`backbone` must be a CLIP or SigLIP backbone of KerasHub, "
                f"with a `text_encoder`. Received: backbone={backbone!r}."
            )
        if special is None:
            tokenizer = as_vocabulary(tokenizer)
            speaks = tokenizer if vocabulary is None else vocabulary
            speaks = as_vocabulary(speaks)
            if vocabulary is not None:
                pieces = word_pieces(vocabulary, tokenizer)
            special = {
                "start": tokenizer.bos,
                "end": int(np.ravel(tokenizer.eos)[0]),
                "padding": tokenizer.pad,
                "bos": speaks.bos,
                "eos": speaks.eos,
                "pad": speaks.pad,
                "size": speaks.size,
            }
        self.backbone = backbone
        self.image_key = image_key
        self.special = special
        self.eos, self.pad = special["eos"], special["pad"]
        # Networks that were saved before name none.
        self.bos = special.get("bos")
        self.vocabulary_size = special["size"]
        self.pieces = None if pieces is None else np.asarray(pieces, np.int32)
        # CLIP reads from left to right, SigLIP to a fixed last place.
        self.causal = hasattr(backbone, "text_projection")
        self.embedding = SoftEmbedding.from_embedding(
            layers.token_embedding, mask_zero=False
        )
        self.built = True

    def call(self, inputs, training=False):
        tokens = word_ids(inputs, "caption", "B S T", self.pad)
        tokens = without_start(tokens, self)
        mask = reference_mask(tokens, self.eos, self.pad)
        images = self.embed_images(
            inputs[self.image_key],
            training,
            inputs.get(f"{self.image_key}_mask"),
        )
        texts = self.embed_texts(tokens, mask, training)
        return ops.concatenate([images[:, None], texts], axis=1)

    def embed_images(
        self, image: Any, training: bool = False, mask: Any = None
    ) -> Any:
        """Embeds images.

        Args:
            image: Float tensor `(B, height, width, 3)`, the backbone's pixels,
                or embeddings `(B, P, D)`, which are averaged.
            training: Boolean.
            mask: Tensor of shape `(B, P)`, nonzero where there is an
                embedding, or `None` for all.

        Returns:
            Float32 tensor of shape `(B, D)`, of unit vectors.
        """
        if len(image.shape) == 3:
            check_shape(image, "B P D", self.image_key)
            return mean_unit_vectors(image, mask)
        return unit_vectors(self.backbone.get_vision_embeddings(image))

    def embed_texts(self, words: Any, mask: Any, training: bool = False) -> Any:
        """Embeds texts.

        Args:
            words: Integer tensor of shape `(B, S, T)`, or distributions over
                words of shape `(B, S, T, V)`.
            mask: Tensor of shape `(B, S, T)`, nonzero where there is a word,
                the end token included.
            training: Boolean.

        Returns:
            Float32 tensor of shape `(B, S, D)`, of unit vectors; zeros where
            there is no word.
        """
        check_shape(mask, "B S T", "mask")
        _, samples, length = ops.shape(mask)
        soft = len(words.shape) == 4
        ids = ops.cast(ids_of_words(words) if soft else words, "int32")
        vectors, present = self._spelled(words, ids, soft)
        present = present * ops.cast(mask > 0, "int32")[..., None]
        count = (-1, length * present.shape[-1])  # all pieces of a text
        vectors = ops.reshape(vectors, (*count, vectors.shape[-1]))
        texts = self._read(vectors, ops.reshape(present, count))
        texts = ops.reshape(texts, (-1, samples, texts.shape[-1]))
        some = ops.any(mask > 0, axis=-1)[..., None]
        return unit_vectors(ops.where(some, texts, 0))

    def _spelled(self, words, ids, soft):
        """Returns vectors of the pieces of words `(B, S, T, K, E)`.

        Also returns an int32 tensor `(B, S, T, K)`, 1 where there is a piece.
        """
        if self.pieces is None:
            ends = [self.special["pad"], *np.ravel(self.eos).tolist()]
            present = [ops.cast(ids != end, "int32") for end in {*ends}]
            vectors = self.embedding(words)[..., None, :]
            return vectors, ops.prod(ops.stack(present), axis=0)[..., None]
        pieces = ops.convert_to_tensor(self.pieces)
        own = ops.take(pieces, ids, axis=0)  # (B, S, T, K)
        present = ops.cast(own >= 0, "int32")
        if not soft:
            return self.embedding(ops.maximum(own, 0)), present
        # (V, E) for each place of a piece in its word
        tables = self.embedding(ops.maximum(pieces, 0))
        tables = ops.where((pieces >= 0)[..., None], tables, 0)
        columns = [
            embed_words(words, tables[:, place])
            for place in range(pieces.shape[1])
        ]
        return ops.stack(columns, axis=-2), present

    def _read(self, vectors, present):
        """Embeddings of texts `(n, D)` of their pieces `(n, M, E)`."""
        text = self.backbone.text_encoder
        begin = 0 if self.special["start"] is None else int(self.causal)
        longest = text.max_sequence_length
        size = vectors.shape[1]
        if self.causal and size is not None:
            longest = min(longest, size + begin + 1)
        places = ops.cumsum(present, axis=1) - 1 + begin
        places = ops.where(present > 0, places, -1)
        # Where each place of the text is filled from.
        match = ops.equal(places[:, None], ops.arange(longest)[:, None])
        source = ops.argmax(ops.cast(match, "int32"), axis=-1)
        filled = ops.take_along_axis(vectors, source[..., None], axis=1)
        end = ops.sum(present, axis=1, keepdims=True) + begin
        end = ops.minimum(end, longest - 1)  # (n, 1)
        at = ops.arange(longest)[None]
        fixed = ops.where(at == end, self.special["end"], self._padding())
        if begin:
            fixed = ops.where(at == 0, self.special["start"], fixed)
        inside = ops.logical_and(ops.any(match, axis=-1), at < end)
        fixed = self.embedding(ops.cast(fixed, "int32"))
        x = ops.where(inside[..., None], filled, fixed)
        return self._tower(text, x, end)

    def _padding(self):
        padding = self.special["padding"]
        return self.special["end"] if padding is None else padding

    def _tower(self, text, x, end):
        """The backbone's text encoder after its embedding of pieces."""
        position = text.embedding.position_embedding
        if self.causal:
            x = x + position(x)
        else:
            x = x + position(text.embedding.position_ids)
        for block in text.encoder_layers:
            x = block(x)
        if not self.causal:
            return text.head(text.post_layer_norm(x)[:, -1])
        x = text.layer_norm(x)
        pooled = ops.take_along_axis(x, end[..., None], axis=1)[:, 0]
        return self.backbone.text_projection(pooled)

    def get_config(self):
        return {
            **super().get_config(),
            **config_of(self, "backbone image_key special"),
            "pieces": None if self.pieces is None else self.pieces.tolist(),
        }

    @classmethod
    def from_config(cls, config):
        return cls(**with_parts(config, "backbone"))
