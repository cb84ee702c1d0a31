"""Keras models of given words as speakers."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap._ops.arguments import check_length
from tfcap._ops.arguments import checked_integer
from tfcap.models.word_by_word import word_rows
from tfcap.models.wrapped_speaker import ENCODED
from tfcap.models.wrapped_speaker import WrappedSpeaker
from tfcap.models.wrapped_speaker import called


@keras.saving.register_keras_serializable(package="tfcap")
class TeacherForcedSpeaker(WrappedSpeaker):
    """Makes a speaker of a Keras model from given words to the next ones.

    ```
    logits = model([image, words])        # (n, P, D), (n, T) to (n, T, V)
    speaker = TeacherForcedSpeaker(
        model, inputs=["image", "caption"], from_logits=True, ...
    )
    ```

    The model is one that trains by teacher forcing: from the words before it
    to the logits, or probabilities, of every word. It must not look ahead.
    Nothing is cached: a step reads all words again, and `log_probs()` reads
    them once. It reads ids: use `feedback="index"`, the default of decoders.

    Args:
        model: Keras model or layer, which is not copied.
        inputs: Nest in which the model takes its inputs, of keys of a batch:
            `"caption"`, `["image", "caption"]` or a dict of these. The key of
            the references stands for the words so far; `"encoded"` for what
            `encoder` returned.
        from_logits: Boolean, whether the model returns logits; false where it
            ends with a softmax.
        vocabulary: Tokenizer as of `tfcap.text.as_vocabulary()`, which names
            the following; it is not saved. Optional.
        vocabulary_size: Integer `V`.
        pad: Integer, id of padding. Defaults to that of `vocabulary`, or 0.
        bos: Integer, id that a sequence starts from.
        eos: Integer, or tuple or list of integers, ids that end a sequence.
        references: String, key of the human captions, `(B, S, T)`. Defaults
            to `"caption"`.
        has_start: Boolean, whether these begin with the start token, which is
            then cut off, also where Keras trains the speaker. Methods, rewards
            and evaluators leave it out in any case. Defaults to `False`.
        encoder: Keras model or layer for what does not depend on the words,
            called once a batch. Optional.
        encoder_inputs: Nest of keys, its inputs. Defaults to `"image"`.
        condition_dropout: Float in `[0, 1)`, share of the rows of which, in
            training, the model is shown zeros in the place of what the encoder
            returned and of all entries but the words, so that decoders may use
            `guidance`. Defaults to `0.0`.
        positional: Boolean, whether entries of a sequence of `inputs` are
            arguments of their own, `model(words, encoded)`. Defaults to
            `False`.
        length: Integer, number of words that the model takes, where it takes
            no other: they are padded. Optional.
        shifts: Boolean, whether the model puts the start token before the
            words by itself. Defaults to `False`.

    Call arguments:
        inputs: Dict of the entries that `inputs` and `encoder_inputs` name.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, S, T, V)`: logits of the references.

    Raises:
        TypeError: If `model` or `encoder` is no Keras layer with a `call()`.
        ValueError: If `from_logits` is not what the output layer returns, or
            special ids are missing.

    Example:

    >>> words = keras.Input((None,), dtype="int32")
    >>> x = keras.layers.LSTM(4, return_sequences=True)(
    ...     keras.layers.Embedding(50, 4)(words)
    ... )
    >>> speaker = tfcap.models.TeacherForcedSpeaker(
    ...     keras.Model(words, keras.layers.Dense(50)(x)),
    ...     inputs="caption",
    ...     from_logits=True,
    ...     vocabulary_size=50,
    ...     bos=1,
    ...     eos=2,
    ... )
    >>> speaker({"caption": np.array([[[5, 6, 2, 0]]])}).shape
    TensorShape([1, 1, 4, 50])
    """

    def __init__(
        self,
        model: Any,
        inputs: Any,
        *,
        from_logits: bool,
        positional: bool = False,
        length: int | None = None,
        shifts: bool = False,
        **kwargs,
    ):
        super().__init__(model, from_logits, **kwargs)
        self.keys = inputs
        if self.references_key not in keras.tree.flatten(inputs):
            raise ValueError(
                f"`inputs` must hold {self.references_key!r}, the key of "
                "`references`, in the place of the words so far. Received: "
                f"inputs={inputs!r}."
            )
        self.positional = positional
        self.length = length and checked_integer(length, "length")
        self.shifts = shifts

    def begin(self, inputs: dict, training: bool = False) -> dict:
        """Reads a batch.

        Returns:
            Dict of `inputs`, the model's but for the words, by key; and
            `words`, those so far, `(B, 0)`.
        """
        keys = {*keras.tree.flatten(self.keys)} - {self.references_key}
        read = self.entries(inputs, {key: key for key in keys - {ENCODED}})
        if self.encoder is not None:
            read[ENCODED] = self.encoded(inputs, training)
        read = self.dropped(read, training)
        first = keras.tree.flatten([read, inputs])[0]
        words = ops.zeros((ops.shape(first)[0], 0), dtype="int32")
        return {"inputs": read, "words": words}

    def unconditional(self, state: dict) -> dict:
        """State of `begin()` with zeros in the place of what was read."""
        return {**state, "inputs": self.zeros_of(state["inputs"])}

    def fixed_state(self, state: dict, steps: int) -> dict:
        """State of `begin()` that keeps its shapes, for as many steps."""
        rows = ops.shape(state["words"])[0]
        words = ops.full((rows, steps), self.pad, dtype="int32")
        count = ops.zeros((rows,), dtype="int32")
        return {**state, "words": words, "count": count}

    def step(
        self, words: Any, state: dict, training: bool = False
    ) -> tuple[Any, dict]:
        """Reads one word, and all before it: logits `(B, V)` of the next."""
        self.check_ids(words)
        words = ops.cast(words, "int32")[:, None]
        if "count" not in state:
            said = ops.concatenate([state["words"], words], axis=1)
            logits = self._logits(state, said, training)[:, -1]
            return logits, {**state, "words": said}
        count, said = state["count"][:, None], state["words"]
        places = ops.arange(ops.shape(said)[1], dtype="int32")
        said = ops.where(ops.equal(places, count), words, said)
        logits = self._logits(state, said, training)
        logits = ops.take_along_axis(logits, count[..., None], axis=1)
        return logits[:, 0], {**state, "words": said, "count": count[:, 0] + 1}

    def _logits(self, state, words, training):
        """Logits `(n, T, V)` after each of `(n, T)` words, start first."""
        count = ops.shape(words)[1]
        if self.shifts:
            start = ops.full_like(words[:, :1], self.pad)
            words = ops.concatenate([words[:, 1:], start], axis=1)
        if self.length is not None:
            cure = "Decode with a smaller `max_length`, or cut the captions."
            count = check_length(count, self.length, "speaker", "length", cure)
            lack = [(0, 0), (0, self.length - count)]
            words = ops.pad(words, lack, constant_values=self.pad)
        read = {**state["inputs"], self.references_key: words}
        given = _filled(self.keys, read)
        arguments = list(given) if self.positional else [given]
        outputs = called(self.model, arguments, training)
        return self.as_logits(outputs, 3)[:, :count]

    def logits(self, state: dict, tokens: Any, training: bool = False) -> Any:
        """Logits `(B, S, T, V)` before each of the words `(B, S, T)`."""
        check_shape(tokens, "B S T", "tokens")
        shape = ops.shape(tokens)
        rows = word_rows(tokens)
        start = ops.full_like(rows[:, :1], self.bos)
        words = ops.concatenate([start, rows[:, :-1]], axis=1)
        state = repeat_samples(state, shape[1])
        logits = self._logits(state, words, training)
        return ops.reshape(logits, (*shape, self.vocabulary_size))

    def state_vector(self, state: dict) -> Any:
        """Refuses: the state holds inputs and words, and nothing of a model.

        Raises:
            ValueError: Always, with what else there is.
        """
        raise ValueError(
            "A baseline that reads a speaker's state must have a vector of "
            "it. Received: a speaker whose model reads all words anew. Use a "
            "baseline of rewards, such as LeaveOneOutBaseline, or inherit from "
            "TeacherForcedSpeaker with a `state_vector(state)`, `(n, D)`."
        )

    def log_probs(
        self, state: dict, tokens: Any, training: bool = False
    ) -> Any:
        """Scores given words in one pass: `(B, S, T)` to `(B, S, T)`."""
        scores = token_log_probs(self.logits(state, tokens, training), tokens)
        mask = sequence_mask(tokens, self.eos, self.pad)
        return ops.where(mask > 0, scores, 0.0)

    def get_config(self):
        return {
            **super().get_config(),
            "inputs": self.keys,
            "positional": self.positional,
            "length": self.length,
            "shifts": self.shifts,
        }


def _filled(keys, read):
    """A nest of entries, in the order of its keys, as models check it."""
    if isinstance(keys, dict):
        return {name: _filled(key, read) for name, key in keys.items()}
    if isinstance(keys, list | tuple):
        return type(keys)(_filled(key, read) for key in keys)
    return read[keys]
