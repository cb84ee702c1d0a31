"""Encoders of visual dialogs: questions, histories, images, answers."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import check_shape
from tfcap._ops import masked_softmax
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_rate
from tfcap._ops.arguments import checked_seed
from tfcap._ops.arguments import config_of
from tfcap._ops.replicas import drop_out
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers.sequence_encoder import MaskedLSTM
from tfcap.layers.sequence_encoder import SequenceEncoder


@keras.saving.register_keras_serializable(package="tfcap")
class QueryAttention(keras.layers.Layer):
    """Attends to a memory with every query, by an additive score.

    ```
    z = tanh(memory @ Wm + query @ Wq + b) @ wa      # per query and entry
    weights = softmax(z)                             # over the memory
    output = weights @ memory
    ```

    Unlike in `keras.layers.AdditiveAttention`, query and memory may differ in
    size, and the memory is projected once for all queries.

    Args:
        units: Integer, size of the hidden layer of the score.
        query_initializer: Initializer of the query's projection. A query that
            is small beside the memory, such as the state of an LSTM, at first
            has little effect on the score; a few times the usual variance
            lets attention learn sooner. Defaults to `"glorot_uniform"`.

    Call arguments:
        query: Float tensor of shape `(B, Q, Dq)`.
        memory: Float tensor of shape `(B, M, Dm)`.
        mask: Tensor that broadcasts to `(B, Q, M)`, nonzero where a query may
            attend.
        memory_mask: Tensor of shape `(B, M)`, nonzero where there is an entry.
        projected: Float tensor of shape `(B, M, units)`, of
            `project_memory(memory)`, to attend to one memory many times.
            Projected here if left out.

    Returns:
        Pair of the attended memory, of shape `(B, Q, Dm)`, and the weights, of
        shape `(B, Q, M)`. Both are zero for a query without any entry.

    Example:

    >>> attend = QueryAttention(8)
    >>> output, weights = attend(np.ones((2, 3, 4)), np.ones((2, 5, 6)))
    >>> output.shape, weights.shape
    (TensorShape([2, 3, 6]), TensorShape([2, 3, 5]))

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, equations 1 and 2. As in the
      authors' code the hidden layer has a bias, unlike in the paper.
    """

    def __init__(
        self,
        units: int,
        query_initializer: Any = "glorot_uniform",
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        self.units = units
        self.query_initializer = keras.initializers.get(query_initializer)
        self.supports_masking = True
        options = {"dtype": self.dtype_policy}
        self.project_query = keras.layers.Dense(
            units,
            kernel_initializer=self.query_initializer,
            name="query",
            **options,
        )
        self.project_memory = keras.layers.Dense(
            units, use_bias=False, name="memory", **options
        )
        self.score = keras.layers.Dense(
            1, use_bias=False, name="score", **options
        )

    def build(self, query_shape, memory_shape):
        self.project_query.build(query_shape)
        self.project_memory.build(memory_shape)
        self.score.build((*query_shape[:-1], self.units))
        self.built = True

    def call(self, query, memory, mask=None, memory_mask=None, projected=None):
        if memory_mask is not None:
            memory_mask = ops.cast(memory_mask, "bool")[:, None]
            mask = (
                memory_mask
                if mask is None
                else ops.logical_and(ops.cast(mask, "bool"), memory_mask)
            )
        if projected is None:
            projected = self.project_memory(memory)
        # (B, Q, M, units)
        hidden = ops.tanh(
            projected[:, None] + self.project_query(query)[:, :, None]
        )
        weights = masked_softmax(self.score(hidden)[..., 0], mask)
        return ops.matmul(weights, memory), weights

    def compute_mask(self, query, mask=None):
        return None

    def get_config(self):
        names = "units query_initializer"
        return {**super().get_config(), **config_of(self, names)}


@keras.saving.register_keras_serializable(package="tfcap")
class AnswerEncoder(keras.layers.Layer):
    """Encodes an answer by an LSTM and self-attention over its words.

    ```
    h = lstm(words)                              # (..., T, units)
    a = softmax(tanh(h @ W1 + b1) @ w2)          # over the words
    encoding = tanh((a @ h) @ W + b)
    ```

    Uninformative words have a small weight, which keeps paraphrases close.
    Without attention, the last state replaces `a @ h`.

    Args:
        units: Integer, size of the recurrent state and of the attention.
        output_units: Integer, size of the encoding, or `None` for `units`.
        attention: Boolean, whether to attend. Defaults to `True`.
        dropout: Float in `[0, 1)`, dropout rate inside the attention; 0.5 in
            the authors' code. Defaults to `0.0`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        inputs: Float tensor of embedded words, of shape `(..., T, E)`.
        mask: Tensor of shape `(..., T)`, nonzero where there is a word. Keras
            passes the mask of a `SoftEmbedding` of ids; for distributions it
            must be given.
        training: Boolean.

    Returns:
        Float tensor of shape `(..., output_units)`.

    Example:

    >>> encode = tfcap.layers.AnswerEncoder(8, output_units=6)
    >>> encode(np.ones((2, 10, 3, 4))).shape
    TensorShape([2, 10, 6])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.2. The authors'
      code leaves the end token out of the attention; here the mask decides,
      and that of a `SoftEmbedding` includes it, so that the end of an answer
      has a gradient.
    """

    def __init__(
        self,
        units: int,
        output_units: int | None = None,
        attention: bool = True,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        dropout = checked_rate(dropout, "dropout")
        self.units = units
        if output_units is not None:
            output_units = checked_integer(output_units, "output_units")
        self.output_units = output_units
        self.attention = attention
        self.dropout = dropout
        self.seed = checked_seed(seed)
        self.seed_generator = SeedGenerator(self.seed)
        self.supports_masking = True
        options = {"dtype": self.dtype_policy}
        self.read = SequenceEncoder(
            units, return_sequences=attention, name="words", **options
        )
        self.project = keras.layers.Dense(
            output_units or units, activation="tanh", name="encoding", **options
        )
        if attention:
            self.hidden = keras.layers.Dense(
                units, activation="tanh", name="hidden", **options
            )
            self.score = keras.layers.Dense(
                1, use_bias=False, name="score", **options
            )

    def build(self, input_shape):
        self.read.build(input_shape)
        self.project.build((None, self.units))
        if self.attention:
            self.hidden.build((None, self.units))
            self.score.build((None, self.units))
        self.built = True

    def call(self, inputs, mask=None, training=False):
        states = self.read(inputs, mask=mask)  # (..., T, units)
        if not self.attention:
            return self.project(states)
        hidden = self.hidden(states)
        hidden = drop_out(hidden, self.dropout, self.seed_generator, training)
        weights = masked_softmax(self.score(hidden)[..., 0], mask)
        # (..., 1, T) @ (..., T, units)
        pooled = ops.matmul(weights[..., None, :], states)[..., 0, :]
        return self.project(pooled)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], self.output_units or self.units)

    def get_config(self):
        names = "units output_units attention dropout seed"
        return {**super().get_config(), **config_of(self, names)}


class DialogEncoder(keras.layers.Layer):
    """Encodes the questions of a dialog, its history and its image.

    All rounds of a dialog are encoded in one causal call: history row `r` is
    the round before question `r` (row 0 is the caption), and question `r`
    reads rows `0` to `r`. A single question reads all rows.

    To write an encoder, override `fuse()`, and `build()` for its layers.

    Args:
        units: Integer, size of the recurrent states and the attention.
            Defaults to `512`.
        output_units: Integer, size of the encoding, or `None` for `units`.
        dropout: Float in `[0, 1)`, dropout rate after each fusion; 0.5 in the
            published models. Defaults to `0.0`.
        return_state: Boolean, whether to return the final state of the
            question's LSTM, too, from which a decoder may start. Defaults to
            `False`.
        return_attention: Boolean, whether to return a dictionary of the
            attention weights, too. Defaults to `False`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        question: Float tensor of embedded words, of shape `(B, R, T, E)`, or
            `(B, T, E)` for one question a dialog.
        history: Float tensor of embedded words, of shape `(B, H, T, E)`; with
            questions of `R` rounds, `H` is `R`.
        image: Float tensor of shape `(B, P, D)`.
        question_mask: Tensor of the shape of `question` less its last axis,
            nonzero where there is a word. Keras passes the masks of a
            `SoftEmbedding`.
        history_mask: Tensor of shape `(B, H, T)`. A row without words is
            ignored.
        image_mask: Tensor of shape `(B, P)`, nonzero where the image has a
            position. Defaults to `None` for all.
        training: Boolean.

    Returns:
        Float tensor of shape `(B, R, output_units)`, or `(B, output_units)`
        for one question. With `return_state` or `return_attention` a tuple of
        that, `[h, c]` of shape `(B, R, units)` each, and a dictionary of the
        encoder's attention weights, of shape `(B, R, H)` and `(B, R, P)`.
    """

    def __init__(
        self,
        units: int = 512,
        output_units: int | None = None,
        dropout: float = 0.0,
        return_state: bool = False,
        return_attention: bool = False,
        seed: int | None = None,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        dropout = checked_rate(dropout, "dropout")
        self.units = units
        if output_units is not None:
            output_units = checked_integer(output_units, "output_units")
        self.output_units = output_units
        self.dropout = dropout
        self.return_state = return_state
        self.return_attention = return_attention
        self.seed = checked_seed(seed)
        self.seed_generator = SeedGenerator(self.seed)
        self.supports_masking = True
        options = {"dtype": self.dtype_policy}
        self.read_question = SequenceEncoder(
            units, return_state=True, name="question", **options
        )
        self.read_history = SequenceEncoder(units, name="history", **options)
        self.project_image = keras.layers.Dense(
            units, activation="tanh", name="image", **options
        )
        self.project = keras.layers.Dense(
            output_units or units, activation="tanh", name="encoding", **options
        )

    def fuse(
        self,
        question: Any,
        history: Any,
        image: Any,
        masks: tuple[Any, Any, Any],
        visible: Any,
        training: bool,
    ) -> tuple[Any, list, dict]:
        """Encodes the rounds of a dialog.

        Args:
            question: Tensor of shape `(B, R, T, E)`.
            history: Tensor of shape `(B, H, T, E)`.
            image: Tensor of shape `(B, P, D)`.
            masks: Triple of the masks of question, history and image, or
                `None` each.
            visible: Boolean tensor that broadcasts to `(B, R, H)`, true where
                a question may read a row.
            training: Boolean.

        Returns:
            `(encoding, [h, c], attention)` as in the class's Returns.
        """
        raise NotImplementedError

    def build_inputs(
        self, question_shape: tuple, history_shape: tuple, image_shape: tuple
    ) -> None:
        """Builds the layers that every encoder has, except `project`."""
        self.read_question.build(question_shape)
        self.read_history.build(history_shape)
        self.project_image.build(image_shape)

    def call(
        self,
        question,
        history,
        image,
        question_mask=None,
        history_mask=None,
        image_mask=None,
        training=False,
    ):
        single = len(question.shape) == 3
        if single:
            question = question[:, None]
            if question_mask is not None:
                question_mask = question_mask[:, None]
        _check_inputs(question, history, image, single)
        if image_mask is not None:
            check_shape(image_mask, "B P", "image_mask")
        encoding, state, attention = self.fuse(
            question,
            history,
            image,
            (question_mask, history_mask, image_mask),
            _visible_rows(question, history, history_mask, causal=not single),
            training,
        )
        outputs = [encoding]
        if self.return_state:
            outputs.append(state)
        if self.return_attention:
            outputs.append(attention)
        if single:
            outputs = keras.tree.map_structure(lambda x: x[:, 0], outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def drop(self, inputs: Any, training: bool) -> Any:
        """Applies dropout at the layer's rate."""
        return drop_out(inputs, self.dropout, self.seed_generator, training)

    def compute_mask(self, question, mask=None):
        return None

    def get_config(self):
        names = "units output_units dropout return_state return_attention seed"
        return {**super().get_config(), **config_of(self, names)}


