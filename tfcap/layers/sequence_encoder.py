"""Layers that read words: an embedding, and recurrent encoders.

The encoders skip masked words.
"""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import config_of
from tfcap._ops.loops import LONGEST_UNROLLED
from tfcap.layers._fast import Stepwise
from tfcap.layers._fast import StepwiseLookup
from tfcap.layers._fast import embed_words
from tfcap.layers._fast import traced_once


@keras.saving.register_keras_serializable(package="tfcap")
class SoftEmbedding(Stepwise, keras.layers.Layer):
    """Embeds word ids, or distributions over words, with the same table.

    A network that was trained on ids can thus read the vectors of a word
    channel, and the gradient flows back through them.

    ```
    output = table[ids]                # integer input
    output = distributions @ table     # float input
    ```

    On one-hot vectors the two are identical. Vectors of a word channel are
    looked up, see `embed_words()`; other distributions are multiplied.
    `from_embedding()` ties the layer to the table of an existing network.

    Args:
        vocabulary_size: Integer `V`.
        units: Integer, size of the embeddings.
        embeddings_initializer: Initializer of the table. Defaults to
            `"uniform"`.
        mask_zero: Boolean, whether id 0 is padding. If so, ids carry the mask
            `ids != 0`; distributions keep their mask. Defaults to `True`.

    Call arguments:
        inputs: Integer tensor of shape `(...)`, or float tensor of shape
            `(..., V)`.

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

        Both layers train the same weights. With `enable_lora()` the table is
        the sum of the frozen one and its adapter, which is trained.

        Args:
            layer: `keras.layers.Embedding`, or a subclass such as
                `ReversibleEmbedding`.
            **kwargs: Those of `keras.layers.Layer`, and `mask_zero`, by
                default that of the layer.

        Raises:
            TypeError: If `layer` is not a layer.
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
        names = "vocabulary_size units embeddings_initializer mask_zero tied"
        return {**super().get_config(), **config_of(self, names)}

    @classmethod
    def from_config(cls, config):
        config = dict(config)  # the caller's stays whole
        tied = config.pop("tied", None)
        layer = cls(**config)
        layer.tied = keras.saving.deserialize_keras_object(tied)
        return layer


def _check_floats(layer):
    """Rejects a table of integers."""
    if layer.quantization_mode is not None:
        raise ValueError(
            "`layer` must have a table of floats, so that soft words have a "
            "gradient. Received: a table quantized to "
            f"{layer.quantization_mode}. Leave the embedding out of the "
            "quantization, by `quantize(..., filters=...)`."
        )


def _holds_ids(inputs):
    return "int" in keras.backend.standardize_dtype(inputs.dtype)


class MaskedRecurrence:
    """Mixin of Keras' recurrent layers, see `MaskedLSTM`."""

    def __init__(self, units, **kwargs):
        units = checked_integer(units, "units")
        super().__init__(units, **kwargs)
        # Packed shapes depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"

    def packed_cell(self) -> tuple[Any, Any]:
        """Returns `project` and `step` of `packed_recurrence()`."""
        raise NotImplementedError

    def inner_loop(self, sequences, initial_state, mask, training=False):
        noisy = training and (self.dropout or self.recurrent_dropout)
        if (
            mask is None
            or keras.backend.backend() != "tensorflow"
            or noisy
            or self.go_backwards
            or self.unroll
            or self.zero_output_for_mask
        ):
            return super().inner_loop(sequences, initial_state, mask, training)
        if _packs(sequences.shape[1]):
            return packed_recurrence(
                *self.packed_cell(),
                sequences,
                mask,
                initial_state,
                self.return_sequences,
            )
        return self._trimmed(sequences, initial_state, mask, training)

    def _trimmed(self, sequences, initial_state, mask, training):
        """Keras' own recurrence, with all padding at the end and cut."""
        mask = ops.cast(mask, "bool")
        width = ops.shape(mask)[1]
        count = ops.cumsum(ops.cast(mask, "int32"), axis=1)  # (B, T)
        length = count[:, -1]
        # At least one step a row: cuDNN rejects empty sequences.
        longest = ops.maximum(ops.max(length), 1)
        steps = ops.arange(longest, dtype="int32")
        column = ops.arange(width, dtype="int32")[None]
        front = ops.argsort(ops.where(mask, column, width + column), axis=1)
        front = ops.take(front, steps, axis=1)
        short = ops.take_along_axis(sequences, front[..., None], axis=1)
        short_mask = steps[None] < ops.maximum(length, 1)[:, None]
        _, outputs, state = super().inner_loop(
            short, initial_state, short_mask, training
        )
        nonempty = length[:, None] > 0
        last = ops.where(nonempty, state[0], 0)
        state = [
            ops.where(nonempty, a, b) for a, b in zip(state, initial_state)
        ]
        if not self.return_sequences:
            return last, last, state
        index = ops.maximum(count - 1, 0)[..., None]
        outputs = ops.take_along_axis(outputs, index, axis=1)
        return last, ops.where(count[..., None] > 0, outputs, 0), state


