"""The listener: finds images by what is said of them."""

import keras
from keras import ops

from tfcap.layers import MaskedGRU
from tfcap.layers import SoftEmbedding
from tfcap.models.inputs import image_features
from tfcap.models.inputs import word_ids
from tfcap.ops import SeedGenerator
from tfcap.ops import check_shape
from tfcap.ops import sequence_mask


@keras.saving.register_keras_serializable(package="tfcap")
class RetrievalListener(keras.Model):
    """Embeds images and texts in one space, where a dot product tells a match.

    ```
    v = unit(W @ mean of the image's positions + b)
    w = unit(last state of a GRU over the text's words)
    score = v . w
    ```

    Trains on pairs under
    `compile(loss=tfcap.losses.HingeRetrievalLoss())` and `fit()` of batches
    without labels: every other row of the batch is a negative. Texts may be
    tokens or word distributions, so that a speaker can be trained through it.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer `D`, size of the common space. Defaults to `1024`.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `512`.
        image_dropout: Float in `[0, 1)`, rate of dropout of image features.
            Defaults to `0.0`.
        word_dropout: Float in `[0, 1)`, rate of dropout of word embeddings.
            Defaults to `0.0`.
        embeddings_initializer: Initializer of the embedding table. Defaults
            to uniform in `[-0.1, 0.1]`.
        eos: Integer, id of the end token. Defaults to `2`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        inputs: Dict of `image` `(B, P, D)` floats and `caption` `(B, S, T)`
            integers padded with 0.
        training: Boolean, whether to drop out.

    Returns:
        Float32 tensor of shape `(B, 1 + S, units)`: of every row the embedding
        of its image, then those of its texts, zeros for a text without words.

    Example:

    >>> listener = tfcap.models.RetrievalListener(50, units=8)
    >>> batch = {
    ...     "image": np.random.normal(size=(3, 1, 5)),
    ...     "caption": np.array([[[5, 6, 2]], [[7, 2, 0]], [[8, 9, 2]]]),
    ... }
    >>> listener(batch).shape
    TensorShape([3, 2, 8])
    >>> listener.compile("adam", loss=tfcap.losses.HingeRetrievalLoss())
    >>> history = listener.fit(batch, verbose=0)

    Reference:

    - Faghri et al., VSE++: Improving Visual-Semantic Embeddings with Hard
      Negatives, BMVC 2018, section 3; as in Vered et al., ICCV 2019, whose
      code also has the text begin with a start token. There, an initial state
      is learned that way; here it is zero.
    """

    def __init__(
        self,
        vocabulary_size,
        units=1024,
        embedding_units=512,
        image_dropout=0.0,
        word_dropout=0.0,
        embeddings_initializer=None,
        eos=2,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # Packed shapes of the GRU depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        for name, rate in (
            ("image_dropout", image_dropout),
            ("word_dropout", word_dropout),
        ):
            if not 0.0 <= rate < 1.0:
                raise ValueError(
                    f"`{name}` must be in [0, 1). Received: {name}={rate}."
                )
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomUniform(-0.1, 0.1)
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embedding_units = embedding_units
        self.image_dropout = image_dropout
        self.word_dropout = word_dropout
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.eos = eos
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)
        options = {"dtype": self.dtype_policy}
        self.project = keras.layers.Dense(units, name="image", **options)
        self.embedding = SoftEmbedding(
            vocabulary_size,
            embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            name="embedding",
            **options,
        )
        self.read = MaskedGRU(units, name="text", **options)

    def build(self, input_shape):
        self.project.build((None, image_features(input_shape)[-1]))
        self.embedding.build((None, None))
        self.read.build((None, None, self.embedding_units))

    def call(self, inputs, training=False):
        tokens = word_ids(inputs, "caption", "B S T")
        images = self.embed_images(image_features(inputs), training)
        texts = self.embed_texts(
            tokens, sequence_mask(tokens, self.eos), training
        )
        return ops.concatenate([images[:, None], texts], axis=1)

    def embed_images(self, image, training=False):
        """Embeds images.

        Args:
            image: Float tensor of shape `(B, P, D)`.
            training: Boolean.

        Returns:
            Float32 tensor of shape `(B, units)`, of unit vectors.
        """
        check_shape(image, "B P D", "image")
        # Half precision would round the mean of many positions.
        pooled = ops.mean(ops.cast(image, "float32"), axis=1)
        pooled = ops.cast(pooled, self.compute_dtype)
        pooled = self._drop(pooled, self.image_dropout, training)
        return _unit(self.project(pooled))

    def embed_texts(self, words, mask, training=False):
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
        vectors = self.embedding(words)
        vectors = self._drop(vectors, self.word_dropout, training)
        samples, length = mask.shape[1:]
        last = self.read(
            ops.reshape(vectors, (-1, length, self.embedding_units)),
            mask=ops.reshape(ops.cast(mask, "bool"), (-1, length)),
        )
        return _unit(ops.reshape(last, (-1, samples, self.units)))

    def _drop(self, tensor, rate, training):
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
            "eos": self.eos,
            "seed": self.seed,
        }


def _unit(vectors, epsilon=1e-7):
    """Vectors of length 1 in float32; what has no length has no gradient."""
    vectors = ops.cast(vectors, "float32")
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    some = squares > epsilon**2
    # The root has no gradient at 0, and near it one without bound.
    return ops.where(some, vectors * ops.rsqrt(ops.where(some, squares, 1)), 0)
