"""Base class of speakers of image captions."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.models.inputs import GuidedNetwork
from tfcap.models.inputs import ImageNetwork
from tfcap.models.inputs import check_positions
from tfcap.models.inputs import image_mask
from tfcap.models.inputs import word_ids
from tfcap.models.word_by_word import WordByWord


class CaptionSpeaker(GuidedNetwork, ImageNetwork, WordByWord):
    """Captions an image, word by word.

    ```
    state = encode_image(image)
    hidden, state = cell_step(project_inputs(embed(word)), state)
    logits = compute_logits(hidden)
    ```

    To write a speaker, override `encode_image()` and the methods of a step,
    see `tfcap.models.word_by_word.WordByWord`. The model is a
    `tfcap.decoding.Speaker` whose B rows are images.

    Called on a batch, it returns teacher-forced logits, so that it also trains
    under `compile(loss=tfcap.losses.SequenceCrossentropy(pad=pad))`.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, input size of the vocabulary head. Defaults to `512`.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `units`.
        dropout: Float, dropout rate before the vocabulary head. Defaults to
            `0.0`.
        word_dropout: Float, dropout rate of the embedded words. Defaults to
            `0.0`.
        image_dropout: Float, dropout rate of the image. Defaults to `0.0`.
        embedding_activation: Activation of the embedded words, or `None`.
        embeddings_initializer: Initializer of the embedding table.
        logit_scale: Float, factor on the logits. Defaults to `1.0`.
        bos: Integer, id of the start token. Defaults to `1`.
        eos: Integer, id of the end token. Defaults to `2`.
        pad: Integer, id of padding in captions, as in the vocabulary. Defaults
            to `0`.
        condition_dropout: Float in `[0, 1)`, share of the images of a batch
            that are replaced by zeros in training, after the preprocessing, so
            that decoders may use `guidance`. Defaults to `0.0`.
        image_preprocessing: Keras layer that every image goes through first,
            and that is saved with the speaker, such as
            `tfcap.layers.ImageStandardization`, or a convolutional network
            from pixels to `(B, P, D)`; `None`, the default, to take images as
            they are; `"outside"` if the caller prepares them.

    Call arguments:
        inputs: Dict of `image`, `(B, P, D)` floats, one row for each position,
            `P = 1` where features are pooled; `caption`, `(B, S, T)` integers
            padded with `pad`; and optionally `image_mask`, `(B, P)`, nonzero
            where there is a position.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(B, S, T, V)`: logits of the words of
        `caption`. Padding and the start token are never generated, unless one
        is `eos`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_units: int | None = None,
        word_dropout: float = 0.0,
        image_dropout: float = 0.0,
        embedding_activation: Any = None,
        condition_dropout: float = 0.0,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(
            vocabulary_size=vocabulary_size,
            embedding_units=embedding_units or units,
            **kwargs,
        )
        self.units = units
        self.embedding_activation = keras.activations.get(embedding_activation)
        options = {"dtype": self.dtype_policy}
        self.word_dropout = keras.layers.Dropout(word_dropout, **options)
        self.image_dropout = keras.layers.Dropout(image_dropout, **options)
        self.drop_conditions(condition_dropout)

    def encode_image(
        self, image: Any, mask: Any, training: bool = False
    ) -> Any:
        """Reads images.

        Args:
            image: Float tensor of shape `(B, P, D)`.
            mask: Tensor of shape `(B, P)`, nonzero where there is a position,
                or `None` for all.
            training: Boolean.

        Returns:
            The first state: nest of tensors with leading axis `B`.
        """
        raise NotImplementedError

    def build(self, input_shape):
        self.embedding.build((None,))
        self.head.build((None, self.units))
        image_shape = self.prepared_shape(input_shape)
        self.features = image_shape[-1]
        self.build_network(image_shape)

    def build_network(self, image_shape: tuple) -> None:
        """Builds the layers of the subclass.

        Args:
            image_shape: Tuple `(B, P, D)`.
        """
        raise NotImplementedError

    def call(self, inputs, training=False):
        state = self.begin(inputs, training=training)
        return self.logits(state, self.references(inputs), training)

    def references(self, inputs: dict) -> Any:
        """Returns the human captions: `(B, S, T)`."""
        return word_ids(inputs, "caption", "B S T", self.pad)

    def begin(self, inputs: dict, training: bool = False) -> Any:
        """Reads images, and returns the first state."""
        image, mask = self.prepare(self.images(inputs)), image_mask(inputs)
        image = self.dropped(image, training)
        check_positions(image, mask)
        return self.encode_image(image, mask, training=training)

    def unconditional(self, state: Any) -> Any:
        """Returns the first state of as many rows without an image.

        Raises:
            ValueError: If the speaker was made without `condition_dropout`.
        """
        self.check_guided()
        rows = ops.shape(keras.tree.flatten(state)[0])[0]
        positions, mask = self.positions_read(state)
        shape = (rows, positions, self.features)
        image = ops.zeros(shape, self.compute_dtype)
        return self.encode_image(image, mask, training=False)

    def positions_read(self, state: Any) -> tuple[Any, Any]:
        """Returns the number of empty image positions, and their mask.

        Two are enough for an average. Keras' softmax warns of a single one.
        """
        return 2, None

    def layers_of_words(self) -> tuple:
        return (*super().layers_of_words(), self.word_dropout)

    def embed(self, words: Any, training: bool = False) -> Any:
        """Embeds ids `(...)`, or distributions `(..., V)`."""
        embedded = self.embedding_activation(self.embedding(words))
        return self.word_dropout(embedded, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "word_dropout": self.word_dropout.rate,
            "image_dropout": self.image_dropout.rate,
            "embedding_activation": keras.activations.serialize(
                self.embedding_activation
            ),
        }