def _packs(width):
    import tensorflow as tf

    # On GPU one cuDNN call beats many small kernels.
    return (
        width is not None
        and width <= LONGEST_UNROLLED
        and not tf.config.list_logical_devices("GPU")
    )


def _affine(inputs, kernel, bias):
    import tensorflow as tf

    product = tf.matmul(inputs, kernel)
    return product if bias is None else product + tf.convert_to_tensor(bias)


def packed_recurrence(
    project: Any,
    step: Any,
    inputs: Any,
    mask: Any,
    state: list,
    return_sequences: bool,
) -> tuple[Any, Any, list]:
    """Runs a recurrent cell over the unmasked steps of a batch of sequences.

    Sequences are sorted by length, and step `t` runs on the rows with a
    `t`-th word: a batch that is half padding costs half. The inputs of all
    words are projected in one product.

    Args:
        project: Callable from words `(n, D)` to the inputs of a step.
        step: Callable from inputs and state of the rows that have a word to
            their next state.
        inputs: Tensor of shape `(B, T, D)`, `T` static.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word.
        state: List of tensors of shape `(B, units)`, the output first.
        return_sequences: Boolean, whether outputs are `(B, T, units)`.

    Returns:
        `(last, outputs, state)` as of Keras' recurrent layers: at a masked
        step the last output repeats, and is 0 where there is none yet.
    """
    import tensorflow as tf

    plan = _plan(tf.cast(mask, tf.bool))
    words = tf.gather(tf.reshape(inputs, (-1, inputs.shape[-1])), plan["words"])
    steps, state = _recurrence(step, project(words), state, plan)
    state = [tf.gather(x, plan["rank"]) for x in state]
    output = state[0]
    last = tf.where(plan["length"][:, None] > 0, output, tf.zeros_like(output))
    if not return_sequences:
        return last, last, state
    # Row 0 stands for the steps before a sequence's first word.
    steps = tf.concat([tf.zeros_like(output[:1]), *steps], axis=0)
    return last, tf.gather(steps, plan["outputs"]), state


def _plan(mask):
    """Returns the index of each word in packed order: by step, then length."""
    import tensorflow as tf

    rows, width = tf.shape(mask)[0], mask.shape[1]
    count = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
    length = count[:, -1]
    order = tf.argsort(length, direction="DESCENDING", stable=True)
    rank = tf.argsort(order)
    # (T,): rows that have a word at each step.
    alive = tf.cast(length[:, None] > tf.range(width)[None], tf.int32)
    alive = tf.reduce_sum(alive, axis=0)
    key = tf.where(mask, (count - 1) * rows + rank[:, None], width * rows)
    words = tf.argsort(tf.reshape(key, [-1]))[: tf.reduce_sum(alive)]
    step = tf.maximum(count - 1, 0)
    start = tf.gather(tf.cumsum(alive, exclusive=True), step)
    outputs = tf.where(count > 0, 1 + start + rank[:, None], 0)
    return {
        "length": length,
        "order": order,
        "rank": rank,
        "alive": alive,
        "words": words,
        "outputs": outputs,
    }


