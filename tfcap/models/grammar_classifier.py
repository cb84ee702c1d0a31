"""Classifier of texts: well formed, or not."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap.layers import SoftEmbedding
from tfcap.layers.sequence_encoder import SequenceEncoder
from tfcap.models.inputs import word_ids


@keras.saving.register_keras_serializable(package="tfcap")
class GrammarClassifier(keras.Model):
    """Tells from its words alone whether a caption is well formed.

    ```
    state = last state of an LSTM over the words
    logit = w @ relu(W @ state + b) + c
    ```

    Learns from captions and corrupted ones, those of
    `tfcap.data.GrammarBatches`, under
    `compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))`; what it
    has learned is a reward, `tfcap.rewards.Grammar`.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of the state and of the hidden layer. Defaults to
            `512`.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `512`.
        eos: Integer, id of the end token. Defaults to `2`.
        pad: Integer, id by which captions are padded, as that of the
            speaker. Defaults to `0`.
        bos: Integer, id of the start token, optional. Where captions begin
            with it, it is left out, as by a speaker.

    Call arguments:
        inputs: Dict of `caption` `(B, S, T)`, integers padded with `pad`.

    Returns:
        Float32 tensor of shape `(B, S)`, logits of being well formed.

    Example:

    >>> classifier = tfcap.models.GrammarClassifier(50, 8, 8)
    >>> classifier({"caption": np.array([[[5, 6, 2], [6, 6, 2]]])}).shape
    TensorShape([1, 2])

    Reference:

    - Cho et al., Fine-grained Image Captioning with CLIP Reward, Findings of
      NAACL 2022, section 3.2, where the text encoder of the retriever is tuned
      for this, too; here nobody shares its reader
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_units: int = 512,
        eos: int = 2,
        pad: int = 0,
        bos: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # Packed shapes of the LSTM depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embedding_units = embedding_units
        self.bos, self.eos, self.pad = bos, eos, pad
        options = {"dtype": self.dtype_policy}
        self.embedding = SoftEmbedding(
            vocabulary_size, embedding_units, name="embedding", **options
        )
        self.read = SequenceEncoder(units, name="text", **options)
        self.hidden = keras.layers.Dense(
            units, activation="relu", name="hidden", **options
        )
        self.score = keras.layers.Dense(1, name="score", dtype="float32")

    def build(self, input_shape):
        self.embedding.build((None, None))
        self.read.build((None, None, self.embedding_units))
        self.hidden.build((None, None, self.units))
        self.score.build((None, None, self.units))

    def call(self, inputs):
        tokens = word_ids(inputs, "caption", "B S T", self.pad)
        tokens = without_start(tokens, self)
        return self.logits(tokens, reference_mask(tokens, self.eos, self.pad))

    def logits(self, words: Any, mask: Any) -> Any:
        """Computes logits of being well formed.

        Args:
            words: Integer tensor of shape `(B, S, T)`, or distributions over
                words of shape `(B, S, T, V)`.
            mask: Tensor of shape `(B, S, T)`, nonzero where there is a word,
                the end token included.

        Returns:
            Float32 tensor of shape `(B, S)`.
        """
        check_shape(mask, "B S T", "mask")
        vectors = self.embedding(words)
        state = self.read(vectors, mask=ops.cast(mask, "bool"))
        return ops.squeeze(self.score(self.hidden(state)), axis=-1)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "embedding_units": self.embedding_units,
            "bos": self.bos,
            "eos": self.eos,
            "pad": self.pad,
        }
