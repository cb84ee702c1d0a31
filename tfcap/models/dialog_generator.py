"""The answering player of a visual dialog."""

import keras
from keras import ops

from tfcap.layers import SoftEmbedding
from tfcap.models.caption_speaker import word_rows
from tfcap.models.inputs import dialog_shapes
from tfcap.models.inputs import image_features
from tfcap.models.inputs import word_ids
from tfcap.models.lstm_step import lstm_step
from tfcap.models.packed_scores import packed_scores
from tfcap.models.stepwise import decoding
from tfcap.models.vocabulary_head import VocabularyHead
from tfcap.ops import check_shape
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import token_log_probs


@keras.saving.register_keras_serializable(package="tfcap")
class DialogGenerator(keras.Model):
    """Answers every question of a dialog about an image, word by word.

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
            `300`, as the released code has it.
        dropout: Float, rate on what enters the vocabulary head. Defaults to
            `0.0`.
        logit_scale: Float, factor on the logits. Defaults to `1.0`; the
            released code has an undocumented `3.0`.
        embeddings_initializer: Initializer of the embedding table.
        bos: Integer, id of the start token. Defaults to `1`.
        eos: Integer, id of the end token. Defaults to `2`.

    Call arguments:
        inputs: Dict of `question` `(B, R, Tq)`, `history` `(B, R, Th)` and
            `answer` `(B, R, T)` integers padded with 0, and `image`
            `(B, P, D)` floats.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, R, T, V)`: logits of the words of `answer`.
        Padding and the start token are never said.

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
        vocabulary_size,
        encoder,
        embedding_units=300,
        dropout=0.0,
        logit_scale=1.0,
        embeddings_initializer="uniform",
        bos=1,
        eos=2,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not encoder.return_state:
            raise ValueError(
                "`encoder` must be made with `return_state=True`: the answer "
                "starts from the question's state. Received: "
                f"encoder={encoder!r}."
            )
        encoded = encoder.output_units or encoder.units
        if encoded != embedding_units:
            raise ValueError(
                "`encoder` must return what an answer's words are embedded "
                f"in. Received: encoder.output_units={encoded} and "
                f"embedding_units={embedding_units}. Make them equal."
            )
        self.vocabulary_size = vocabulary_size
        self.encoder = encoder
        self.embedding_units = embedding_units
        self.dropout_rate = dropout
        self.logit_scale = logit_scale
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.bos = bos
        self.eos = eos
        self.embedding = SoftEmbedding(
            vocabulary_size,
            embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            name="embedding",
        )
        self.cell = keras.layers.LSTMCell(encoder.units, name="decoder")
        self.dropout = keras.layers.Dropout(dropout)
        self.head = VocabularyHead(
            vocabulary_size, unsaid=(0, bos), scale=logit_scale, name="head"
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
        tokens = self.references(inputs)[:, 0]
        logits = self._teacher_forced(state, tokens, training)
        rounds, length = inputs["answer"].shape[1:]
        return ops.reshape(logits, (-1, rounds, length, self.vocabulary_size))

    def references(self, inputs):
        """The human answers, one sample a row: `(B, 1, T)`."""
        answer = word_ids(inputs, "answer")
        return ops.reshape(answer, (-1, 1, answer.shape[-1]))

    def begin(self, inputs, training=False):
        """Reads questions, histories and images: the decoder's first state."""
        encoded, state = self.encoder(
            self.embedding(word_ids(inputs, "question")),
            self.embedding(word_ids(inputs, "history")),
            image_features(inputs),
            training=training,
        )

        def rows(tensor):
            return ops.reshape(tensor, (-1, tensor.shape[-1]))

        state = [rows(part) for part in state]
        return self.advance(self.word_inputs(rows(encoded)), state)[1]

    def step(self, words, state, training=False):
        """Reads one word, and weighs the next: logits `(B, V)`."""
        inputs = self.word_inputs(self.embed(words))
        output, state = self.advance(inputs, state)
        return self.weigh(output, training), state

    def decoding(self, rows, steps):
        """See `tfcap.decoding.decoding()`."""
        return decoding(self, rows, steps)

    def log_probs(self, state, tokens, training=False):
        """Scores given words in one pass: `(B, S, T)` to `(B, S, T)`."""
        check_shape(tokens, "B S T", "tokens")
        _, samples, length = tokens.shape
        rows, state = word_rows(tokens), repeat_samples(state, samples)
        mask = sequence_mask(rows, self.eos)
        if keras.backend.backend() == "tensorflow":
            scores = packed_scores(self, state, rows, mask, training)
        else:
            logits = self._teacher_forced(state, rows, training)
            scores = token_log_probs(logits, rows) * mask
        return ops.reshape(scores, (-1, samples, length))

    def embed(self, words, training=False):
        """Embeds ids `(...)`, or distributions `(..., V)`."""
        return self.embedding(words)

    def word_inputs(self, embedded):
        """What a step reads of words: `(..., embedding_units)` to `(..., G)`.

        Of all words of a batch at once, where they are given.
        """
        kernel, bias = (
            ops.cast(weight, self.compute_dtype)
            for weight in (self.cell.kernel, self.cell.bias)
        )
        return ops.matmul(embedded, kernel) + bias

    def advance(self, inputs, state, training=False):
        """Reads one word: what the head reads, and the next state."""
        hidden, carry = state
        kernel = ops.cast(self.cell.recurrent_kernel, self.compute_dtype)
        hidden, carry = lstm_step(inputs + ops.matmul(hidden, kernel), carry)
        return hidden, [hidden, carry]

    def weigh(self, hidden, training=False):
        """Weighs words: `(..., units)` to logits `(..., V)`."""
        return self.head(self.dropout(hidden, training=training))

    def _teacher_forced(self, state, rows, training):
        """Logits `(n, T, V)`; the head reads all steps at once."""
        start = ops.full_like(rows[:, :1], self.bos)
        words = ops.concatenate([start, rows[:, :-1]], axis=1)
        inputs, outputs = self.word_inputs(self.embed(words)), []
        for t in range(rows.shape[1]):
            output, state = self.advance(inputs[:, t], state)
            outputs.append(output)
        return self.weigh(ops.stack(outputs, axis=1), training)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "encoder": serialize(self.encoder),
            "embedding_units": self.embedding_units,
            "dropout": self.dropout_rate,
            "logit_scale": self.logit_scale,
            "embeddings_initializer": serialize(self.embeddings_initializer),
            "bos": self.bos,
            "eos": self.eos,
        }

    @classmethod
    def from_config(cls, config):
        encoder = keras.saving.deserialize_keras_object(config["encoder"])
        return cls(**{**config, "encoder": encoder})
