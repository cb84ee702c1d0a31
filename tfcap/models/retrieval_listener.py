"""Networks that embed images and texts in one space."""

import math
from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import check_shape
from tfcap._ops import masked_mean
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap._ops.arguments import checked_rate
from tfcap._ops.arguments import checked_seed
from tfcap._ops.arguments import config_of
from tfcap._ops.replicas import drop_out
from tfcap._ops.sequences import mask_for
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers import SoftEmbedding
from tfcap.layers.sequence_encoder import MaskedGRU
from tfcap.models.inputs import ImageNetwork
from tfcap.models.inputs import check_positions
from tfcap.models.inputs import image_mask
from tfcap.models.inputs import word_ids


class JointEncoder(ImageNetwork):
    """Embeds images and texts in one space, to compare them by dot products.

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
        self.seed_generator = SeedGenerator(self.seed)

    def encode_image(
        self, image: Any, training: bool = False, mask: Any = None
    ) -> Any:
        """Encodes images `(B, P, D)` to vectors `(B, units)` of any length.

        The mask is that of `embed_images()`; a subclass need not take it.
        """
        raise NotImplementedError

    def encode_text(
        self, vectors: Any, mask: Any, training: bool = False
    ) -> Any:
        """Encodes texts to vectors `(n, units)` of any length.

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
            self.images(inputs),
            training,
            **mask_for(self.embed_images, image_mask(inputs)),
        )
        mask = reference_mask(tokens, self.eos, self.pad)
        texts = self.embed_texts(tokens, mask, training)
        return ops.concatenate([images[:, None], texts], axis=1)

    def embed_images(
        self, image: Any, training: bool = False, mask: Any = None
    ) -> Any:
        """Embeds images.

        Args:
            image: Float tensor of shape `(B, P, D)`, or as
                `image_preprocessing` takes it.
            training: Boolean.
            mask: Tensor of shape `(B, P)`, nonzero where there is a position,
                or `None` for all.

        Returns:
            Float32 tensor of shape `(B, units)`, of unit vectors.
        """
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
        """Applies dropout in training."""
        return drop_out(tensor, rate, self.seed_generator, training)

    def get_config(self):
        names = (
            "vocabulary_size units embedding_units image_dropout "
            "word_dropout embeddings_initializer bos eos pad seed"
        )
        return {**super().get_config(), **config_of(self, names)}


