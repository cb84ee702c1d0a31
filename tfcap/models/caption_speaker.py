"""Base class of the speakers that caption an image."""

import keras
from keras import ops

from tfcap.layers import SoftEmbedding
from tfcap.models.inputs import entry
from tfcap.models.inputs import image_features
from tfcap.models.inputs import word_ids
from tfcap.models.packed_scores import packed_scores
from tfcap.models.stepwise import decoding
from tfcap.models.vocabulary_head import VocabularyHead
from tfcap.ops import check_shape
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import token_log_probs


class CaptionSpeaker(keras.Model):
    """Says what an image shows, word by word.

    What all caption speakers share: words in, as ids or as distributions over
    words, through one embedding; words out, through one head. Between them
    stands a network of the subclass: override `look()`, which reads the image,
    and `advance()`, which reads one word; and `word_inputs()`, what of a word
    does not depend on the words before. The model is a
    `tfcap.decoding.Speaker` whose B rows are images.

    Given words are scored in one pass, without their padding: they are
    embedded, and weighed by the head, all at once; only `advance()` goes step
    by step. A network that reads many words at once overrides `read()` and
    `score()` as well.

    Called on a batch, it returns teacher-forced logits, so that it also trains
    under `compile(loss=tfcap.losses.SequenceCrossentropy())`.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of what enters the vocabulary head.
        embedding_units: Integer, size of a word's embedding.
        dropout: Float, rate on what enters the vocabulary head. Defaults to
            `0.0`.
        word_dropout: Float, rate on the embedded words. Defaults to `0.0`.
        image_dropout: Float, rate on the image. Defaults to `0.0`.
        embedding_activation: Activation of the embedded words, or `None`.
        embeddings_initializer: Initializer of the embedding table.
        logit_scale: Float, factor on the logits. Defaults to `1.0`.
        bos: Integer, id of the start token. Defaults to `1`.
        eos: Integer, id of the end token. Defaults to `2`.

    Call arguments:
        inputs: Dict of `image`, `(B, P, D)` floats, one row for each position,
            `P = 1` where features are pooled; `caption`, `(B, S, T)` integers
            padded with 0; and optionally `image_mask`, `(B, P)`, nonzero where
            there is a position.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(B, S, T, V)`: logits of the words of
        `caption`. Padding and the start token are never said.
    """

    def __init__(
        self,
        vocabulary_size,
        units,
        embedding_units,
        dropout=0.0,
        word_dropout=0.0,
        image_dropout=0.0,
        embedding_activation=None,
        embeddings_initializer="uniform",
        logit_scale=1.0,
        bos=1,
        eos=2,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # Given words are packed, and how many there are depends on the data.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embedding_units = embedding_units
        self.embedding_activation = keras.activations.get(embedding_activation)
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.logit_scale = logit_scale
        self.bos = bos
        self.eos = eos
        self.embedding = SoftEmbedding(
            vocabulary_size,
            embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            mask_zero=False,
            name="embedding",
        )
        self.dropout = keras.layers.Dropout(dropout)
        self.word_dropout = keras.layers.Dropout(word_dropout)
        self.image_dropout = keras.layers.Dropout(image_dropout)
        self.head = VocabularyHead(
            vocabulary_size, unsaid=(0, bos), scale=logit_scale, name="head"
        )

    def look(self, image, mask, training=False):
        """Reads images.

        Args:
            image: Float tensor of shape `(B, P, D)`.
            mask: Tensor of shape `(B, P)`, nonzero where there is a position,
                or `None` where there is everywhere.
            training: Boolean.

        Returns:
            The first state: nest of tensors with leading axis `B`.
        """
        raise NotImplementedError

    def word_inputs(self, embedded):
        """What a step reads of a word: `(..., embedding_units)` to `(..., G)`.

        Called on all words of a batch at once. Defaults to the embedding.
        """
        return embedded

    def advance(self, inputs, state, training=False):
        """Reads one word.

        Args:
            inputs: Float tensor of shape `(B, G)`, of `word_inputs()`.
            state: What `look()` or the last `advance()` returned.
            training: Boolean.

        Returns:
            Float tensor of shape `(B, units)`, which the head reads, and the
            next state.
        """
        raise NotImplementedError

    def build(self, input_shape):
        self.embedding.build((None,))
        self.head.build((None, self.units))
        self.build_network(tuple(entry(input_shape, "image", "B P D")))

    def build_network(self, image_shape):
        """Builds the layers of the subclass.

        Args:
            image_shape: Tuple `(B, P, D)`.
        """
        raise NotImplementedError

    def call(self, inputs, training=False):
        tokens = self.references(inputs)
        _, samples, length = tokens.shape
        state = self.begin(inputs, training=training)
        hidden = self.teacher_forced(
            repeat_samples(state, samples), word_rows(tokens), training
        )
        logits = self.weigh(hidden, training)
        shape = (-1, samples, length, self.vocabulary_size)
        return ops.reshape(logits, shape)

    def references(self, inputs):
        """The human captions: `(B, S, T)`."""
        return word_ids(inputs, "caption", "B S T")

    def begin(self, inputs, training=False):
        """Reads images: the first state."""
        mask = None
        if "image_mask" in inputs:
            mask = entry(inputs, "image_mask", "B P")
        return self.look(image_features(inputs), mask, training=training)

    def step(self, words, state, training=False):
        """Reads one word, and weighs the next: logits `(B, V)`."""
        inputs = self.word_inputs(self.embed(words, training))
        hidden, state = self.advance(inputs, state, training=training)
        return self.weigh(hidden, training), state

    def decoding(self, rows, steps):
        """See `tfcap.decoding.decoding()`."""
        return decoding(self, rows, steps)

    def log_probs(self, state, tokens, training=False):
        """Scores given words in one pass: `(B, S, T)` to `(B, S, T)`."""
        check_shape(tokens, "B S T", "tokens")
        _, samples, length = tokens.shape
        rows = word_rows(tokens)
        scores = self.score(
            repeat_samples(state, samples),
            rows,
            sequence_mask(rows, self.eos),
            training=training,
        )
        return ops.reshape(scores, (-1, samples, length))

    def score(self, state, rows, mask, training=False):
        """Scores given words of as many states.

        Args:
            state: Nest of tensors with leading axis `n`.
            rows: Integer tensor of shape `(n, T)`.
            mask: Float tensor of shape `(n, T)`, nonzero where a word counts.
            training: Boolean.

        Returns:
            Float32 tensor of shape `(n, T)`, 0 under the mask.
        """
        if keras.backend.backend() == "tensorflow":
            return packed_scores(self, state, rows, mask, training)
        logits = self.weigh(
            self.teacher_forced(state, rows, training), training
        )
        return token_log_probs(logits, rows) * mask

    def embed(self, words, training=False):
        """Embeds ids `(...)`, or distributions `(..., V)`."""
        embedded = self.embedding_activation(self.embedding(words))
        return self.word_dropout(embedded, training=training)

    def read(self, embedded, state, training=False):
        """Reads given words: `(n, T, embedding_units)` to `(n, T, units)`."""
        inputs, outputs = self.word_inputs(embedded), []
        for word in ops.unstack(inputs, embedded.shape[1], axis=1):
            output, state = self.advance(word, state, training=training)
            outputs.append(output)
        return ops.stack(outputs, axis=1)

    def weigh(self, hidden, training=False):
        """Weighs words: `(..., units)` to logits `(..., V)`."""
        return self.head(self.dropout(hidden, training=training))

    def teacher_forced(self, state, rows, training=False):
        """What the head reads, `(n, T, units)`, of given words `(n, T)`."""
        start = ops.full_like(rows[:, :1], self.bos)
        words = ops.concatenate([start, rows[:, :-1]], axis=1)
        return self.read(self.embed(words, training), state, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "embedding_units": self.embedding_units,
            "dropout": self.dropout.rate,
            "word_dropout": self.word_dropout.rate,
            "image_dropout": self.image_dropout.rate,
            "embedding_activation": keras.activations.serialize(
                self.embedding_activation
            ),
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
            "logit_scale": self.logit_scale,
            "bos": self.bos,
            "eos": self.eos,
        }


def word_rows(tokens):
    """Words `(B, S, T)` as rows `(B * S, T)`, int32."""
    return ops.cast(ops.reshape(tokens, (-1, tokens.shape[-1])), "int32")
