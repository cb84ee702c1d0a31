"""The loop of a graph that decodes word after word, and the pass after it."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.logits_processors import check_logits
from tfcap.decoding.speaker import step_by_step
from tfcap.ops import is_end
from tfcap.ops import repeat_samples
from tfcap.ops import token_log_probs

#: Words up to which a speaker is unrolled, if it has no attribute `unroll`.
UNROLLED_WORDS = 32

_REMEDY = (
    "Give the speaker `fixed_state(state, steps)`, see "
    "`tfcap.decoding.Speaker`, or decode with `unroll=True`."
)


def unrolls(speaker: Any, state: Any, length: int, reads_logits: bool) -> bool:
    """Chooses how to decode where the user leaves it open.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors with leading axis `B`, from `begin()`.
        length: Integer `T`.
        reads_logits: Boolean, whether the pass after a loop reads logits.

    Returns:
        The speaker's attribute `unroll` if there is one. Else true, but for
        sequences of more than `UNROLLED_WORDS` words of a speaker that a loop
        can call, and that scores words in one pass.
    """
    own = getattr(speaker, "unroll", None)
    if own is not None or length <= UNROLLED_WORDS:
        return own is None or bool(own)
    method = "logits" if reads_logits else "log_probs"
    if not _has(speaker, method):
        return True
    if hasattr(speaker, "fixed_state"):
        return False
    words = ops.full((_rows(state),), speaker.bos, dtype="int32")
    return not _alike(state, speaker.step(words, state, training=False)[1])


def state_of_loop(
    speaker: Any, state: Any, steps: int, num_samples: int
) -> Any:
    """Returns the first state of a loop, for every sample."""
    state = keras.tree.map_structure(ops.stop_gradient, state)
    if hasattr(speaker, "fixed_state"):
        state = speaker.fixed_state(state, steps)
    state = repeat_samples(state, num_samples)
    return keras.tree.map_structure(ops.convert_to_tensor, state)


def keep_shapes(speaker: Any, before: Any, after: Any) -> Any:
    """Returns the state after a step with the static shapes of that before.

    Raises:
        ValueError: If it has others.
    """
    if not _alike(before, after):
        raise ValueError(
            "`speaker.step()` must return a state of the shapes and types that "
            f"it was given, for `unroll=False`. Received: speaker={speaker!r}. "
            f"{_REMEDY}"
        )
    return keras.tree.map_structure(like, after, before)


def speak_in_loop(
    speaker: Any,
    state: Any,
    draw: Callable,
    *,
    num_samples: int,
    max_length: int,
    logits_processors: LogitsProcessors,
) -> tuple[Any, Any, Any]:
    """Speaks without gradient until all sequences have ended.

    A step is traced once, however many there are. There is no dropout.

    Args:
        speaker, state, num_samples, max_length, logits_processors: As of
            `unroll()`.
        draw: Callable from logits `(n, V)` and the step to ids `(n,)`.

    Returns:
        Tokens of shape `(n, T)`, their mask, and their log probabilities.
    """
    state = state_of_loop(speaker, state, max_length, num_samples)
    rows, pad = _rows(state), getattr(speaker, "pad", 0)
    places = ops.arange(max_length, dtype="int32")

    def body(t, words, alive, length, tokens, scores, leaves):
        before = keras.tree.pack_sequence_as(state, leaves)
        logits, after = speaker.step(words, before, training=False)
        check_first(logits, speaker, t)
        after = keep_shapes(speaker, before, after)
        logits = logits_processors.apply_at(logits[:, None], tokens, t[None])
        ids = ops.cast(draw(logits[:, 0], t), "int32")
        here = ops.logical_and(ops.equal(places, t), alive[:, None])
        log_probs = token_log_probs(logits[:, 0], ids)[:, None]
        ended = ops.logical_or(ops.logical_not(alive), is_end(ids, speaker.eos))
        return (
            t + 1,
            like(ids, words),
            like(ops.logical_not(ended), alive),
            length + ops.cast(alive, "int32"),
            ops.where(here, ids[:, None], tokens),
            ops.where(here, log_probs, scores),
            tuple(keras.tree.flatten(after)),
        )

    start = (
        ops.zeros((), "int32"),
        ops.full((rows,), speaker.bos, dtype="int32"),
        ops.ones((rows,), "bool"),
        ops.zeros((rows,), "int32"),
        ops.full((rows, max_length), pad, dtype="int32"),
        ops.zeros((rows, max_length), "float32"),
        tuple(keras.tree.flatten(state)),
    )
    *_, length, tokens, scores, _ = ops.while_loop(
        lambda t, words, alive, *_: ops.any(alive),
        body,
        start,
        maximum_iterations=max_length,
    )
    mask = ops.cast(places < length[:, None], "float32")
    return tokens, mask, ops.stop_gradient(scores)


def logits_of_words(
    speaker: Any, state: Any, tokens: Any, training: bool
) -> Any:
    """Logits `(B, S, T, V)` before given words, in one pass if possible.

    Arguments are those of `stepwise_log_probs()`.
    """
    if _has(speaker, "logits"):
        return speaker.logits(state, tokens, training=training)
    _, samples, length = tokens.shape
    state = repeat_samples(state, samples)
    rows = ops.reshape(tokens, (-1, length))
    words, columns = ops.full_like(rows[:, 0], speaker.bos), []
    with step_by_step(speaker, ops.shape(rows)[0], length):
        for t in range(length):
            logits, state = speaker.step(words, state, training=training)
            columns.append(logits)
            words = rows[:, t]
    logits = ops.stack(columns, axis=1)
    return ops.reshape(logits, (-1, samples, length, logits.shape[-1]))


class StepSeeds:
    """Seeds of a channel by step, so that a loop draws as an unrolled decode.

    Args:
        channel: `tfcap.layers.WordChannel`.
        shape: Shape `(n, V)` of the logits of a step.
    """

    def __init__(self, channel: Any, shape: tuple):
        self.channel = channel
        self.shape = shape
        self.generator = channel.seed_generator
        self.state = ops.copy(self.generator.state)
        with self.generator.replayed(self.state, 0) as calls:
            channel.draw(ops.zeros(shape))
        self.calls = calls()

    def draw(self, logits: Any, step: Any) -> Any:
        """Draws the words `(n,)` of a step."""
        with self._at(step):
            return self.channel.draw(logits)[1]

    def noise(self, steps: int) -> Any:
        """Draws the noise of all steps again, `(T, ...)`."""

        def of_step(step):
            with self._at(step):
                return self.channel.noise(self.shape)

        return ops.map(of_step, ops.arange(steps, dtype="int32"))

    def skip(self, steps: int) -> None:
        """Moves the channel's seeds on by so many steps."""
        self.generator.skip(self.calls * steps)

    def _at(self, step):
        return self.generator.replayed(self.state, step * self.calls)


