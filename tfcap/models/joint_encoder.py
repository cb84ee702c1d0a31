"""Base class of networks that embed images and texts in one space."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import check_shape
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops.arguments import checked_rate
from tfcap._ops.arguments import checked_seed
from tfcap._ops.arguments import mask_for
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers import SoftEmbedding
from tfcap.models.inputs import ImageNetwork
from tfcap.models.inputs import check_positions
from tfcap.models.inputs import image_features
from tfcap.models.inputs import image_mask
from tfcap.models.inputs import word_ids


class JointEncoder(ImageNetwork):
    """Embeds images and texts in one space, where a dot product tells a match.

    A subclass makes its layers, one of them `embedding` by
    `make_embedding()`, and implements `encode_image()` and `encode_text()`.

    Args:
        vocabulary_size, units, ..., seed: As of
            `tfcap.models.RetrievalListener`.
        **kwargs: `image_preprocessing`, see `ImageNetwork`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int,
        embedding_units: int,
        image_dropout: float = 0.0,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = None,
        eos: int = 2,
        seed: int | None = None,
        memory: Any = None,
        pad: int = 0,
        bos: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomUniform(-0.1, 0.1)
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embedding_units = embedding_units
        self.image_dropout = checked_rate(image_dropout, "image_dropout")
        self.word_dropout = checked_rate(word_dropout, "word_dropout")
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.bos, self.eos, self.pad = bos, eos, pad
        self.seed = checked_seed(seed)
        self.memory = deserialized(memory)
        self.seed_generator = SeedGenerator(self.seed)

    def encode_image(
        self, image: Any, training: bool = False, mask: Any = None
    ) -> Any:
        """Encodes images `(B, P, D)` to vectors `(B, units)`, of any length.

        See `embed_images()` for the mask, which it need not take.
        """
        raise NotImplementedError

    def encode_text(
        self, vectors: Any, mask: Any, training: bool = False
    ) -> Any:
        """Encodes texts to vectors `(n, units)`, of any length.

        Args:
            vectors: Float tensor of shape `(n, T, embedding_units)`.
            mask: Boolean tensor of shape `(n, T)`.
            training: Boolean.
        """
        raise NotImplementedError

    def make_embedding(self) -> SoftEmbedding:
        """Makes the layer that embeds words."""
        return SoftEmbedding(
            self.vocabulary_size,
            self.embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            name="embedding",
            dtype=self.dtype_policy,
        )

    def call(self, inputs, training=False):
        tokens = word_ids(inputs, "caption", "B S T", self.pad)
        tokens = without_start(tokens, self)
        images = self.embed_images(
            image_features(inputs),
            training,
            **mask_for(self.embed_images, image_mask(inputs)),
        )
        mask = reference_mask(tokens, self.eos, self.pad)
        texts = self.embed_texts(tokens, mask, training)
        embeddings = ops.concatenate([images[:, None], texts], axis=1)
        return remembered(self.memory, embeddings, training)

    def embed_images(
        self, image: Any, training: bool = False, mask: Any = None
    ) -> Any:
        """Embeds images.

        Args:
            image: Float tensor of shape `(B, P, D)`.
            training: Boolean.
            mask: Tensor of shape `(B, P)`, nonzero where there is a position,
                or `None` where there is everywhere.

        Returns:
            Float32 tensor of shape `(B, units)`, of unit vectors.
        """
        check_shape(image, "B P D", "image")
        image = self.prepare(image)
        check_positions(image, mask)
        masked = mask_for(self.encode_image, mask)
        return unit_vectors(self.encode_image(image, training, **masked))

    def embed_texts(self, words: Any, mask: Any, training: bool = False) -> Any:
        """Embeds texts.

        Args:
            words: Integer tensor of shape `(B, S, T)`, or distributions over
                words of shape `(B, S, T, V)`.
            mask: Tensor of shape `(B, S, T)`, nonzero where there is a word,
                the end token included.
            training: Boolean.

        Returns:
            Float32 tensor of shape `(B, S, units)`, of unit vectors; zeros
            where there is no word.
        """
        check_shape(mask, "B S T", "mask")
        vectors = self.embedding(words)  # (B, S, T, E)
        vectors = self.drop(vectors, self.word_dropout, training)
        _, samples, length = ops.shape(mask)  # S and T may be unknown
        texts = self.encode_text(
            ops.reshape(vectors, (-1, length, self.embedding_units)),
            ops.reshape(ops.cast(mask, "bool"), (-1, length)),
            training,
        )
        return unit_vectors(ops.reshape(texts, (-1, samples, self.units)))

    def drop(self, tensor: Any, rate: float, training: bool) -> Any:
        """Dropout, while training."""
        if not training or rate == 0.0:
            return tensor
        return keras.random.dropout(tensor, rate, seed=self.seed_generator)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "embedding_units": self.embedding_units,
            "image_dropout": self.image_dropout,
            "word_dropout": self.word_dropout,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
            "bos": self.bos,
            "eos": self.eos,
            "pad": self.pad,
            "seed": self.seed,
            # Itself: Keras keeps what model and loss share.
            "memory": self.memory,
        }


def unit_vectors(vectors: Any, epsilon: float = 1e-7) -> Any:
    """Scales vectors to length 1; those of no length stay 0, without gradient.

    Args:
        vectors: Float tensor of shape `(..., D)`.
        epsilon: Float, length up to which a vector becomes zeros. Defaults to
            `1e-7`.

    Returns:
        Float32 tensor of the same shape.
    """
    vectors = ops.cast(vectors, "float32")
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    some = squares > epsilon**2
    # The root has no gradient at 0, and near it one without bound.
    return ops.where(some, vectors * ops.rsqrt(ops.where(some, squares, 1)), 0)


def mean_unit_vectors(vectors: Any, mask: Any = None) -> Any:
    """Averages vectors `(B, P, D)` under a mask `(B, P)`: unit vectors."""
    vectors = ops.cast(vectors, "float32")
    return unit_vectors(mean_of_positions(vectors, mask))


def remembered(memory: Any, embeddings: Any, training: bool) -> Any:
    """Embeddings `(B, 1 + S, D)`, of which a memory knows if they train."""
    if memory is None:
        return embeddings
    return memory(embeddings, training=training)


def deserialized(layer: Any) -> Any:
    """An optional layer, of its config if need be."""
    if not isinstance(layer, dict):
        return layer
    return keras.saving.deserialize_keras_object(layer)
