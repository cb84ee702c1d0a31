"""The loop that decodes word after word."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfcap._ops import is_end
from tfcap._ops import repeat_samples
from tfcap._ops import token_log_probs
from tfcap.decoding.logits_processors import NONE
from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.logits_processors import check_logits
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.speaker import state_vector
from tfcap.decoding.speaker import step_by_step
from tfcap.layers._fast import mask_words
from tfcap.layers._fast import stack_words


def unroll(
    speaker: Any,
    state: Any,
    draw: Callable,
    *,
    num_samples: int,
    max_length: int,
    relaxed: bool,
    training: bool,
    logits_processors: LogitsProcessors = NONE,
    keep_states: bool = False,
) -> Rollout:
    """Speaks until every sequence has ended or `max_length` is reached.

    Unrolled in Python: on CPU, sequences of a few dozen words run faster so
    than in a loop of the graph.

    Args:
        speaker, state, training: As of `Decoder.decode()`.
        draw: Callable from logits `(n, V)` to words `(n, V)` and ids `(n,)`.
        num_samples: Integer `S`.
        max_length: Integer `T`.
        relaxed: Boolean, whether the speaker is fed the words themselves, so
            that gradients pass from word to word, rather than their ids.
        logits_processors: `LogitsProcessors`.
        keep_states: Boolean, whether the rollout has `states`.

    Returns:
        `Rollout`, with words, log probabilities and scores.
    """
    state = repeat_samples(state, num_samples)
    processors = logits_processors.for_speaker(speaker)
    rows = ops.shape(keras.tree.flatten(state)[0])[0]  # n = B * S
    words = ops.full((rows,), speaker.bos, dtype="int32")
    alive = ops.ones((rows,), dtype="float32")  # 0 after the end token
    pad = getattr(speaker, "pad", 0)
    columns, states = [], []
    step = _reading_distributions(speaker) if relaxed else speaker.step
    with step_by_step(speaker, rows, max_length):
        for t in range(max_length):
            logits, state = step(words, state, training=training)
            if t == 0:
                check_logits(logits, speaker)
            if keep_states:
                states.append(ops.stop_gradient(state_vector(speaker, state)))
            prefix = None
            if columns and processors.no_repeat_ngram:
                prefix = ops.stack([tokens for tokens, *_ in columns], axis=1)
            logits = processors.apply(logits, prefix)
            vectors, ids = draw(logits)
            # where() rather than a product: after its end, a speaker may have
            # no word to say.
            log_probs = token_log_probs(logits, ids)
            log_probs = ops.where(alive > 0, log_probs, 0.0)
            ids = ops.cast(ids, "int32")
            vectors = mask_words(vectors, alive)
            tokens = ops.where(alive > 0, ids, pad)
            columns.append((tokens, alive, vectors, log_probs))
            ended = is_end(ids, speaker.eos)
            alive = alive * ops.cast(ops.logical_not(ended), "float32")
            words = vectors if relaxed else ids
    tokens, mask, vectors, log_probs = zip(*columns)

    def by_sample(column):
        tensor = ops.stack(column, axis=1)  # (n, T, ...) to (B, S, T, ...)
        return ops.reshape(tensor, (-1, num_samples, *ops.shape(tensor)[1:]))

    log_probs = by_sample(log_probs)
    return Rollout(
        by_sample(tokens),
        by_sample(mask),
        stack_words(vectors, num_samples),
        log_probs,
        ops.sum(log_probs, axis=-1),
        states=by_sample(states) if states else None,
    )


def _reading_distributions(speaker):
    """A speaker's `step()`; names the cause where it reads ids only."""
    if hasattr(speaker, "reads_ids"):
        return speaker.step

    def step(words, state, training):
        try:
            return speaker.step(words, state, training=training)
        except Exception as error:
            if len(words.shape) == 1:
                raise
            raise ValueError(
                '`feedback` must be "index" for a speaker that reads ids only. '
                'Received: feedback="relaxed", by which `step()` of '
                f"{type(speaker).__name__} is given distributions of shape "
                f"{tuple(words.shape)}, and fails: {error}. Embed words by "
                "`tfcap.layers.SoftEmbedding`, or give the speaker an "
                "attribute `reads_ids = True`, which methods obey."
            ) from error

    return step
