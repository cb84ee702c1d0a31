"""Small transformer of texts beside a perceptron of images."""

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import check_length
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import config_of
from tfcap._ops.sequences import mean_of_positions
from tfcap.models.retrieval_listener import JointEncoder
from tfcap.models.transformer_speaker import TransformerBlock


@keras.saving.register_keras_serializable(package="tfcap")
class DualEncoder(JointEncoder):
    """A small CLIP: embeds images and texts in one space.

    ```
    h_p = gelu(W_1 norm(position p of the image) + b_1)
    v = unit(W_2 @ mean of h + b_2)
    x = transformer blocks over the words and their positions
    w = unit(W_3 @ mean of norm(x) over the words)
    score = v . w
    ```

    A retriever that needs no download. Its architecture differs from that of
    `tfcap.models.RetrievalListener`, so that it can serve as a held-out
    listener of a speaker that was trained with one.

    It trains on pairs under
    `compile(loss=tfcap.losses.BidirectionalContrastiveLoss(decoupled=False))`
    and `fit()` of batches without labels. Texts may be tokens or word
    distributions.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer `D`, size of the common space. Defaults to `256`.
        embedding_units: Integer, size of words and of the residual stream.
            Defaults to `256`.
        layers: Integer, transformer blocks. Defaults to `2`.
        heads: Integer that divides `embedding_units`. Defaults to `4`.
        max_length: Integer, maximum number of words of a text, with the end
            token. Defaults to `32`.
        block_dropout: Float, dropout rate of a block's output. Defaults to
            `0.1`.
        **kwargs: `image_dropout`, `word_dropout`, `embeddings_initializer`,
            `eos`, `seed`, `pad`, `bos` and `image_preprocessing` of
            `tfcap.models.RetrievalListener`.

    Call arguments, Returns:
        As of `tfcap.models.RetrievalListener`, with `T <= max_length`.

    Example:

    >>> retriever = tfcap.models.DualEncoder(
    ...     50, units=8, embedding_units=8, heads=2
    ... )
    >>> batch = {
    ...     "image": np.random.normal(size=(3, 4, 5)),
    ...     "caption": np.array([[[5, 6, 2]], [[7, 2, 0]], [[8, 9, 2]]]),
    ... }
    >>> retriever(batch).shape
    TensorShape([3, 2, 8])
    >>> retriever.compile("adam", loss=tfcap.losses.HingeRetrievalLoss())
    >>> history = retriever.fit(batch, verbose=0)

    Reference:

    - Radford et al., Learning Transferable Visual Models From Natural Language
      Supervision, ICML 2021, section 2.3
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 256,
        embedding_units: int = 256,
        layers: int = 2,
        heads: int = 4,
        max_length: int = 32,
        block_dropout: float = 0.1,
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, embedding_units, **kwargs)
        self.num_layers = layers = checked_integer(layers, "layers")
        self.heads = heads = checked_integer(heads, "heads")
        self.max_length = max_length = checked_integer(max_length, "max_length")
        self.block_dropout = block_dropout
        options = {"dtype": self.dtype_policy}
        self.image_norm = keras.layers.LayerNormalization(
            epsilon=1e-5, name="image_norm", **options
        )
        self.expand = keras.layers.Dense(
            2 * units, activation="gelu", name="expand", **options
        )
        self.project = keras.layers.Dense(units, name="image", **options)
        self.embedding = self.make_embedding()
        self.places = keras.layers.Embedding(
            max_length, embedding_units, name="places", **options
        )
        self.blocks = [
            TransformerBlock(
                embedding_units,
                heads,
                4 * embedding_units,
                block_dropout,
                # Not the masks of the words, nor of another block.
                seed=None if self.seed is None else self.seed + 1 + i,
                name=f"block_{i}",
                **options,
            )
            for i in range(layers)
        ]
        self.norm = keras.layers.LayerNormalization(
            epsilon=1e-5, name="norm", **options
        )
        # Without a bias, so that no words give no vector.
        self.merge = keras.layers.Dense(
            units, use_bias=False, name="text", **options
        )

    def build(self, input_shape):
        size = self.prepared_shape(input_shape)[-1]
        stream = (None, None, self.embedding_units)
        self.image_norm.build((None, None, size))
        self.expand.build((None, None, size))
        self.project.build((None, self.expand.units))
        self.embedding.build((None, None))
        self.places.build((None,))
        for layer in (*self.blocks, self.norm):
            layer.build(stream)
        self.merge.build((None, self.embedding_units))

    def encode_image(self, image, training=False, mask=None):
        image = ops.cast(image, self.compute_dtype)
        image = self.drop(image, self.image_dropout, training)
        hidden = self.expand(self.image_norm(image))
        return self.project(mean_of_positions(hidden, mask))

    def encode_text(self, vectors, mask, training=False):
        length = check_length(ops.shape(vectors)[1], self.max_length, "encoder")
        # What is masked may be infinite, and attention would multiply it by 0.
        vectors = ops.where(mask[..., None], vectors, 0)
        stream = vectors + self.places(ops.arange(length))
        for block in self.blocks:
            stream, _ = block(stream, visible=mask[:, None], training=training)
        return self.merge(masked_mean(self.norm(stream), mask[..., None], 1))

    def get_config(self):
        return {
            **super().get_config(),
            **config_of(self, "heads max_length block_dropout"),
            "layers": self.num_layers,
        }
