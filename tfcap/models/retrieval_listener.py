"""Listener: retrieves images by their captions."""

from typing import Any

import keras
from keras import ops

from tfcap.layers import MaskedGRU
from tfcap.models.inputs import image_features
from tfcap.models.joint_encoder import JointEncoder
from tfcap.ops import masked_mean

POOLINGS = ("last", "mean", "max")


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
            `"last"`, `"mean"`, or `"max"`, the greatest of each unit. Defaults
            to `"last"`.
        bag_of_words: Boolean, whether a linear map of the mean of the words'
            embeddings is added to it. Defaults to `False`.
        eos: Integer, id of the end token. Defaults to `2`.
        seed: Integer, optional seed of the dropout.
        memory: `tfcap.losses.CrossBatchMemory` of the loss, optional.
        image_preprocessing: As that of `tfcap.models.CaptionSpeaker`.

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
        vocabulary_size: int,
        units: int = 1024,
        embedding_units: int = 512,
        image_dropout: float = 0.0,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = None,
        eos: int = 2,
        seed: int | None = None,
        pooling: str = "last",
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
                f"`pooling` must be among {', '.join(POOLINGS)}. Received: "
                f"pooling={pooling!r}."
            )
        self.pooling = pooling
        self.bag_of_words = bag_of_words
        options = {"dtype": self.dtype_policy}
        self.project = keras.layers.Dense(units, name="image", **options)
        self.embedding = self.make_embedding()
        self.read = MaskedGRU(
            units, return_sequences=pooling != "last", name="text", **options
        )
        if bag_of_words:
            # Without a bias, so that no words give no vector.
            self.project_words = keras.layers.Dense(
                units, use_bias=False, name="words", **options
            )

    def build(self, input_shape):
        self.project.build((None, image_features(input_shape)[-1]))
        self.embedding.build((None, None))
        self.read.build((None, None, self.embedding_units))
        if self.bag_of_words:
            self.project_words.build((None, self.embedding_units))

    def encode_image(self, image, training=False):
        # Half precision would round the mean of many positions.
        pooled = ops.mean(ops.cast(image, "float32"), axis=1)
        pooled = ops.cast(pooled, self.compute_dtype)
        return self.project(self.drop(pooled, self.image_dropout, training))

    def encode_text(self, vectors, mask, training=False):
        pooled = self._pooled(vectors, mask)
        if not self.bag_of_words:
            return pooled
        words = masked_mean(vectors, mask[..., None], axis=1)
        return pooled + self.project_words(words)

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
