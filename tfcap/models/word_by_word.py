"""What networks share that say one word after another."""

import keras
from keras import ops

from tfcap.layers import SoftEmbedding
from tfcap.layers.stepwise import decoding_layers
from tfcap.models.dropout import uses_training
from tfcap.models.packed_scores import packed_scores
from tfcap.models.vocabulary_head import VocabularyHead
from tfcap.ops import check_shape
from tfcap.ops import repeat_samples
from tfcap.ops import sequence_mask
from tfcap.ops import token_log_probs
from tfcap.ops.arguments import checked_integer


class WordByWord(keras.Model):
    """Base class of speakers with one embedding, and one vocabulary head.

    Words go in as ids or as distributions over words, and come out as logits;
    between them stands `advance()` of the subclass, which reads one word, and
    `word_inputs()`, what of a word does not depend on the words before.

    Given words are scored in one pass, without their padding: they are
    embedded, and weighed by the head, all at once; only `advance()` goes step
    by step. A network that reads many words at once overrides `read()` and
    `score()` as well.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        embedding_units: Integer, size of a word's embedding.
        dropout: Float, rate on what enters the vocabulary head.
        embeddings_initializer: Initializer of the embedding table.
        mask_zero: Boolean, whether embedded ids have a mask of their padding.
        logit_scale: Float, factor on the logits.
        bos: Integer, id of the start token.
        eos: Integer, id of the end token.
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_units,
        dropout,
        embeddings_initializer,
        mask_zero,
        logit_scale,
        bos,
        eos,
        **kwargs,
    ):
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
        self.embedding = SoftEmbedding(
            vocabulary_size,
            embedding_units,
            embeddings_initializer=self.embeddings_initializer,
            mask_zero=mask_zero,
            name="embedding",
        )
        self.dropout = keras.layers.Dropout(dropout)
        self.head = VocabularyHead(
            vocabulary_size, unsaid=(0, bos), scale=logit_scale, name="head"
        )

    def layers_of_words(self):
        """Tuple of the layers with dropout that `begin()` does not call."""
        return (self.dropout,)

    @property
    def begin_uses_training(self):
        """True if `begin(training=True)` may differ from inference."""
        of_words = [id(layer) for layer in self.layers_of_words()]
        return any(
            uses_training(layer)
            for layer in self._flatten_layers()
            if id(layer) not in of_words
        )

    @property
    def unsaid(self):
        """Tuple of integers, ids that its logits rule out."""
        return self.head.unsaid

    def word_inputs(self, embedded):
        """What a step reads of a word: `(..., embedding_units)` to `(..., G)`.

        Called on all words of a batch at once. Defaults to the embedding.
        """
        return embedded

    def advance(self, inputs, state, training=False):
        """Reads one word.

        Args:
            inputs: Float tensor of shape `(n, G)`, of `word_inputs()`.
            state: Nest of tensors with leading axis `n`, of the words before.
            training: Boolean.

        Returns:
            Float tensor of shape `(n, units)`, which the head reads, and the
            next state.
        """
        raise NotImplementedError

    def step(self, words, state, training=False):
        """Reads one word, and weighs the next: logits `(B, V)`."""
        inputs = self.word_inputs(self.embed(words, training))
        hidden, state = self.advance(inputs, state, training=training)
        return self.weigh(hidden, training), state

    def decoding(self, rows, steps):
        """See `tfcap.decoding.step_by_step()`."""
        return decoding_layers(self, rows, steps)

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
        return self.embedding(words)

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
            "embedding_units": self.embedding_units,
            "dropout": self.dropout.rate,
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
