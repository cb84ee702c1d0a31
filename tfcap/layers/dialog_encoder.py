"""Base class of the encoders of a visual dialog."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import check_shape
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_rate
from tfcap.layers.sequence_encoder import SequenceEncoder


class DialogEncoder(keras.layers.Layer):
    """Encodes the questions of a dialog, its history and its image.

    All rounds of a dialog are encoded in one call, and are causal: history
    row `r` is the round just before question `r` (row 0 the caption), and
    question `r` sees rows `0` to `r`. A single question sees all rows it is
    given.

    To write an encoder, override `fuse()`, and `build()` for its layers.

    Args:
        units: Integer, size of the recurrent states and of what is attended.
            Defaults to `512`.
        output_units: Integer, size of the encoding, or `None` for `units`.
        dropout: Float in `[0, 1)`, rate of dropout after each fusion; 0.5 in
            the published models. Defaults to `0.0`.
        return_state: Boolean, whether to return the final state of the
            question's LSTM too, from which a decoder may start. Defaults to
            `False`.
        return_attention: Boolean, whether to return the attention weights
            too, as a dictionary. Defaults to `False`.
        seed: Integer, optional seed of the dropout.

    Call arguments:
        question: Float tensor of embedded words, of shape `(B, R, T, E)`, or
            `(B, T, E)` for one question a dialog.
        history: Float tensor of embedded words, of shape `(B, H, T, E)`; with
            questions of `R` rounds, `H` is `R`.
        image: Float tensor of shape `(B, P, D)`.
        question_mask: Tensor of the shape of `question` less its last axis,
            nonzero where there is a word. The masks of a `SoftEmbedding`
            arrive by themselves.
        history_mask: Tensor of shape `(B, H, T)`. A row without words is not
            looked at.
        image_mask: Tensor of shape `(B, P)`, nonzero where the image has a
            position. Defaults to `None` for all.
        training: Boolean, whether to drop out.

    Returns:
        Float tensor of shape `(B, R, output_units)`, or `(B, output_units)`
        for one question. With `return_state` or `return_attention` a tuple of
        that, `[h, c]` of shape `(B, R, units)` each, and a dictionary with
        weights of shape `(B, R, H)` and `(B, R, P)`.
    """

    attends = ()

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
        if return_attention and not self.attends:
            raise ValueError(
                f"`return_attention` needs an encoder that attends. "
                f"Received: return_attention=True for {type(self).__name__}."
            )
        self.units = units
        if output_units is not None:
            output_units = checked_integer(output_units, "output_units")
        self.output_units = output_units
        self.dropout = dropout
        self.return_state = return_state
        self.return_attention = return_attention
        self.seed = seed
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
                a question may see a row.
            training: Boolean.

        Returns:
            `(encoding, [h, c], attention)` as in the class's Returns.
        """
        raise NotImplementedError

    def build_inputs(
        self, question_shape: tuple, history_shape: tuple, image_shape: tuple
    ) -> None:
        """Builds the layers that every encoder has but `project`."""
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
        if not training or self.dropout == 0.0:
            return inputs
        return keras.random.dropout(
            inputs, self.dropout, seed=self.seed_generator
        )

    def compute_mask(self, question, mask=None):
        return None

    def compute_output_shape(self, question_shape, history_shape, image_shape):
        lead = tuple(question_shape[:-2])
        outputs = [(*lead, self.output_units or self.units)]
        if self.return_state:
            outputs.append([(*lead, self.units), (*lead, self.units)])
        if self.return_attention:
            sizes = {"history": history_shape[1], "image": image_shape[1]}
            outputs.append({x: (*lead, sizes[x]) for x in self.attends})
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "output_units": self.output_units,
            "dropout": self.dropout,
            "return_state": self.return_state,
            "return_attention": self.return_attention,
            "seed": self.seed,
        }


def _check_inputs(question, history, image, single):
    check_shape(question, "B R T E", "question")
    check_shape(history, "B H T E", "history")
    check_shape(image, "B P D", "image")
    rounds, rows = question.shape[1], history.shape[1]
    if not single and None not in (rounds, rows) and rounds != rows:
        raise ValueError(
            "`history` must have one row a round of `question`. Received: "
            f"question.shape={tuple(question.shape)}, "
            f"history.shape={tuple(history.shape)}."
        )


def _visible_rows(question, history, history_mask, causal):
    """Mask of the rows that a question sees: broadcasts to `(B, R, H)`."""
    rounds, rows = ops.shape(question)[1], ops.shape(history)[1]
    visible = ops.ones((1, 1, rows), dtype="bool")
    if causal:
        visible = ops.arange(rows)[None] <= ops.arange(rounds)[:, None]
        visible = visible[None]
    if history_mask is not None:
        words = ops.any(ops.cast(history_mask, "bool"), axis=-1)
        visible = ops.logical_and(visible, words[:, None])
    return visible
