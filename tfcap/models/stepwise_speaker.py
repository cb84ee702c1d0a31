"""Cells of a word and a state as speakers."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap._ops.sequences import each_word
from tfcap.models.wrapped_speaker import WrappedSpeaker
from tfcap.models.wrapped_speaker import called


@keras.saving.register_keras_serializable(package="tfcap")
class StepwiseSpeaker(WrappedSpeaker):
    """Makes a speaker of a cell, from a word and a state to the next.

    ```
    state = encoder(image)
    logits, state = cell(words, state)           # ids (n,) to logits (n, V)
    ```

    Args:
        cell: Keras layer or model of ids `(n,)` and a state, a nest of tensors
            with leading axis `n`, that returns logits or probabilities
            `(n, V)` and the next state. It is not copied.
        encoder: Keras layer or model from a batch to the first state.
        reads_ids: Boolean, whether the cell reads ids only; false for one that
            also takes distributions over words, `(n, V)`, as
            `feedback="relaxed"` hands over. Defaults to `True`.
        **kwargs: `from_logits`, `vocabulary` and others of
            `tfcap.models.TeacherForcedSpeaker`.

    Call arguments, Returns:
        As of `tfcap.models.TeacherForcedSpeaker`.

    Example:

    >>> @keras.saving.register_keras_serializable("example")
    ... class Cell(keras.layers.Layer):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.words = keras.layers.Embedding(50, 4)
    ...         self.gru = keras.layers.GRUCell(4)
    ...         self.head = keras.layers.Dense(50)
    ...
    ...     def call(self, words, state):
    ...         hidden, state = self.gru(self.words(words), state)
    ...         return self.head(hidden), state
    >>> speaker = tfcap.models.StepwiseSpeaker(
    ...     Cell(),
    ...     keras.layers.Dense(4),
    ...     from_logits=True,
    ...     vocabulary_size=50,
    ...     bos=1,
    ...     eos=2,
    ... )
    >>> batch = {"image": np.zeros((1, 3)), "caption": np.array([[[5, 2]]])}
    >>> speaker(batch).shape
    TensorShape([1, 1, 2, 50])
    """

    #: A step costs a word: left to decoders.
    unroll = None
    model_argument = "cell"

    def __init__(
        self,
        cell: Any,
        encoder: Any,
        *,
        from_logits: bool,
        reads_ids: bool = True,
        **kwargs,
    ):
        super().__init__(cell, from_logits, encoder=encoder, **kwargs)
        self.reads_ids = reads_ids

    def begin(self, inputs: dict, training: bool = False) -> Any:
        """Reads a batch: the first state."""
        return self.dropped(self.encoded(inputs, training), training)

    def unconditional(self, state: Any) -> Any:
        """State of `begin()`: zeros."""
        return self.zeros_of(state)

    def step(
        self, words: Any, state: Any, training: bool = False
    ) -> tuple[Any, Any]:
        """Reads one word: logits `(B, V)` of the next, and the next state."""
        self.check_ids(words)
        outputs, state = called(self.model, [words, state], training)
        return self.as_logits(outputs, 2), state

    def _each(self, state, tokens, training, read, shape):
        """Calls `read` on the logits of every step, and the word."""
        samples, length = ops.shape(tokens)[1:]
        rows = ops.cast(ops.reshape(tokens, (-1, length)), "int32")
        start = ops.full_like(rows[:, :1], self.bos)
        pairs = ops.concatenate([start, rows[:, :-1]], axis=1)
        pairs = ops.stack([pairs, rows], axis=-1)  # (n, T, 2)

        def step(pair, state):
            logits, state = self.step(pair[:, 0], state, training)
            return read(logits, pair[:, 1]), state

        state = repeat_samples(state, samples)
        columns = each_word(step, state, pairs, unroll=self.unroll)
        return ops.reshape(columns, (-1, samples, length, *shape))

    def logits(self, state: Any, tokens: Any, training: bool = False) -> Any:
        """Logits `(B, S, T, V)` before each of the words `(B, S, T)`."""
        size = (self.vocabulary_size,)
        return self._each(state, tokens, training, lambda x, _: x, size)

    def log_probs(self, state: Any, tokens: Any, training: bool = False) -> Any:
        """Scores given words: `(B, S, T)` to `(B, S, T)`."""
        scores = self._each(state, tokens, training, token_log_probs, ())
        mask = sequence_mask(tokens, self.eos, self.pad)
        return ops.where(mask > 0, scores, 0.0)

    def get_config(self):
        return {**super().get_config(), "reads_ids": self.reads_ids}