def _recurrence(step, projected, state, plan):
    """The outputs of every step, and the final state, rows by length."""
    import tensorflow as tf

    counts = tf.unstack(plan["alive"])
    state = [tf.gather(x, plan["order"]) for x in state]
    outputs, ended = [], []

    @traced_once
    def read(x, state, alive):
        sizes = [alive, tf.shape(state[0])[0] - alive]
        going, rest = zip(*(tf.split(part, sizes) for part in state))
        return step(x, [*going]), [*rest]

    # One split rather than slices: its gradient is one concatenation.
    for x, alive in zip(tf.split(projected, counts), counts):
        state, rest = read(x, state, alive)
        ended.append(rest)
        outputs.append(state[0])
    ended.append(state)
    return outputs, [tf.concat(x[::-1], axis=0) for x in zip(*ended)]


@keras.saving.register_keras_serializable(package="tfcap")
class MaskedLSTM(MaskedRecurrence, keras.layers.LSTM):
    """`keras.layers.LSTM` that skips masked steps.

    Weights, arguments, results and gradients are those of
    `keras.layers.LSTM`; only the algorithm differs, with TensorFlow and a
    mask:

    - on CPU, up to 32 steps, step `t` runs on the sequences with a `t`-th
      word, which saves the cost of padding: two thirds of the time on dialog
      questions;
    - otherwise the words of each sequence are moved to its front, and steps
      that no sequence reaches are dropped. Padding may then be anywhere and
      rows may be empty, which cuDNN itself rejects.

    On other backends, and with dropout inside the cell, it runs Keras' own
    layer.

    Call arguments:
        sequences: Float tensor of shape `(B, T, D)`.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word.
        initial_state: List of two tensors of shape `(B, units)`.
        training: Boolean.

    Returns:
        As `keras.layers.LSTM`: `(B, units)`, or `(B, T, units)` with
        `return_sequences=True`, and the final state with `return_state=True`.
        A row that is masked throughout gives zeros and its initial state.

    Example:

    >>> lstm = MaskedLSTM(4)
    >>> words = np.random.normal(size=(1, 3, 2))
    >>> left = lstm(words[:, [0, 0, 1]], mask=np.array([[0, 1, 1]]))
    >>> right = lstm(words, mask=np.array([[1, 1, 0]]))
    >>> bool(np.allclose(left, right, atol=1e-6))
    True
    """

    def packed_cell(self):
        import tensorflow as tf

        cell = self.cell
        kernel, recurrent = map(
            tf.convert_to_tensor, (cell.kernel, cell.recurrent_kernel)
        )

        def project(words):
            return _affine(words, kernel, cell.bias if cell.use_bias else None)

        def step(x, state):
            h, c = state
            i, f, g, o = tf.split(x + tf.matmul(h, recurrent), 4, axis=-1)
            c = cell.recurrent_activation(f) * c
            c += cell.recurrent_activation(i) * cell.activation(g)
            return [cell.recurrent_activation(o) * cell.activation(c), c]

        return project, step


