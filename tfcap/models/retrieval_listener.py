"""Listener: retrieves images by their captions."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers.sequence_encoder import MaskedGRU
from tfcap.models.inputs import image_features
from tfcap.models.joint_encoder import JointEncoder
from tfcap.models.joint_encoder import unit_vectors

POOLINGS = ("last", "mean", "max", None)


@keras.saving.register_keras_serializable(package="tfcap")
class RetrievalListener(JointEncoder):
    """Embeds images and texts in one space, where a dot product tells a match.

    ```
    v = unit(W @ mean of the image's positions + b)
    w = unit(pooled states of a GRU over the text's words)
    w = unit(pooled states + U @ mean of the words' embeddings)     bag_of_words
    score = v . w
    ```

    As published, the last state stands for the text. A few thousand images
    are not enough to learn a recurrence that keeps the whole text: there, the
    maximum over states, and a bag of words beside it, retrieve clearly more.
    The bag alone, `pooling=None`, knows no order: what it finds less than
    others, captions say by order.

    Trains on pairs under
    `compile(loss=tfcap.losses.HingeRetrievalLoss())`, or a contrastive loss,
    and `fit()` of batches without labels: every other row of the batch is a
    negative. Texts may be tokens or word distributions, so that a speaker can
    be trained through it.

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
        pooling: String, how the states of the words become one vector:
            `"last"`, `"mean"`, or `"max"`, the greatest of each unit; or
            `None`, no recurrence, the bag of words alone. Defaults to
            `"last"`.
        bag_of_words: Boolean, whether a linear map of the mean of the words'
            embeddings is added to it. Defaults to `False`.
        eos: Integer, id of the end token. Defaults to `2`.
        seed: Integer, optional seed of the dropout.
        memory: `tfcap.losses.CrossBatchMemory` of the loss, optional.
        pad: Integer, id by which captions are padded, as that of the
            speaker. Defaults to `0`.
        bos: Integer, id of the start token, optional. Where captions begin
            with it, it is left out, as by a speaker.
        image_preprocessing: As that of `tfcap.models.CaptionSpeaker`.

    Call arguments:
        inputs: Dict of `image` `(B, P, D)` floats, `caption` `(B, S, T)`
            integers padded with `pad`, and optionally `image_mask` `(B, P)`,
            nonzero where there is a position.
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
        vocabulary_size: int,
        units: int = 1024,
        embedding_units: int = 512,
        image_dropout: float = 0.0,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = None,
        eos: int = 2,
        seed: int | None = None,
        pooling: str | None = "last",
        bag_of_words: bool = False,
        **kwargs,
    ):
        super().__init__(
            vocabulary_size,
            units,
            embedding_units,
            image_dropout,
            word_dropout,
            embeddings_initializer,
            eos,
            seed,
            **kwargs,
        )
        # Packed shapes of the GRU depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        if pooling not in POOLINGS:
            raise ValueError(
                f"`pooling` must be among {', '.join(map(str, POOLINGS))}. "
                f"Received: pooling={pooling!r}."
            )
        if pooling is None and not bag_of_words:
            raise ValueError(
                "`bag_of_words` must be true of a listener without recurrence. "
                "Received: pooling=None, bag_of_words=False, which reads "
                "nothing."
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
        self.project.build((None, image_features(input_shape)[-1]))
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
        """Embeds all that texts would be if they ended earlier.

        As `embed_texts()` of each, but that a word is read once, whatever
        follows: 2T steps of the recurrence, rather than T (T + 3) / 2.

        Args:
            words: Float tensor of shape `(B, S, T, V)`, words that go on.
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
        """Pooled states `(n, T + 1, units)` of texts that end or go on."""
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
        return {
            **super().get_config(),
            "pooling": self.pooling,
            "bag_of_words": self.bag_of_words,
        }


def _with_end(going, ended, pooling):
    """Pools what stands before each end, with the end; and all that goes on.

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
