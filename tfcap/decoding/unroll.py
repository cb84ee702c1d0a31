"""The one loop that says word after word."""

import keras
from keras import ops

from tfcap.decoding.logits import check_logits
from tfcap.decoding.restrictions import NONE
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.speaker import state_vector
from tfcap.decoding.speaker import step_by_step
from tfcap.ops import repeat_samples
from tfcap.ops import token_log_probs
from tfcap.ops.word_vectors import mask_words
from tfcap.ops.word_vectors import stack_words


def unroll(
    speaker,
    state,
    draw,
    *,
    num_samples,
    max_length,
    relaxed,
    training,
    restrictions=NONE,
    keep_states=False,
):
    """Speaks until every sequence has ended or `max_length` is reached.

    Unrolled in Python: on CPU, sequences of a few dozen words run faster so
    than in a loop of the graph.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        state: Nest of tensors with leading axis `B`.
        draw: Callable from logits `(n, V)` to words `(n, V)` and ids `(n,)`.
        num_samples: Integer `S`.
        max_length: Integer `T`.
        relaxed: Boolean, whether the speaker is fed the words themselves, so
            that gradients pass from word to word, rather than their ids.
        training: Boolean, passed on to the speaker.
        restrictions: `Restrictions`, what is not said.
        keep_states: Boolean, whether the rollout has `states`.

    Returns:
        `Rollout`, with words, log probabilities and scores.
    """
    state = repeat_samples(state, num_samples)
    restrictions = restrictions.of(speaker)
    rows = ops.shape(keras.tree.flatten(state)[0])[0]
    words = ops.full((rows,), speaker.bos, dtype="int32")
    alive = ops.ones((rows,), dtype="float32")
    columns, states = [], []
    with step_by_step(speaker, rows, max_length):
        for place in range(max_length):
            logits, state = speaker.step(words, state, training=training)
            if place == 0:
                check_logits(logits, speaker)
            if keep_states:
                states.append(ops.stop_gradient(state_vector(speaker, state)))
            told = None
            if columns and restrictions.no_repeat_ngram:
                told = ops.stack([shown for shown, *_ in columns], axis=1)
            logits = restrictions.apply(logits, told)
            vectors, ids = draw(logits)
            log_probs = token_log_probs(logits, ids) * alive
            ids = ops.cast(ids, "int32")
            vectors = mask_words(vectors, alive)
            shown = ids * ops.cast(alive, "int32")
            columns.append((shown, alive, vectors, log_probs))
            alive = alive * ops.cast(ops.not_equal(ids, speaker.eos), "float32")
            words = vectors if relaxed else ids
    tokens, mask, vectors, log_probs = zip(*columns)

    def by_sample(column):
        tensor = ops.stack(column, axis=1)
        return ops.reshape(tensor, (-1, num_samples, *tensor.shape[1:]))

    log_probs = by_sample(log_probs)
    return Rollout(
        by_sample(tokens),
        by_sample(mask),
        stack_words(vectors, num_samples),
        log_probs,
        ops.sum(log_probs, axis=-1),
        states=by_sample(states) if states else None,
    )
