"""Word embedding of indices and of distributions, with one table."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.layers._fast import Stepwise
from tfcap.layers._fast import StepwiseLookup
from tfcap.layers._fast import embed_words


@keras.saving.register_keras_serializable(package="tfcap")
class SoftEmbedding(Stepwise, keras.layers.Layer):
    """Embeds word ids, or distributions over words, with the same table.

    A network that was trained on ids can so be fed the vectors of a word
    channel, and the gradient flows back through them.

    ```
    output = table[ids]                # integer input
    output = distributions @ table     # float input
    ```

    On one-hot vectors the two agree to the bit. Vectors of a word channel are
    looked up, see `embed_words()`; what is computed from them is multiplied.
    `from_embedding()` ties it to the table of a network that somebody has.

    Args:
        vocabulary_size: Integer `V`.
        units: Integer, size of the embeddings.
        embeddings_initializer: Initializer of the table. Defaults to
            `"uniform"`.
        mask_zero: Boolean, whether id 0 is padding. If so, ids carry the mask
            `ids != 0`; distributions carry on the mask they came with.
            Defaults to `True`.

    Call arguments:
        inputs: Integer tensor of shape `(...)`, or float tensor of shape
            `(..., V)`. The dtype tells which.

    Returns:
        Float tensor of shape `(..., units)`.

    Example:

    >>> embed = tfcap.layers.SoftEmbedding(vocabulary_size=5, units=3)
    >>> ids = np.array([[4, 1, 0]])
    >>> embed(ids).shape
    TensorShape([1, 3, 3])
    >>> bool((embed(ids) == embed(np.eye(5)[ids])).numpy().all())
    True
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int,
        embeddings_initializer: Any = "uniform",
        mask_zero: bool = True,
        **kwargs,
    ):
        vocabulary_size = checked_integer(vocabulary_size, "vocabulary_size")
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.mask_zero = mask_zero
        self.supports_masking = True
        self.tied = None
        self._own = None

    @classmethod
    def from_embedding(
        cls, layer: keras.layers.Embedding, **kwargs
    ) -> "SoftEmbedding":
        """Ties soft words to the table of an embedding layer, without a copy.

        What either learns the other has learned. With `enable_lora()` the
        table is the sum of the frozen one and its adapter, and the adapter
        learns.

        Args:
            layer: `keras.layers.Embedding`, or a kind of it such as
                `ReversibleEmbedding`.
            **kwargs: Of `keras.layers.Layer`, and `mask_zero`, by default that
                of the layer.

        Raises:
            TypeError: If `layer` is none.
            ValueError: If its table is quantized: integers have no gradient.

        Example:

        >>> layer = keras.layers.Embedding(5, 3)
        >>> soft = tfcap.layers.SoftEmbedding.from_embedding(layer)
        >>> bool(np.all(soft(np.eye(5)[[4, 1]]) == layer(np.array([4, 1]))))
        True
        """
        if not isinstance(layer, keras.layers.Embedding):
            raise TypeError(
                "`layer` must be a `keras.layers.Embedding`. Received: "
                f"layer={layer!r}. Pass the layer that holds the table, such "
                "as `backbone.token_embedding`."
            )
        options = {
            "embeddings_initializer": layer.embeddings_initializer,
            "mask_zero": layer.mask_zero,
            "dtype": layer.dtype_policy,
            "trainable": layer.trainable,
        }
        _check_floats(layer)
        soft = cls(layer.input_dim, layer.output_dim, **{**options, **kwargs})
        soft.tied = layer
        return soft

    def build(self, input_shape):
        if self.tied is None:
            self._own = self.add_weight(
                shape=(self.vocabulary_size, self.units),
                initializer=self.embeddings_initializer,
                name="embeddings",
            )
        elif not self.tied.built:
            self.tied.build()
        self.built = True

    @property
    def embeddings(self):
        """The table `(V, units)`."""
        if self.tied is None:
            return self._own
        _check_floats(self.tied)
        return self.tied.embeddings

    def call(self, inputs):
        if _holds_ids(inputs):
            if self.tied is not None:
                return self.tied(inputs)
            # Cast after the lookup: the table itself may be large.
            rows = ops.take(self.embeddings, inputs, axis=0)
            return ops.cast(rows, self.compute_dtype)
        self._check(inputs.shape)
        shared = self.shared(inputs)
        if shared is not None:
            return shared(inputs)
        return embed_words(inputs, self.embeddings)

    def share(self, rows, steps):
        table = ops.cast(self.embeddings, self.compute_dtype)
        return StepwiseLookup(table, rows, steps)

    def compute_mask(self, inputs, mask=None):
        if _holds_ids(inputs):
            return ops.not_equal(inputs, 0) if self.mask_zero else None
        return mask

    def compute_output_spec(self, inputs):
        shape = tuple(inputs.shape)
        if not _holds_ids(inputs):
            self._check(shape)
            shape = shape[:-1]
        return keras.KerasTensor((*shape, self.units), dtype=self.compute_dtype)

    def _check(self, shape):
        if shape[-1] != self.vocabulary_size:
            raise ValueError(
                "`inputs` must be integer ids, or distributions of shape "
                f"(..., {self.vocabulary_size}). Received: "
                f"shape={tuple(shape)} of floats."
            )

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
            "mask_zero": self.mask_zero,
            "tied": keras.saving.serialize_keras_object(self.tied),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)  # the caller's stays whole
        tied = config.pop("tied", None)
        layer = cls(**config)
        layer.tied = keras.saving.deserialize_keras_object(tied)
        return layer


def _check_floats(layer):
    """Refuses a table of integers."""
    if layer.quantization_mode is not None:
        raise ValueError(
            "`layer` must have a table of floats, through which a gradient "
            "passes to soft words. Received: a table quantized to "
            f"{layer.quantization_mode}. Quantize all other layers, by "
            "`quantize(..., filters=...)`, or leave this one out."
        )


def _holds_ids(inputs):
    return "int" in keras.backend.standardize_dtype(inputs.dtype)
