"""A discriminator that ranks answers in a visual dialog."""

import threading
import weakref
from typing import Any

import keras
from keras import ops

from tfcap._ops import map_distinct
from tfcap._ops import num_replicas
from tfcap._ops import sequence_mask
from tfcap._ops import sum_over_replicas
from tfcap._ops import without_start
from tfcap._ops.arguments import config_of
from tfcap.layers import SoftEmbedding
from tfcap.models.inputs import dialog_shapes
from tfcap.models.inputs import encode_dialog
from tfcap.models.inputs import with_parts
from tfcap.models.inputs import word_ids

_THREAD = threading.local()


def _of_this_thread():
    """Penalties that replicas in this thread have added, by network."""
    if not hasattr(_THREAD, "penalties"):
        _THREAD.penalties = weakref.WeakKeyDictionary()
    return _THREAD.penalties


@keras.saving.register_keras_serializable(package="tfcap")
class DialogDiscriminator(keras.Model):
    """Scores candidate answers to every question of a dialog.

    ```
    score = e . f(answer)
    ```

    with `e` the encoding of question, history and image, and `f` of an answer.
    Trains under `compile(loss=tfcap.losses.NPairLoss())`. Answers may be
    tokens or word distributions, so that a generator can be trained through
    it. Each distinct answer of a batch is read once.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        encoder: A dialog encoder such as `tfcap.layers.HCIAEEncoder`, made
            with `return_state=False`.
        answer_encoder: `tfcap.layers.AnswerEncoder` with the same output units.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `300`.
        norm_regularizer: `keras.regularizers.Regularizer` of embeddings, as
            for `activity_regularizer=`, such as
            `tfcap.losses.EmbeddingNorm()`; or `None`.
        embeddings_initializer: Initializer of the embedding table.
        eos: Integer, id of the end token. Defaults to `2`.
        bos: Integer, id of the start token, which is left out at the
            beginning of options. Optional.

    Call arguments:
        inputs: Dict of `question` `(B, R, Tq)`, `history` `(B, R, Th)` and
            `options` `(B, R, N, T)` integers padded with 0, `image`
            `(B, P, D)` floats, and optionally `image_mask` `(B, P)`.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(B, R, N)`.

    Example:

    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50,
    ...     tfcap.layers.LateFusionEncoder(8),
    ...     tfcap.layers.AnswerEncoder(8),
    ...     embedding_units=6,
    ... )
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "options": np.array([[[[5, 2], [6, 2], [7, 2]]]]),
    ... }
    >>> discriminator(batch).shape
    TensorShape([1, 1, 3])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.2. The released
      code keeps the end token out of the answer's attention; here the answer
      attends to it, so that its length can be judged.
    """

    def __init__(
        self,
        vocabulary_size: int,
        encoder: keras.layers.Layer,
        answer_encoder: keras.layers.Layer,
        embedding_units: int = 300,
        norm_regularizer: Any = None,
        embeddings_initializer: Any = "uniform",
        eos: int = 2,
        bos: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        # How many answers are distinct depends on the data, which XLA does
        # not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        units = [e.output_units or e.units for e in (encoder, answer_encoder)]
        if units[0] != units[1]:
            raise ValueError(
                "`encoder` and `answer_encoder` must have equal output units, "
                "since a score is their dot product. Received: "
                f"{units[0]} and {units[1]}."
            )
        if encoder.return_state:
            raise ValueError(
                "`encoder` must be made with `return_state=False` for a "
                f"discriminator. Received: encoder={encoder!r}."
            )
        self.vocabulary_size = vocabulary_size
        self.encoder = encoder
        self.answer_encoder = answer_encoder
        self.embedding_units = embedding_units
        self.norm_regularizer = keras.regularizers.get(norm_regularizer)
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.bos, self.eos = bos, eos
        self.embedding = SoftEmbedding(
            vocabulary_size,
            embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            name="embedding",
            dtype=self.dtype_policy,
        )

    def build(self, input_shape):
        units = self.embedding_units
        question, history, image = dialog_shapes(input_shape)
        self.embedding.build(question)
        # A saved encoder comes back built.
        if not self.encoder.built:
            self.encoder.build((*question, units), (*history, units), image)
        if not self.answer_encoder.built:
            self.answer_encoder.build((None, None, units))

    def call(self, inputs, training=False):
        anchor = self.encode(inputs, training=training)
        options = word_ids(inputs, "options", "B R N T")
        options = without_start(options, self)
        scores, answers = self.score(anchor, options, training)
        own = _of_this_thread()
        own.pop(self, None)
        if training and self.norm_regularizer is not None:
            penalty = self.penalty(anchor, answers, options)
            self.add_loss(penalty)
            if num_replicas() > 1:
                own[self] = penalty
        return ops.reshape(scores, (-1, *ops.shape(options)[1:3]))

    def _get_own_losses(self):
        # Keras keeps what is added in one list, clears it at the start of a
        # call and reads it after the loss. Replicas are threads that share
        # the list and take turns wherever one waits for the others, as in
        # the penalty and in the loss.
        if num_replicas() == 1:
            return super()._get_own_losses()
        own = _of_this_thread()
        return [own[self]] if self in own else []

    def score(
        self, anchor: Any, options: Any, training: bool = False
    ) -> tuple[Any, Any]:
        """Scores the options of encoded questions.

        Args:
            anchor: Float tensor of shape `(B * R, D)`, from `encode()`.
            options: Integer tensor of shape `(B, R, N, T)`.
            training: Boolean.

        Returns:
            Scores, float32 of shape `(B * R, N)`, and the options'
            embeddings, of shape `(B * R, N, D)`.
        """
        _, _, candidates, length = ops.shape(options)
        answers = map_distinct(
            lambda rows: self.embed(
                rows[:, None], sequence_mask(rows, self.eos)[:, None], training
            )[:, 0],
            ops.reshape(options, (-1, length)),
        )
        answers = ops.reshape(answers, (-1, candidates, answers.shape[-1]))
        scores = ops.einsum(
            "bd,bnd->bn",
            ops.cast(anchor, "float32"),
            ops.cast(answers, "float32"),
        )
        return scores, answers

    def penalty(self, anchor: Any, answers: Any, options: Any) -> Any:
        """Returns the norm penalty of embeddings; 0 without a regularizer.

        Options without a word are absent, and so are rounds without an
        option. They count as zeros for a regularizer without a method
        `masked(x, mask)`, which `tfcap.losses.EmbeddingNorm` has.

        Args:
            anchor: Float tensor of shape `(B * R, D)`.
            answers: Float tensor of shape `(B * R, N, D)`.
            options: Integer tensor of shape `(B, R, N, T)`.

        Returns:
            Float scalar tensor, of all replicas.
        """
        if self.norm_regularizer is None:
            return 0.0
        # (B, R, N) -> (B * R, N): options with a word; then their rounds.
        present = ops.any(ops.not_equal(options, 0), axis=-1)
        present = ops.reshape(present, (-1, ops.shape(options)[2]))
        norm, rounds = self.norm_regularizer, ops.any(present, axis=-1)
        parts = (anchor, rounds), (answers, present)
        # As Keras treats an activity regularizer: its value is a sum over
        # rows.
        if hasattr(norm, "masked"):
            rows = ops.cast(ops.shape(anchor)[0], "float32")
            return sum(norm.masked(*part) for part in parts) / rows
        total = sum(norm(ops.where(m[..., None], x, 0)) for x, m in parts)
        rows = sum_over_replicas(ops.sum(ops.cast(rounds, "float32")))
        return sum_over_replicas(total) / ops.maximum(rows, 1)

    def encode(self, inputs: dict, training: bool = False) -> Any:
        """Encodes questions, histories and images: `e`, `(B * R, D)`."""
        encoded = encode_dialog(self.encoder, self.embedding, inputs, training)
        return ops.reshape(encoded, (-1, encoded.shape[-1]))

    def embed(self, answers: Any, mask: Any, training: bool = False) -> Any:
        """Embeds answers: `f`.

        Args:
            answers: Integer tensor of shape `(B, S, T)`, or distributions
                over words of shape `(B, S, T, V)`.
            mask: Float tensor of shape `(B, S, T)`.
            training: Boolean.

        Returns:
            Float tensor of shape `(B, S, D)`.
        """
        return self.answer_encoder(
            self.embedding(answers),
            mask=ops.cast(mask, "bool"),
            training=training,
        )

    def get_config(self):
        names = (
            "vocabulary_size encoder answer_encoder embedding_units "
            "norm_regularizer embeddings_initializer bos eos"
        )
        return {**super().get_config(), **config_of(self, names)}

    @classmethod
    def from_config(cls, config):
        names = "encoder", "answer_encoder", "norm_regularizer"
        return cls(**with_parts(config, *names))