def _check_inputs(question, history, image, single):
    check_shape(question, "B R T E", "question")
    check_shape(history, "B H T E", "history")
    check_shape(image, "B P D", "image")
    rounds, rows = question.shape[1], history.shape[1]
    if not single and None not in (rounds, rows) and rounds != rows:
        raise ValueError(
            "`history` must have one row for each round of `question`. "
            "Received: "
            f"question.shape={tuple(question.shape)}, "
            f"history.shape={tuple(history.shape)}."
        )


def _visible_rows(question, history, history_mask, causal):
    """Returns a mask of the rows that a question reads, for `(B, R, H)`."""
    rounds, rows = ops.shape(question)[1], ops.shape(history)[1]
    visible = ops.ones((1, 1, rows), dtype="bool")
    if causal:
        visible = ops.arange(rows)[None] <= ops.arange(rounds)[:, None]
        visible = visible[None]
    if history_mask is not None:
        words = ops.any(ops.cast(history_mask, "bool"), axis=-1)
        visible = ops.logical_and(visible, words[:, None])
    return visible


class AttendingEncoder(DialogEncoder):
    """Base class of encoders that attend by `QueryAttention`.

    Args:
        units: Integer, size of the recurrent states and of what is attended.
            Defaults to `512`.
        query_initializer: Initializer, see `QueryAttention`. Defaults to
            `"glorot_uniform"`.
        **kwargs: Those of `DialogEncoder`.
    """

    def __init__(
        self,
        units: int = 512,
        query_initializer: Any = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(units, **kwargs)
        self.query_initializer = keras.initializers.get(query_initializer)
        self.attend_history = self.attention("attend_history")

    def attention(self, name: str) -> QueryAttention:
        """Makes a layer that attends."""
        return QueryAttention(
            self.units,
            self.query_initializer,
            name=name,
            dtype=self.dtype_policy,
        )

    def get_config(self):
        initializer = keras.initializers.serialize(self.query_initializer)
        return {**super().get_config(), "query_initializer": initializer}


@keras.saving.register_keras_serializable(package="tfcap")
class HCIAEEncoder(AttendingEncoder):
    """Attends to the history with the question, then to the image with both.

    ```
    mq = lstm(question)                       # (B, R, units)
    mh = attend(query=mq, memory=lstm(history rows up to the question's))
    v = attend(query=[mq, mh], memory=tanh(image @ Wv))
    encoding = tanh([mq, mh, v] @ We)
    ```

    The history tells what "it" refers to before the image is searched for it.

    Args:
        units: Integer, size of the recurrent states and of what is attended.
            Defaults to `512`.
        query_initializer: Initializer, see `QueryAttention`. Defaults to
            `"glorot_uniform"`.
        **kwargs: Those of `DialogEncoder`. With `return_attention`, weights
            are `{"history": (B, R, H), "image": (B, R, P)}`.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.HCIAEEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.1. The projection
      of the image, and dropout, at a rate of 0.5, come from the authors'
      code.
    """

    def __init__(self, units: int = 512, **kwargs):
        super().__init__(units, **kwargs)
        self.attend_image = self.attention("attend_image")

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        units = self.units
        self.attend_history.build((None, None, units), (None, None, units))
        self.attend_image.build((None, None, 2 * units), (None, None, units))
        self.project.build((None, None, 3 * units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        mq, state = self.read_question(question, mask=masks[0])
        history = self.read_history(history, mask=masks[1])  # (B, H, units)
        image = self.drop(self.project_image(image), training)
        mh, history_weights = self.attend_history(mq, history, mask=visible)
        query = self.drop(ops.concatenate([mq, mh], axis=-1), training)
        v, image_weights = self.attend_image(query, image, memory_mask=masks[2])
        fused = ops.concatenate([query, v], axis=-1)  # (B, R, 3 * units)
        encoding = self.project(self.drop(fused, training))
        weights = {"history": history_weights, "image": image_weights}
        return encoding, state, weights


@keras.saving.register_keras_serializable(package="tfcap")
class HREAEncoder(AttendingEncoder):
    """Encodes question and image per round, then the rounds by an LSTM.

    ```
    v = mean over positions of tanh(image @ Wv)
    mq = lstm([word, v] for each word of the question)
    mh = attend(query=mq, memory=lstm(history rows up to the question's))
    state = dialog_lstm([mq, mh], previous round's state)
    encoding = tanh(state @ We)
    ```

    A single question is the only round of its dialog: it attends to the
    history, but the dialog's LSTM has no earlier state.

    Args:
        units: Integer, size of the recurrent states and of what is attended.
            Defaults to `512`.
        query_initializer: Initializer, see `QueryAttention`. Defaults to
            `"glorot_uniform"`.
        **kwargs: Those of `DialogEncoder`. With `return_attention`, weights
            are `{"history": (B, R, H)}`.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.HREAEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5. The attention is the
      additive one of `QueryAttention`, and the image the mean of its
      positions.
    """

    def __init__(self, units: int = 512, **kwargs):
        super().__init__(units, **kwargs)
        self.read_dialog = MaskedLSTM(
            self.units,
            return_sequences=True,
            name="dialog",
            dtype=self.dtype_policy,
        )

    def build(self, question_shape, history_shape, image_shape):
        units = self.units
        width = question_shape[-1] + units
        question_shape = (None, None, question_shape[-2], width)
        self.build_inputs(question_shape, history_shape, image_shape)
        self.attend_history.build((None, None, units), (None, None, units))
        self.read_dialog.build((None, None, 2 * units))
        self.project.build((None, None, units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        v = mean_of_positions(self.project_image(image), masks[2])
        v = v[:, None, None]
        v = self.drop(v, training)
        v = ops.broadcast_to(v, (*ops.shape(question)[:-1], self.units))
        words = ops.concatenate([question, v], axis=-1)  # (B, R, T, E + units)
        mq, state = self.read_question(words, mask=masks[0])
        history = self.read_history(history, mask=masks[1])  # (B, H, units)
        mh, weights = self.attend_history(mq, history, mask=visible)
        fused = self.drop(ops.concatenate([mq, mh], axis=-1), training)
        encoding = self.project(self.drop(self.read_dialog(fused), training))
        return encoding, state, {"history": weights}


@keras.saving.register_keras_serializable(package="tfcap")
class LateFusionEncoder(DialogEncoder):
    """Encodes question, history and image separately and joins them.

    ```
    mq = lstm(question)
    mh = lstm(history rows 0 .. r, one after the other, as one text)
    v = mean over positions of tanh(image @ Wv)
    encoding = tanh([mq, mh, v] @ We)
    ```

    The history of all rounds is read once: round `r` takes the state at the
    end of row `r`.

    Args:
        units: Integer, size of the recurrent states. Defaults to `512`.
        **kwargs: Those of `DialogEncoder`; there are no attention weights.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.LateFusionEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5. There the image is one
      vector; here it is the mean of its positions.
    """

    def __init__(self, units: int = 512, **kwargs):
        super().__init__(units, **kwargs)
        self.read_history = SequenceEncoder(
            self.units,
            return_sequences=True,
            dtype=self.dtype_policy,
            name="history",
        )

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        self.project.build((None, None, 3 * self.units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        mq, state = self.read_question(question, mask=masks[0])
        mh = self._read_rows(history, masks[1])
        if question.shape[1] == 1:
            # A single question reads the text to its end.
            mh = mh[:, -1:]
        v = mean_of_positions(self.project_image(image), masks[2])[:, None]
        v = ops.broadcast_to(v, ops.shape(mq))
        fused = ops.concatenate([mq, mh, v], axis=-1)
        return self.project(self.drop(fused, training)), state, {}

    def _read_rows(self, history, mask):
        """Returns the state at the end of each row: `(B, H, units)`."""
        batch, rows, steps, features = ops.shape(history)
        if mask is None:
            mask = ops.ones((batch, rows, steps), dtype="bool")
        states = self.read_history(
            ops.reshape(history, (batch, rows * steps, features)),
            mask=ops.reshape(mask, (batch, rows * steps)),
        )
        # A masked step repeats the state before it, so that a row's last
        # step has the state after the row's last word.
        states = ops.reshape(states, (batch, rows, steps, self.units))
        return states[:, :, -1]


@keras.saving.register_keras_serializable(package="tfcap")
class MemoryNetworkEncoder(DialogEncoder):
    """Looks up the facts of the history by dot products.

    ```
    v = mean over positions of tanh(image @ Wv)
    query = tanh([lstm(question), v] @ Wq)
    facts = lstm(history rows up to the question's)
    weights = softmax(facts @ query)
    encoding = tanh((query + tanh((weights @ facts) @ Wf)) @ We)
    ```

    Args:
        units: Integer, size of the recurrent states. Defaults to `512`.
        **kwargs: Those of `DialogEncoder`. With `return_attention`, weights
            are `{"history": (B, R, H)}`.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.MemoryNetworkEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5. The image is the mean
      of its positions.
    """

    def __init__(self, units: int = 512, **kwargs):
        super().__init__(units, **kwargs)
        self.project_query, self.project_fact = (
            keras.layers.Dense(
                self.units,
                activation="tanh",
                dtype=self.dtype_policy,
                name=name,
            )
            for name in ("query", "fact")
        )

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        self.project_query.build((None, None, 2 * self.units))
        self.project_fact.build((None, None, self.units))
        self.project.build((None, None, self.units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        mq, state = self.read_question(question, mask=masks[0])
        facts = self.read_history(history, mask=masks[1])  # (B, H, units)
        v = mean_of_positions(self.project_image(image), masks[2])[:, None]
        v = ops.broadcast_to(v, ops.shape(mq))
        query = ops.concatenate([mq, v], axis=-1)
        query = self.project_query(self.drop(query, training))
        scores = ops.matmul(query, ops.swapaxes(facts, 1, 2))  # (B, R, H)
        weights = masked_softmax(scores, visible)
        fact = ops.matmul(weights, facts)
        fact = self.project_fact(self.drop(fact, training))
        encoding = self.project(self.drop(query + fact, training))
        return encoding, state, {"history": weights}
