"""Speakers around existing models, by whole captions or by steps."""

import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap._ops.arguments import check_length
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import config_of
from tfcap._ops.loops import each_word
from tfcap._ops.private_names import layer_of_output
from tfcap._ops.private_names import layers_of
from tfcap._ops.sequences import batch_entry
from tfcap._ops.sequences import check_values
from tfcap.models.adapters import uses_training
from tfcap.models.inputs import GuidedNetwork
from tfcap.models.inputs import with_parts
from tfcap.models.inputs import word_ids
from tfcap.models.word_by_word import never_said
from tfcap.models.word_by_word import word_rows
from tfcap.models.word_by_word import words_before
from tfcap.text import as_vocabulary

#: The name under which a model's inputs ask for what the encoder returned.
ENCODED = "encoded"


class WrappedSpeaker(GuidedNetwork):
    """Base class of speakers around an existing model.

    Args:
        model: Keras model or layer, which is not copied.
        from_logits, vocabulary, ..., encoder_inputs: As in
            `tfcap.models.TeacherForcedSpeaker`.
    """

    #: Soft words cannot be fed back.
    reads_ids = True
    #: A step costs more than its own word: decoders do not unroll.
    unroll = False
    #: Name of the argument that is the model.
    model_argument = "model"

    def __init__(
        self,
        model: Any,
        from_logits: bool,
        vocabulary: Any = None,
        vocabulary_size: int | None = None,
        pad: int | None = None,
        bos: int | None = None,
        eos: Any = None,
        references: str = "caption",
        has_start: bool = False,
        encoder: Any = None,
        encoder_inputs: Any = "image",
        condition_dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_jit = keras.backend.backend() != "tensorflow"
        for name, network in (("model", model), ("encoder", encoder)):
            _check_network(name, network)
        if not isinstance(from_logits, bool):
            raise ValueError(
                "`from_logits` must be True for a model that returns logits, "
                "and False for one that returns probabilities. Received: "
                f"from_logits={from_logits!r}."
            )
        _check_activation(model, from_logits)
        if vocabulary is not None:
            vocabulary = as_vocabulary(vocabulary)
        self.vocabulary = vocabulary
        known = {
            "vocabulary_size": (vocabulary_size, "size"),
            "bos": (bos, "bos"),
            "eos": (eos, "eos"),
        }
        for name, (value, key) in known.items():
            value = getattr(vocabulary, key, None) if value is None else value
            if value is None:
                raise ValueError(
                    f"`{name}` must be given if no `vocabulary` names it. "
                    f"Received: {name}=None, vocabulary={vocabulary!r}."
                )
            # Keras would track a list, which no set holds.
            value = tuple(value) if isinstance(value, list) else value
            setattr(self, name, value)
        self.vocabulary_size = checked_integer(
            self.vocabulary_size, "vocabulary_size"
        )
        self.pad = getattr(vocabulary, "pad", 0) if pad is None else pad
        self.suppressed_ids = never_said((self.pad, self.bos), self.eos)
        self.floor = np.zeros(self.vocabulary_size, "float32")
        self.floor[[*self.suppressed_ids]] = -1e9
        self.model = model
        self.from_logits = from_logits
        self.references_key = references
        self.has_start = has_start
        self.encoder = encoder
        self.encoder_inputs = encoder_inputs
        self.drop_conditions(condition_dropout)

    @property
    def begin_uses_training(self) -> bool:
        """True if `begin(training=True)` may differ from inference."""
        if self.condition_dropout:
            return True
        return self.encoder is not None and any(
            uses_training(layer) for layer in layers_of(self.encoder)
        )

    def references(self, inputs: dict) -> Any:
        """Returns the human captions `(B, S, T)`, without start tokens."""
        tokens = word_ids(inputs, self.references_key, "B S T", self.pad)
        return tokens[:, :, 1:] if self.has_start else tokens

    def call(self, inputs, training=False):
        state = self.begin(inputs, training=training)
        return self.logits(state, self.references(inputs), training)

    def encoded(self, inputs: dict, training: bool) -> Any:
        """Encodes the entries of a batch that the encoder reads."""
        read = self.entries(inputs, self.encoder_inputs)
        return called(self.encoder, [read], training)

    def entries(self, inputs: dict, keys: Any) -> Any:
        """Returns a nest of entries of a batch, by a nest of their keys."""

        def entry(key):
            what = "which the speaker reads"
            value = batch_entry(inputs, key, what, pad=self.pad)
            return ops.convert_to_tensor(value)

        return keras.tree.map_structure(entry, keys)

    def zeros_of(self, read: Any) -> Any:
        """Returns zeros in the place of the condition.

        Raises:
            ValueError: If the speaker was made without `condition_dropout`.
        """
        self.check_guided()
        return keras.tree.map_structure(ops.zeros_like, read)

    def as_logits(self, outputs: Any, axes: int) -> Any:
        """Returns an output as logits of `axes` axes, without special ids."""
        shape = getattr(outputs, "shape", None)
        if shape is None:
            raise TypeError(
                "`model` must return one tensor. Received: an output of type "
                f"{type(outputs).__name__}. Make a model of the one that "
                "holds the logits: `keras.Model(model.inputs, "
                "model.outputs[0])`."
            )
        shape = tuple(shape)
        if len(shape) != axes or shape[-1] not in (None, self.vocabulary_size):
            wanted = ("n", "T", "V")[-axes:] if axes == 3 else ("n", "V")
            raise ValueError(
                f"`model` must return shape ({', '.join(wanted)}), V = "
                f"{self.vocabulary_size}. Received: an output of shape "
                f"{shape}."
            )
        if self.from_logits:
            return ops.cast(outputs, "float32") + self.floor
        outputs = ops.cast(outputs, "float32")
        total = ops.sum(ops.stop_gradient(outputs), axis=-1)
        check_values(
            ops.logical_and(
                ops.all(outputs >= 0), ops.all(ops.abs(total - 1.0) < 0.02)
            ),
            "`from_logits` must be True for a model whose outputs are not "
            "probabilities, that is non-negative with sum 1. Received: "
            "from_logits=False.",
        )
        return ops.log(ops.maximum(outputs, 1e-20)) + self.floor

    def check_ids(self, words: Any) -> None:
        """Rejects soft words."""
        if self.reads_ids and len(words.shape) != 1:
            raise ValueError(
                "`words` must be ids of shape (n,), since the model does not "
                "read distributions over words. Received: shape="
                f'{tuple(words.shape)}. Decode with `feedback="index"`.'
            )

    def get_config(self):
        names = (
            "from_logits vocabulary_size pad bos eos has_start encoder "
            "encoder_inputs"
        )
        return {
            **super().get_config(),
            **config_of(self, names),
            self.model_argument: config_of(self, "model")["model"],
            "references": self.references_key,
        }

    @classmethod
    def from_config(cls, config):
        parts = with_parts(config, cls.model_argument, "encoder")
        return super().from_config(parts)


def called(network: Callable, arguments: list, training: bool) -> Any:
    """Calls a network, with `training` if it takes it."""
    names = inspect.signature(network.call).parameters
    options = {"training": training} if "training" in names else {}
    return network(*arguments, **options)


def _check_network(name, network):
    if network is None and name == "encoder":
        return
    if not isinstance(network, keras.layers.Layer):
        raise TypeError(
            f"`{name}` must be a Keras model or layer. Received: {name}="
            f"{network!r}."
        )
    if type(network).call in (keras.Model.call, keras.layers.Layer.call):
        raise TypeError(
            f"`{name}` must have a method `call()`. Received: "
            f"{type(network).__name__} without one. Pass its decoder as "
            "`model`, and its encoder as `encoder`."
        )


def _check_activation(model, from_logits):
    """Rejects a `from_logits` that the output layer contradicts."""
    layer = _output_layer(model)
    activation = getattr(layer, "activation", None)
    softmax = isinstance(layer, keras.layers.Softmax) or (
        activation is keras.activations.softmax
    )
    if softmax if from_logits else activation is keras.activations.linear:
        returned = "probabilities" if softmax else "logits"
        raise ValueError(
            f"`from_logits` must be {not from_logits} for a model that returns "
            f"{returned}. Received: from_logits={from_logits} with output "
            f"layer {layer.name!r}. Pass from_logits={not from_logits}."
        )


def _output_layer(model):
    """The layer that made the output of a functional model, or `None`."""
    outputs = getattr(model, "outputs", None)
    if not outputs or len(outputs) != 1:
        return model if not isinstance(model, keras.Model) else None
    layer = layer_of_output(outputs[0])
    return layer if layer is model else _output_layer(layer)


@keras.saving.register_keras_serializable(package="tfcap")
class TeacherForcedSpeaker(WrappedSpeaker):
    """Wraps a Keras model that trains by teacher forcing as a speaker.

    ```
    logits = model([image, words])        # (n, P, D), (n, T) to (n, T, V)
    speaker = TeacherForcedSpeaker(
        model, inputs=["image", "caption"], from_logits=True, ...
    )
    ```

    The model maps the words before it to the logits, or probabilities, of
    every word, and must be causal. It has no cache: a step reads all words
    again, while `log_probs()` reads them once. It reads ids: use
    `feedback="index"`, the default of decoders.

    Args:
        model: Keras model or layer, which is not copied.
        inputs: Inputs of the model as a nest of keys of a batch: `"caption"`,
            `["image", "caption"]` or a dict of these. The key of the
            references stands for the words so far, `"encoded"` for the
            output of `encoder`.
        from_logits: Boolean, whether the model returns logits; false if it
            ends with a softmax.
        vocabulary: Tokenizer that `tfcap.text.as_vocabulary()` takes, as
            default of the size and ids below; it is not saved. Optional.
        vocabulary_size: Integer `V`.
        pad: Integer, id of padding. Defaults to that of `vocabulary`, or 0.
        bos: Integer, id that a sequence starts from.
        eos: Integer, or tuple or list of integers, ids that end a sequence.
        references: String, key of the human captions, `(B, S, T)`. Defaults
            to `"caption"`.
        has_start: Boolean, whether these begin with the start token, which is
            then cut off, also if Keras trains the speaker. Methods, rewards
            and evaluators leave it out in any case. Defaults to `False`.
        encoder: Keras model or layer for inputs other than the words, called
            once a batch. Optional.
        encoder_inputs: Nest of keys, its inputs. Defaults to `"image"`.
        condition_dropout: Float in `[0, 1)`, share of the rows in which, in
            training, zeros replace the encoder's output and all entries except
            the words, so that decoders may use `guidance`. Defaults to `0.0`.
        positional: Boolean, whether the entries of `inputs` are separate
            arguments, `model(words, encoded)`. Defaults to `False`.
        length: Integer, the fixed number of words that the model takes, to
            which they are padded. Optional.
        shifts: Boolean, whether the model itself puts the start token before
            the words. Defaults to `False`.

    Call arguments:
        inputs: Dict of the entries that `inputs` and `encoder_inputs` name.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, S, T, V)`: logits of the references.

    Raises:
        TypeError: If `model` or `encoder` is not a Keras layer with a `call()`.
        ValueError: If `from_logits` contradicts the output layer, or special
            ids are missing.

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
                "`references`, where the model takes words. Received: "
                f"inputs={inputs!r}."
            )
        self.positional = positional
        self.length = length and checked_integer(length, "length")
        self.shifts = shifts

    def begin(self, inputs: dict, training: bool = False) -> dict:
        """Reads a batch.

        Returns:
            Dict of `inputs`, the model's except the words, by key; and
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
        """Returns a state of `begin()` with zeros in place of the condition."""
        return {**state, "inputs": self.zeros_of(state["inputs"])}

    def fixed_state(
        self, state: dict, steps: int, room: int | None = None
    ) -> dict:
        """Returns a state of `begin()` with constant shapes for the steps.

        With `room`, it has room for as many before `extend_state()`.
        """
        self._checked(steps)
        count = ops.zeros(ops.shape(state["words"])[:1], dtype="int32")
        return self.extend_state({**state, "count": count}, room or steps)

    def extend_state(self, state: dict, more: int) -> dict:
        """Returns a fixed state with room for `more` more words."""
        room = [(0, 0), (0, more)]
        words = ops.pad(state["words"], room, constant_values=self.pad)
        return {**state, "words": words}

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
        logits = self._logits(state, said[:, : self.length], training)
        logits = ops.take_along_axis(logits, count[..., None], axis=1)
        return logits[:, 0], {**state, "words": said, "count": count[:, 0] + 1}

    def _logits(self, state, words, training):
        """Logits `(n, T, V)` after each of `(n, T)` words, start first."""
        count = self._checked(ops.shape(words)[1])
        if self.shifts:
            start = ops.full_like(words[:, :1], self.pad)
            words = ops.concatenate([words[:, 1:], start], axis=1)
        if self.length is not None:
            lack = [(0, 0), (0, self.length - count)]
            words = ops.pad(words, lack, constant_values=self.pad)
        read = {**state["inputs"], self.references_key: words}
        given = _filled(self.keys, read)
        arguments = list(given) if self.positional else [given]
        outputs = called(self.model, arguments, training)
        return self.as_logits(outputs, 3)[:, :count]

    def _checked(self, count):
        if self.length is None:
            return count
        cure = "Decode with a smaller `max_length`, or cut the captions."
        return check_length(count, self.length, "speaker", "length", cure)

    def logits(self, state: dict, tokens: Any, training: bool = False) -> Any:
        """Logits `(B, S, T, V)` before each of the words `(B, S, T)`."""
        check_shape(tokens, "B S T", "tokens")
        shape = ops.shape(tokens)
        rows = word_rows(tokens)
        words = words_before(rows, self.bos)
        state = repeat_samples(state, shape[1])
        logits = self._logits(state, words, training)
        return ops.reshape(logits, (*shape, self.vocabulary_size))

    def state_vector(self, state: dict) -> Any:
        """Raises a `ValueError`: the state holds inputs and words only."""
        raise ValueError(
            "A baseline that reads a speaker's state needs `state_vector()`. "
            "Received: a TeacherForcedSpeaker, whose state is the words. Use "
            "a baseline of rewards, such as LeaveOneOutBaseline, or add a "
            "method `state_vector(state)` that returns a tensor (n, D)."
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
            **config_of(self, "positional length shifts"),
            "inputs": self.keys,
        }


def _filled(keys, read):
    """Returns a nest of entries in the order of its keys."""
    if isinstance(keys, dict):
        return {name: _filled(key, read) for name, key in keys.items()}
    if isinstance(keys, list | tuple):
        return type(keys)(_filled(key, read) for key in keys)
    return read[keys]


@keras.saving.register_keras_serializable(package="tfcap")
class StepwiseSpeaker(WrappedSpeaker):
    """Wraps a recurrent cell as a speaker.

    ```
    state = encoder(image)
    logits, state = cell(words, state)           # ids (n,) to logits (n, V)
    ```

    Args:
        cell: Keras layer or model of ids `(n,)` and a state, a nest of tensors
            with leading axis `n`, that returns logits or probabilities
            `(n, V)` and the next state. It is not copied.
        encoder: Keras layer or model from a batch to the first state.
        reads_ids: Boolean, whether the cell reads only ids; false if it also
            takes distributions over words, `(n, V)`, as
            `feedback="relaxed"` needs. Defaults to `True`.
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
        """Reads a batch, and returns the first state."""
        return self.dropped(self.encoded(inputs, training), training)

    def unconditional(self, state: Any) -> Any:
        """Returns a state of zeros."""
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
        rows = word_rows(tokens)
        # (n, T, 2)
        pairs = ops.stack([words_before(rows, self.bos), rows], axis=-1)

        def step(pair, state):
            logits, state = self.step(pair[:, 0], state, training)
            return read(logits, pair[:, 1]), state

        state = repeat_samples(state, samples)
        columns = each_word(
            step, state, pairs, unroll=self.unroll, network=self
        )
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
