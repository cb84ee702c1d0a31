"""A generator of answers in a visual dialog."""

from typing import Any

import keras
from keras import ops

from tfcap.models.inputs import dialog_shapes
from tfcap.models.inputs import encode_dialog
from tfcap.models.inputs import with_parts
from tfcap.models.inputs import word_ids
from tfcap.models.word_by_word import WordByWord
from tfcap.models.word_by_word import lstm_step


@keras.saving.register_keras_serializable(package="tfcap")
class DialogGenerator(WordByWord):
    """Generates an answer to every question of a dialog about an image.

    An encoder reads the question, the history and the image into `e`; an LSTM
    that starts from the question's own state reads `e` first, then the words
    of the answer. The model is a `tfcap.decoding.Speaker` whose B rows are the
    questions of all dialogs of a batch, `B = dialogs * R`, in order.

    Called on a batch, it returns teacher-forced logits, so that it also trains
    under `compile(loss=tfcap.losses.SequenceCrossentropy())`.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        encoder: A dialog encoder such as `tfcap.layers.HCIAEEncoder`, made
            with `return_state=True` and `output_units=embedding_units`.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `300`, as in the released code.
        dropout: Float, dropout rate before the vocabulary head. Defaults to
            `0.0`.
        logit_scale: Float, factor on the logits. Defaults to `1.0`; the
            released code has an undocumented `3.0`.
        embeddings_initializer: Initializer of the embedding table.
        bos: Integer, id of the start token. Defaults to `1`.
        eos: Integer, id of the end token. Defaults to `2`.

    Call arguments:
        inputs: Dict of `question` `(B, R, Tq)`, `history` `(B, R, Th)` and
            `answer` `(B, R, T)` integers padded with 0, `image`
            `(B, P, D)` floats, and optionally `image_mask` `(B, P)`.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, R, T, V)`: logits of the words of `answer`.
        Padding and the start token are never generated, unless one is `eos`.

    Example:

    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> generator = tfcap.models.DialogGenerator(50, encoder, embedding_units=6)
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "answer": np.array([[[5, 2]]]),
    ... }
    >>> generator(batch).shape
    TensorShape([1, 1, 2, 50])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, sections 4 and 5
    """

    def __init__(
        self,
        vocabulary_size: int,
        encoder: keras.layers.Layer,
        embedding_units: int = 300,
        **kwargs: Any,
    ):
        super().__init__(
            vocabulary_size,
            embedding_units,
            mask_zero=True,
            **kwargs,
        )
        if not encoder.return_state:
            raise ValueError(
                "`encoder` must be made with `return_state=True`: the answer "
                "starts from the question's state. Received: "
                f"encoder={encoder!r}."
            )
        encoded = encoder.output_units or encoder.units
        if encoded != embedding_units:
            raise ValueError(
                "`encoder` must have as many output units as an answer's words "
                f"have embedding units. Received: encoder.output_units="
                f"{encoded} and embedding_units={embedding_units}."
            )
        self.encoder = encoder
        self.cell = keras.layers.LSTMCell(
            encoder.units, name="decoder", dtype=self.dtype_policy
        )

    def build(self, input_shape):
        units = self.embedding_units
        question, history, image = dialog_shapes(input_shape)
        self.embedding.build(question)
        # A saved encoder comes back built.
        if not self.encoder.built:
            self.encoder.build((*question, units), (*history, units), image)
        self.cell.build((None, units))
        self.head.build((None, self.encoder.units))

    def call(self, inputs, training=False):
        state = self.begin(inputs, training=training)
        logits = self.logits(state, self.references(inputs), training)
        shape = ops.shape(word_ids(inputs, "answer"))
        return ops.reshape(logits, (-1, *shape[1:], self.vocabulary_size))

    def references(self, inputs: dict) -> Any:
        """Returns the human answers, one sample a row: `(B, 1, T)`."""
        answer = word_ids(inputs, "answer")
        return ops.reshape(answer, (-1, 1, ops.shape(answer)[-1]))

    def begin(self, inputs: dict, training: bool = False) -> list:
        """Reads questions, histories and images; returns the first state."""
        encoded, state = encode_dialog(
            self.encoder, self.embedding, inputs, training
        )

        def rows(tensor):
            # The encoder may have a dtype of its own.
            tensor = ops.cast(tensor, self.compute_dtype)
            return ops.reshape(tensor, (-1, tensor.shape[-1]))

        state = [rows(part) for part in state]
        return self.cell_step(self.project_inputs(rows(encoded)), state)[1]

    def project_inputs(self, embedded):
        kernel, bias = (
            ops.cast(weight, self.compute_dtype)
            for weight in (self.cell.kernel, self.cell.bias)
        )
        return ops.matmul(embedded, kernel) + bias

    def cell_step(self, inputs, state, training=False):
        """Reads one word; returns the head's input and the next state."""
        hidden, carry = state
        kernel = ops.cast(self.cell.recurrent_kernel, self.compute_dtype)
        hidden, carry = lstm_step(inputs + ops.matmul(hidden, kernel), carry)
        return hidden, [hidden, carry]

    def get_config(self):
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder}

    @classmethod
    def from_config(cls, config):
        return cls(**with_parts(config, "encoder"))
