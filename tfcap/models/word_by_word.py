"""Base class of autoregressive speakers, and their vocabulary head."""

from collections.abc import Callable
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import config_of
from tfcap._ops.loops import each_word
from tfcap._ops.private_names import layers_of
from tfcap.layers import SoftEmbedding
from tfcap.layers._fast import Stepwise
from tfcap.layers._fast import StepwiseProduct
from tfcap.layers._fast import decoding_layers
from tfcap.layers._fast import packed_scores
from tfcap.models.adapters import uses_training


@keras.saving.register_keras_serializable(package="tfcap")
class VocabularyHead(Stepwise, keras.layers.Layer):
    """Logits of the next word, in float32.

    ```
    logits = scale * (hidden @ kernel + bias)      # -1e9 if suppressed
    ```

    Suppressed ids cost nothing: they are part of the bias.

    Args:
        vocabulary_size: Integer `V`.
        suppressed_ids: Tuple of integers, ids that are never generated.
        scale: Float, factor on the logits. Defaults to `1.0`.

    Call arguments:
        hidden: Float tensor of shape `(..., D)`.

    Returns:
        Float32 tensor of shape `(..., V)`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        suppressed_ids: tuple[int, ...],
        scale: float = 1.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.suppressed_ids = tuple(suppressed_ids)
        self.scale = scale
        self.supports_masking = True
        self.floor = np.zeros(vocabulary_size, "float32")
        self.floor[[*self.suppressed_ids]] = -1e9

    def build(self, input_shape):
        self.units = input_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.units, self.vocabulary_size),
            initializer="glorot_uniform",
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer="zeros",
            autocast=False,
            name="bias",
        )
        self.built = True

    def call(self, hidden):
        # Two axes: TensorFlow's product of more is slower, the more so its
        # gradient.
        rows = ops.reshape(hidden, (-1, self.units))  # (n, D)
        rows = ops.cast(rows, self.compute_dtype) * self.scale
        shared = self.shared(rows)
        logits = self._affine(rows) if shared is None else shared(rows)
        shape = (-1, *ops.shape(hidden)[1:-1], self.vocabulary_size)
        return ops.reshape(logits, shape)

    def share(self, rows, steps):
        return StepwiseProduct(*self._weights(), rows, steps)

    def _affine(self, rows):
        kernel, bias = self._weights()
        return ops.cast(ops.matmul(rows, kernel), "float32") + bias

    def _weights(self):
        bias = ops.cast(self.bias, "float32") * self.scale + self.floor
        return ops.cast(self.kernel, self.compute_dtype), bias

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)

    def get_config(self):
        names = "vocabulary_size suppressed_ids scale"
        return {**super().get_config(), **config_of(self, names)}


def never_said(ids: Iterable[int], eos: Any) -> tuple[int, ...]:
    """Returns the ids, in order, that do not also end a sequence.

    Args:
        ids: Integers, such as those of padding and start.
        eos: Integer, or tuple or list of integers.
    """
    ends = eos if isinstance(eos, tuple | list) else (eos,)
    return tuple(sorted({*ids} - {*ends}))


class WordByWord(keras.Model):
    """Base class of speakers with one embedding, and one vocabulary head.

    ```
    inputs = project_inputs(embed(word))             # of all words at once
    hidden, state = cell_step(inputs, state)         # step by step
    logits = compute_logits(hidden)                  # of all words at once
    ```

    Words are ids or distributions. A subclass overrides `cell_step()`, and
    `project_inputs()` for the part of it that does not depend on the words
    before; a network that reads many words at once overrides `run_rnn()` as
    well.

    Args:
        vocabulary_size, ..., pad: As in `tfcap.models.CaptionSpeaker`.
        mask_zero: Boolean, whether embedded ids carry a mask of their padding,
            which is then 0.
    """

    #: Whether steps are unrolled; `None`: where there are at most 32.
    unroll = None

    def __init__(
        self,
        vocabulary_size: int,
        embedding_units: int,
        dropout: float = 0.0,
        embeddings_initializer: Any = "uniform",
        logit_scale: float = 1.0,
        bos: int = 1,
        eos: int = 2,
        pad: int = 0,
        mask_zero: bool = False,
        **kwargs,
    ):
        if mask_zero and pad:
            raise ValueError(
                "`pad` must be 0 for a network whose encoder masks id 0. "
                f"Received: pad={pad}. Pad questions and answers with 0."
            )
        vocabulary_size = checked_integer(vocabulary_size, "vocabulary_size")
        embedding_units = checked_integer(embedding_units, "embedding_units")
        super().__init__(**kwargs)
        # Given words are packed, and how many there are depends on the data.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.vocabulary_size = vocabulary_size
        self.embedding_units = embedding_units
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.logit_scale = logit_scale
        self.bos = bos
        self.eos = eos
        self.pad = pad
        options = {"dtype": self.dtype_policy}
        self.embedding = SoftEmbedding(
            vocabulary_size,
            embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            mask_zero=mask_zero,
            name="embedding",
            **options,
        )
        self.dropout = keras.layers.Dropout(dropout, **options)
        self.head = VocabularyHead(
            vocabulary_size,
            suppressed_ids=never_said((pad, bos), eos),
            scale=logit_scale,
            name="head",
            **options,
        )

    def layers_of_words(self) -> tuple:
        """Returns the layers with dropout that `begin()` does not call."""
        return (self.dropout,)

    @property
    def begin_uses_training(self) -> bool:
        """True if `begin(training=True)` may differ from inference."""
        of_words = [id(layer) for layer in self.layers_of_words()]
        return any(
            uses_training(layer)
            for layer in layers_of(self)
            if id(layer) not in of_words
        )

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """Ids that its logits rule out."""
        return self.head.suppressed_ids

    def embed(self, words: Any, training: bool = False) -> Any:
        """Embeds ids `(...)`, or distributions `(..., V)`."""
        return self.embedding(words)

    def project_inputs(self, embedded: Any) -> Any:
        """Projects embeddings to the inputs of a step, `(..., G)`.

        It is called on all words of a batch at once. Defaults to the embedding.
        """
        return embedded

    def cell_step(
        self, inputs: Any, state: Any, training: bool = False
    ) -> tuple[Any, Any]:
        """Reads one word.

        Args:
            inputs: Float tensor of shape `(n, G)`, from `project_inputs()`.
            state: Nest of tensors with leading axis `n`, of the words before.
            training: Boolean.

        Returns:
            Float tensor of shape `(n, units)`, the head's input, and the next
            state.
        """
        raise NotImplementedError

    def compute_logits(self, hidden: Any, training: bool = False) -> Any:
        """Computes logits `(..., V)` from hidden states `(..., units)`."""
        return self.head(self.dropout(hidden, training=training))

    def step(
        self, words: Any, state: Any, training: bool = False
    ) -> tuple[Any, Any]:
        """Reads one word: logits `(B, V)` of the next, and the next state."""
        inputs = self.project_inputs(self.embed(words, training))
        hidden, state = self.cell_step(inputs, state, training=training)
        return self.compute_logits(hidden, training), state

    def decoding(self, rows: Any, steps: int) -> AbstractContextManager:
        """Opens the context of a decode, see `tfcap.decoding.Speaker`."""
        return decoding_layers(self, rows, steps)

    def run_rnn(self, embedded: Any, state: Any, training: bool = False) -> Any:
        """Reads given words: `(n, T, embedding_units)` to `(n, T, units)`."""

        def step(word, state):
            return self.cell_step(word, state, training=training)

        return each_word(
            step,
            state,
            self.project_inputs(embedded),
            self.compute_dtype,
            self.unroll,
            self,
        )

    def teacher_forced(
        self, state: Any, rows: Any, training: bool = False
    ) -> Any:
        """Hidden states `(n, T, units)` before each given word `(n, T)`."""
        embedded = self.embed(words_before(rows, self.bos), training)
        return self.run_rnn(embedded, state, training=training)

    def log_probs(self, state: Any, tokens: Any, training: bool = False) -> Any:
        """Scores given words in one pass: `(B, S, T)` to `(B, S, T)`."""
        check_shape(tokens, "B S T", "tokens")
        _, samples, length = ops.shape(tokens)  # S and T may be unknown
        rows = word_rows(tokens)
        mask = sequence_mask(rows, self.eos, self.pad)
        state = repeat_samples(state, samples)
        scores = packed_scores(self, state, rows, mask, training)
        return ops.reshape(scores, (-1, samples, length))

    def logits(self, state: Any, tokens: Any, training: bool = False) -> Any:
        """Logits `(B, S, T, V)` before each of the words `(B, S, T)`."""
        samples, length = ops.shape(tokens)[1:]
        hidden = self.teacher_forced(
            repeat_samples(state, samples), word_rows(tokens), training
        )
        logits = self.compute_logits(hidden, training)
        shape = (-1, samples, length, self.vocabulary_size)
        return ops.reshape(logits, shape)

    def get_config(self):
        names = (
            "vocabulary_size embedding_units embeddings_initializer "
            "logit_scale bos eos pad"
        )
        config = {**super().get_config(), **config_of(self, names)}
        return {**config, "dropout": self.dropout.rate}


def word_rows(tokens: Any) -> Any:
    """Reshapes words `(B, S, T)` to rows `(B * S, T)`, int32."""
    return ops.cast(ops.reshape(tokens, (-1, ops.shape(tokens)[-1])), "int32")


def words_before(rows: Any, bos: int) -> Any:
    """Returns the word before each of the words `(n, T)`, the start first."""
    start = ops.full_like(rows[:, :1], bos)
    return ops.concatenate([start, rows[:, :-1]], axis=1)


def lstm_step(gates: Any, carry: Any) -> tuple[Any, Any]:
    """Computes one step of an LSTM from its summed gates.

    The products are outside, so that those of all words take one call.

    Args:
        gates: Float tensor of shape `(B, 4 * units)`: input gate, forget gate,
            candidate and output gate, as of `keras.layers.LSTMCell`.
        carry: Float tensor of shape `(B, units)`.

    Returns:
        Pair of the hidden state and the next carry, of shape `(B, units)`.
    """
    input_gate, forget_gate, candidate, output_gate = ops.split(gates, 4, -1)
    kept = ops.sigmoid(forget_gate) * carry
    carry = kept + ops.sigmoid(input_gate) * ops.tanh(candidate)
    return ops.sigmoid(output_gate) * ops.tanh(carry), carry


def forget_bias(units: int) -> Callable:
    """Returns an initializer of gates' biases: 1 for the forget gate, else 0.

    Args:
        units: Integer, size of a gate.
    """

    def initial(shape, dtype=None):
        gate = ops.arange(shape[0]) // units
        return ops.cast(ops.equal(gate, 1), dtype or "float32")

    return initial