def unit_vectors(vectors: Any, epsilon: float = 1e-7) -> Any:
    """Scales vectors to length 1; zeros stay zeros, without gradient.

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


POOLINGS = ("last", "mean", "max", None)


@keras.saving.register_keras_serializable(package="tfcap")
class RetrievalListener(JointEncoder):
    """Embeds images and texts in one space for retrieval by dot product.

    ```
    v = unit(W @ mean of the image's positions + b)
    w = unit(pooled states of a GRU over the text's words)
    w = unit(pooled states + U @ mean of the words' embeddings)     bag_of_words
    score = v . w
    ```

    As published, the last state encodes the text. With a few thousand images,
    the maximum over states (`pooling="max"`) and a bag of words beside it
    retrieve more. The bag alone (`pooling=None`) ignores the order of words.

    It trains on pairs under
    `compile(loss=tfcap.losses.HingeRetrievalLoss())`, or a contrastive loss,
    and `fit()` on batches without labels: every other row of the batch is a
    negative. Texts may be tokens or word distributions, so that a speaker can
    be trained through it.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer `D`, size of the common space. Defaults to `1024`.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `512`.
        image_dropout: Float in `[0, 1)`, dropout rate of image features.
            Defaults to `0.0`.
        word_dropout: Float in `[0, 1)`, dropout rate of word embeddings.
            Defaults to `0.0`.
        embeddings_initializer: Initializer of the embedding table. Defaults
            to uniform in `[-0.1, 0.1]`.
        pooling: String, how the states of the words become one vector:
            `"last"`, `"mean"`, or `"max"`, the maximum of each unit; or
            `None`, the bag of words alone, without recurrence. Defaults to
            `"last"`.
        bag_of_words: Boolean, whether to add a linear map of the words' mean
            embedding. Defaults to `False`.
        eos: Integer, id of the end token. Defaults to `2`.
        seed: Integer, optional seed of the dropout.
        pad: Integer, id of padding in captions, as in the speaker. Defaults to
            `0`.
        bos: Integer, id of the start token, which is left out at the
            beginning of captions. Optional.
        image_preprocessing: As in `tfcap.models.CaptionSpeaker`.

    Call arguments:
        inputs: Dict of `image` `(B, P, D)` floats, `caption` `(B, S, T)`
            integers padded with `pad`, and optionally `image_mask` `(B, P)`,
            nonzero where there is a position.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(B, 1 + S, units)`: for every row the embedding
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
      Negatives, BMVC 2018, section 3, used by Vered et al., ICCV 2019, whose
      code begins texts with a start token, and thus learns an initial state;
      here it is zero.
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 1024,
        embedding_units: int = 512,
        pooling: str | None = "last",
        bag_of_words: bool = False,
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, embedding_units, **kwargs)
        # Packed shapes of the GRU depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        check_choice(pooling, "pooling", POOLINGS)
        if pooling is None and not bag_of_words:
            raise ValueError(
                "`bag_of_words` must be True for `pooling=None`. Received: "
                "pooling=None, bag_of_words=False, which would read nothing."
            )
        self.pooling = pooling
        self.bag_of_words = bag_of_words
        options = {"dtype": self.dtype_policy}
        self.project = keras.layers.Dense(units, name="image", **options)
        self.embedding = self.make_embedding()
        if pooling is not None:
            whole = pooling != "last"
            self.read = MaskedGRU(
                units, return_sequences=whole, name="text", **options
            )
        if bag_of_words:
            # Without a bias, so that no words give no vector.
            self.project_words = keras.layers.Dense(
                units, use_bias=False, name="words", **options
            )

    def build(self, input_shape):
        self.project.build((None, self.prepared_shape(input_shape)[-1]))
        self.embedding.build((None, None))
        if self.pooling is not None:
            self.read.build((None, None, self.embedding_units))
        if self.bag_of_words:
            self.project_words.build((None, self.embedding_units))

    def encode_image(self, image, training=False, mask=None):
        # Half precision would round the mean of many positions.
        pooled = mean_of_positions(ops.cast(image, "float32"), mask)
        pooled = ops.cast(pooled, self.compute_dtype)
        return self.project(self.drop(pooled, self.image_dropout, training))

    def encode_text(self, vectors, mask, training=False):
        if not self.bag_of_words:
            return self._pooled(vectors, mask)
        words = masked_mean(vectors, mask[..., None], axis=1)
        bag = self.project_words(words)
        return (
            bag if self.pooling is None else self._pooled(vectors, mask) + bag
        )

    def embed_endings(
        self, words: Any, mask: Any, eos: int, training: bool = False
    ) -> Any:
        """Embeds all texts that end earlier than the given ones.

        The result equals `embed_texts()` of each, in 2T steps of the
        recurrence rather than T (T + 3) / 2.

        Args:
            words: Float tensor of shape `(B, S, T, V)`, words without an end.
            mask: Tensor of shape `(B, S * (T + 1), T)`, nonzero where a text
                has a word.
            eos: Integer, the word that ends a text.
            training: Boolean.

        Returns:
            Float32 tensor of shape `(B, S * (T + 1), units)`: of every text
            those that end with word 0, with word 1, ..., and that which does
            not end; zeros where there is no word.
        """
        vectors = self.embedding(words)
        vectors = ops.reshape(vectors, (-1, *vectors.shape[2:]))  # (n, T, E)
        end = self.embedding(ops.full((1, 1), eos, dtype="int32"))
        end = ops.broadcast_to(end, ops.shape(vectors))
        vectors = self.drop(vectors, self.word_dropout, training)
        end = self.drop(end, self.word_dropout, training)
        recurrent = self.pooling is not None
        texts = self._pooled_endings(vectors, end) if recurrent else 0.0
        if self.bag_of_words:
            bags = _with_end(vectors, end, "mean")
            texts = texts + self.project_words(bags)
        texts = ops.reshape(texts, (-1, ops.shape(mask)[1], self.units))
        some = ops.any(ops.cast(mask, "bool"), axis=-1)[..., None]
        return unit_vectors(ops.where(some, texts, 0))

    def _pooled_endings(self, vectors, end):
        """Returns pooled states `(n, T + 1, units)` of all endings."""
        rows, length = ops.shape(vectors)[0], vectors.shape[1]
        state = [ops.zeros((rows, self.units), vectors.dtype)]
        going, ended = [], []
        for t in range(length):
            ended.append(self.read.cell(end[:, t], state)[0])
            output, state = self.read.cell(vectors[:, t], state)
            going.append(output)
        return _with_end(
            ops.stack(going, axis=1), ops.stack(ended, axis=1), self.pooling
        )

    def _pooled(self, vectors, mask):
        states = self.read(vectors, mask=mask)  # (n, units) or (n, T, units)
        if self.pooling == "last":
            return states
        mask = mask[..., None]
        if self.pooling == "mean":
            return masked_mean(states, mask, axis=1)
        # States are in (-1, 1): what is masked is never the greatest.
        greatest = ops.max(ops.where(mask, states, -1), axis=1)
        return ops.where(ops.any(mask, axis=1), greatest, 0)

    def get_config(self):
        names = "pooling bag_of_words"
        return {**super().get_config(), **config_of(self, names)}


def _with_end(going, ended, pooling):
    """Pools the states before each end with the end's, and all states.

    Args:
        going: Float tensor of shape `(n, T, D)`.
        ended: Float tensor of shape `(n, T, D)`, of the end in each place.
        pooling: String.

    Returns:
        Float tensor of shape `(n, T + 1, D)`.
    """
    if pooling == "last":
        return ops.concatenate([ended, going[:, -1:]], axis=1)
    length = going.shape[1]
    if pooling == "mean":
        before = ops.pad(ops.cumsum(going, axis=1), [(0, 0), (1, 0), (0, 0)])
        total = before + ops.pad(ended, [(0, 0), (0, 1), (0, 0)])
        counts = ops.minimum(ops.arange(1, length + 2), length)
        return total / ops.cast(counts, total.dtype)[:, None]
    columns, greatest = [ended[:, 0]], going[:, 0]
    for t in range(1, length):
        columns.append(ops.maximum(greatest, ended[:, t]))
        greatest = ops.maximum(greatest, going[:, t])
    return ops.stack([*columns, greatest], axis=1)


@keras.saving.register_keras_serializable(package="tfcap")
class CaptionEvaluator(RetrievalListener):
    """A listener that returns the probability of a match.

    ```
    probability = sigmoid(exp(log_scale) * v . w + bias)
    ```

    with the unit vectors of `tfcap.models.RetrievalListener`. The scale of the
    cosines and the bias are learned.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: As in `tfcap.models.RetrievalListener`.
        embedding_units: As in `tfcap.models.RetrievalListener`.
        scale: Float, initial scale. Defaults to `10.0`.
        **kwargs: Those of `tfcap.models.RetrievalListener`.

    Call arguments, Returns:
        As of `tfcap.models.RetrievalListener`.

    Example:

    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=8)
    >>> batch = {
    ...     "image": np.random.normal(size=(3, 1, 5)),
    ...     "caption": np.array([[[5, 6, 2]], [[7, 2, 0]], [[8, 9, 2]]]),
    ... }
    >>> vectors = evaluator(batch)
    >>> logits = evaluator.logits(vectors[:, 0], vectors[:, 1:])
    >>> keras.ops.sigmoid(logits).shape
    TensorShape([3, 1])

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.1, where embeddings are not
      normalized, and neither scale nor bias is learned
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 1024,
        embedding_units: int = 512,
        scale: float = 10.0,
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, embedding_units, **kwargs)
        self.scale = checked_number(scale, "scale", "positive", lambda x: x > 0)

    def build(self, input_shape):
        super().build(input_shape)
        options = {"shape": (), "dtype": "float32", "autocast": False}
        self.log_scale = self.add_weight(
            initializer=keras.initializers.Constant(math.log(self.scale)),
            name="log_scale",
            **options,
        )
        self.bias = self.add_weight(initializer="zeros", name="bias", **options)

    def logits(self, images: Any, texts: Any) -> Any:
        """Computes logits of the probability of a match.

        Args:
            images: Float tensor of shape `(B, D)`, from `embed_images()`.
            texts: Float tensor of shape `(B, S, D)`, those of each image, or
                `(N, D)`, to be judged with every image.

        Returns:
            Float32 tensor of shape `(B, S)` or `(B, N)`.
        """
        if len(texts.shape) == 2:
            scores = ops.matmul(images, ops.transpose(texts))
        else:
            scores = ops.sum(images[:, None] * texts, axis=-1)
        scores = ops.cast(scores, "float32")
        return ops.exp(self.log_scale) * scores + self.bias

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}