@keras.saving.register_keras_serializable(package="tfcap")
class MaskedGRU(MaskedRecurrence, keras.layers.GRU):
    """`keras.layers.GRU` that skips masked steps.

    Weights, arguments, results and gradients are those of
    `keras.layers.GRU`; the algorithm is that of `MaskedLSTM`.
    It needs the default `reset_after=True`.

    Call arguments, Returns:
        As of `MaskedLSTM`, with a state of one tensor.

    Example:

    >>> gru = MaskedGRU(4)
    >>> words = np.random.normal(size=(1, 3, 2))
    >>> left = gru(words[:, [0, 0, 1]], mask=np.array([[0, 1, 1]]))
    >>> right = gru(words, mask=np.array([[1, 1, 0]]))
    >>> bool(np.allclose(left, right, atol=1e-6))
    True
    """

    def packed_cell(self):
        import tensorflow as tf

        cell = self.cell
        kernel, recurrent = map(
            tf.convert_to_tensor, (cell.kernel, cell.recurrent_kernel)
        )
        input_bias = recurrent_bias = None
        if cell.use_bias:
            input_bias, recurrent_bias = tf.unstack(
                tf.convert_to_tensor(cell.bias)
            )

        def project(words):
            return _affine(words, kernel, input_bias)

        def step(x, state):
            (h,) = state
            x_z, x_r, x_h = tf.split(x, 3, axis=-1)
            h_z, h_r, h_h = tf.split(
                _affine(h, recurrent, recurrent_bias), 3, axis=-1
            )
            z = cell.recurrent_activation(x_z + h_z)
            r = cell.recurrent_activation(x_r + h_r)
            return [z * h + (1 - z) * cell.activation(x_h + r * h_h)]

        return project, step


@keras.saving.register_keras_serializable(package="tfcap")
class SequenceEncoder(keras.layers.Layer):
    """Reads embedded words and returns the state after the last one.

    The state is that after the last *word*: padding before, after or between
    the words has no effect. A sequence without words gives zeros.

    Args:
        units: Integer, size of the state.
        return_sequences: Boolean, whether to return the output at every step
            rather than after the last. Defaults to `False`.
        return_state: Boolean, whether to return the final state too.
            Defaults to `False`.

    Call arguments:
        inputs: Float tensor of shape `(..., T, D)`, such as `(B, T, D)` or
            `(B, R, T, D)`.
        mask: Tensor of shape `(..., T)`, nonzero where there is a word. Keras
            passes the mask of a `SoftEmbedding`.

    Returns:
        Float tensor of shape `(..., units)`, or `(..., T, units)` with
        `return_sequences=True`. With `return_state=True` a pair of that and
        `[h, c]`, each of shape `(..., units)`.

    Example:

    >>> embed = tfcap.layers.SoftEmbedding(vocabulary_size=9, units=4)
    >>> encode = SequenceEncoder(6)
    >>> encode(embed(np.array([[[1, 2, 0], [3, 0, 0]]]))).shape
    TensorShape([1, 2, 6])
    """

    def __init__(
        self,
        units: int,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        self.units = units
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.supports_masking = True
        self.lstm = MaskedLSTM(
            units,
            return_sequences=return_sequences,
            return_state=True,
            dtype=self.dtype_policy,
            name="lstm",
        )

    @property
    def cell(self) -> keras.layers.LSTMCell:
        """The `keras.layers.LSTMCell`; saved networks hold weights by it."""
        return self.lstm.cell

    def build(self, input_shape):
        self.lstm.build((None, *input_shape[-2:]))
        self.built = True

    def call(self, inputs, mask=None):
        *lead, steps, features = ops.shape(inputs)
        if mask is not None:
            mask = ops.reshape(mask, (-1, steps))
        inputs = ops.reshape(inputs, (-1, steps, features))
        output, *state = self.lstm(inputs, mask=mask)
        tail = (steps, self.units) if self.return_sequences else (self.units,)
        output = ops.reshape(output, (*lead, *tail))
        if not self.return_state:
            return output
        return output, [ops.reshape(x, (*lead, self.units)) for x in state]

    def compute_mask(self, inputs, mask=None):
        return mask if self.return_sequences and not self.return_state else None

    def compute_output_shape(self, input_shape):
        state = (*input_shape[:-2], self.units)
        output = (*input_shape[:-1], self.units)
        output = output if self.return_sequences else state
        return (output, [state, state]) if self.return_state else output

    def get_config(self):
        names = "units return_sequences return_state"
        return {**super().get_config(), **config_of(self, names)}