def _rows(state):
    return ops.shape(keras.tree.flatten(state)[0])[0]


def _has(speaker, method):
    # A network may name a layer of its own `logits`.
    found = getattr(speaker, method, None)
    return callable(found) and not isinstance(found, keras.layers.Layer)


def _alike(before, after):
    """Check whether two states have the same structure, shapes and types."""
    before, after = map(keras.tree.flatten_with_path, (before, after))
    if [path for path, _ in before] != [path for path, _ in after]:
        return False
    return all(
        len(x.shape) == len(y.shape)
        and all(m == n or None in (m, n) for m, n in zip(x.shape, y.shape))
        and keras.backend.standardize_dtype(x.dtype)
        == keras.backend.standardize_dtype(y.dtype)
        for (_, x), (_, y) in zip(before, after)
    )


def like(tensor: Any, other: Any) -> Any:
    """The same, with the static shape of another, which may tell more."""
    if keras.backend.backend() != "tensorflow":
        return tensor
    import tensorflow as tf

    return tf.ensure_shape(tensor, other.shape)


def check_first(logits: Any, speaker: Any, step: Any) -> None:
    """Checks what a speaker returns, by value in the first step alone."""
    if isinstance(step, int):
        return check_logits(logits, speaker) if step == 0 else None
    if keras.backend.backend() != "tensorflow":
        return

    def check():
        check_logits(logits, speaker)
        return ops.ones((), "bool")

    ops.cond(ops.equal(step, 0), check, lambda: ops.ones((), "bool"))
