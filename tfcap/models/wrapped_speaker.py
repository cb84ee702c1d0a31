"""Base class of speakers that are made of other networks."""

import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops.arguments import batch_entry
from tfcap._ops.arguments import check_values
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.models.dropout import uses_training
from tfcap.models.inputs import word_ids
from tfcap.models.vocabulary_head import never_said
from tfcap.text import as_vocabulary

#: The name under which a model's inputs ask for what the encoder returned.
ENCODED = "encoded"


class WrappedSpeaker(keras.Model):
    """Base class of speakers of a model that somebody has.

    Args:
        model: Keras model or layer, which is not copied.
        from_logits, vocabulary, ..., encoder_inputs: As of
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
                    f"`{name}` must be given where no `vocabulary` names it. "
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
        #: Share of the rows that are dropped in training.
        self.condition_dropout = checked_number(
            condition_dropout,
            "condition_dropout",
            "in [0, 1)",
            lambda rate: 0 <= rate < 1,
        )
        # It has one if it may be guided, also when nothing is dropped any more.
        self.seed_generator = SeedGenerator() if condition_dropout else None

    @property
    def begin_uses_training(self) -> bool:
        """True if `begin(training=True)` may differ from inference."""
        if self.condition_dropout:
            return True
        return self.encoder is not None and any(
            uses_training(layer) for layer in self.encoder._flatten_layers()
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
        """A nest of entries of a batch, of a nest of their keys."""

        def entry(key):
            what = "which the speaker reads"
            value = batch_entry(inputs, key, what, pad=self.pad)
            return ops.convert_to_tensor(value)

        return keras.tree.map_structure(entry, keys)

    def dropped(self, read: Any, training: bool) -> Any:
        """Puts zeros in the place of all that is read, in a share of rows."""
        leaves = keras.tree.flatten(read)
        if not (training and self.condition_dropout and leaves):
            return read
        rows = (ops.shape(leaves[0])[0],)
        drawn = keras.random.uniform(
            rows, dtype="float32", seed=self.seed_generator
        )
        shown = drawn >= self.condition_dropout

        def leaf(tensor):
            there = ops.reshape(shown, (-1, *(1,) * (len(tensor.shape) - 1)))
            return ops.where(there, tensor, ops.zeros_like(tensor))

        return keras.tree.map_structure(leaf, read)

    def zeros_of(self, read: Any) -> Any:
        """Zeros in the place of all that is read, of `begin()`.

        Raises:
            ValueError: If the speaker was made without `condition_dropout`.
        """
        if self.seed_generator is None:
            raise ValueError(
                "`condition_dropout` must be positive for guidance: this "
                "speaker has never spoken without its inputs. Received: "
                "condition_dropout=0.0. Train it with `condition_dropout=0.1`, "
                "or decode with `guidance=1.0`."
            )
        return keras.tree.map_structure(ops.zeros_like, read)

    def as_logits(self, outputs: Any, axes: int) -> Any:
        """Logits of `axes` axes, without padding and start, of an output."""
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
            "`from_logits` must be True for a model whose outputs are no "
            "probabilities, not negative and of sum 1. Received: "
            "from_logits=False.",
        )
        return ops.log(ops.maximum(outputs, 1e-20)) + self.floor

    def check_ids(self, words: Any) -> None:
        """Refuses soft words."""
        if self.reads_ids and len(words.shape) != 1:
            raise ValueError(
                "`words` must be ids of shape (n,): the model reads no "
                "distributions over words. Received: shape="
                f'{tuple(words.shape)}. Decode with `feedback="index"`.'
            )

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        # No argument: only `from_config()` knows it, which a subclass may have
        # of its own.
        guided = self.seed_generator is not None and not self.condition_dropout
        return {
            **super().get_config(),
            self.model_argument: serialize(self.model),
            "from_logits": self.from_logits,
            "vocabulary_size": self.vocabulary_size,
            "pad": self.pad,
            "bos": self.bos,
            "eos": self.eos,
            "references": self.references_key,
            "has_start": self.has_start,
            "encoder": self.encoder and serialize(self.encoder),
            "encoder_inputs": self.encoder_inputs,
            "condition_dropout": self.condition_dropout,
            **({"guided": True} if guided else {}),
        }

    @classmethod
    def from_config(cls, config):
        parts = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in (cls.model_argument, "encoder")
        }
        config = {**config, **parts}
        guided = config.pop("guided", False)
        speaker = cls(**config)
        if guided and speaker.seed_generator is None:
            speaker.seed_generator = SeedGenerator()
        return speaker


def called(network: Callable, arguments: list, training: bool) -> Any:
    """Calls a network, with `training` where it takes that."""
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
            f"{type(network).__name__} without one. Pass the part of it that "
            "reads words, such as its decoder, and as `encoder` the part "
            "that reads the rest."
        )


def _check_activation(model, from_logits):
    """Refuses `from_logits` that the output layer contradicts."""
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
    layer = outputs[0]._keras_history.operation
    return layer if layer is model else _output_layer(layer)
