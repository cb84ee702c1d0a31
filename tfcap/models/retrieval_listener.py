"""The listener: finds images by what is said of them."""

import keras
from keras import ops

from tfcap.layers import MaskedGRU
from tfcap.models.inputs import image_features
from tfcap.models.joint_encoder import JointEncoder


@keras.saving.register_keras_serializable(package="tfcap")
class RetrievalListener(JointEncoder):
    """Embeds images and texts in one space, where a dot product tells a match.

    ```
    v = unit(W @ mean of the image's positions + b)
    w = unit(last state of a GRU over the text's words)
    score = v . w
    ```

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
        options = {"dtype": self.dtype_policy}
        self.project = keras.layers.Dense(units, name="image", **options)
        self.embedding = self.make_embedding()
        self.read = MaskedGRU(units, name="text", **options)

    def build(self, input_shape):
        self.project.build((None, image_features(input_shape)[-1]))
        self.embedding.build((None, None))
        self.read.build((None, None, self.embedding_units))

    def look(self, image, training=False):
        # Half precision would round the mean of many positions.
        pooled = ops.mean(ops.cast(image, "float32"), axis=1)
        pooled = ops.cast(pooled, self.compute_dtype)
        return self.project(self.drop(pooled, self.image_dropout, training))

    def listen(self, vectors, mask, training=False):
        return self.read(vectors, mask=mask)
