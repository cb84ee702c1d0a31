"""The loop of a graph that decodes word after word, and the pass after it."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfcap._ops import is_end
from tfcap._ops import repeat_samples
from tfcap._ops import token_log_probs
from tfcap._ops.sequences import LONGEST_UNROLLED
from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.logits_processors import check_logits
from tfcap.decoding.speaker import state_vector
from tfcap.decoding.speaker import step_by_step
from tfcap.decoding.word_loop import alike
from tfcap.decoding.word_loop import loop_over_words
from tfcap.decoding.word_loop import state_of_loop


def unrolls(speaker: Any, state: Any, length: int, reads_logits: bool) -> bool:
    """Chooses how to decode where the user leaves it open.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors with leading axis `B`, from `begin()`.
        length: Integer `T`.
        reads_logits: Boolean, whether the pass after a loop reads logits.

    Returns:
        The speaker's attribute `unroll` if there is one. Else true, but for
        sequences of more than `LONGEST_UNROLLED` words of a speaker that a loop
        can call, and that scores words in one pass.
    """
    own = getattr(speaker, "unroll", None)
    if own is not None or length <= LONGEST_UNROLLED:
        return own is None or bool(own)
    method = "logits" if reads_logits else "log_probs"
    if not has_method(speaker, method):
        return True
    if hasattr(speaker, "fixed_state"):
        return False
    words = ops.full((_rows(state),), speaker.bos, dtype="int32")
    return not alike(state, speaker.step(words, state, training=False)[1])


def speak_in_loop(
    speaker: Any,
    state: Any,
    draw: Callable,
    *,
    num_samples: int,
    max_length: int,
    logits_processors: LogitsProcessors,
    keep_states: bool = False,
    ends: Callable | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Speaks without gradient until all sequences have ended.

    A step is traced once, however many there are. There is no dropout.

    Args:
        speaker, state, num_samples, max_length, logits_processors,
            keep_states: As of `unroll()`.
        draw: Callable from logits `(n, V)` and the step to ids `(n,)`.
        ends: Callable from ids `(n,)` and the step to booleans, which
            sequences end. Defaults to those that get an end token.

    Returns:
        Tokens of shape `(n, T)`, their mask, their log probabilities, and
        states `(n, T, D)`, or `None`.
    """
    state = state_of_loop(speaker, state, max_length, num_samples)
    rows, pad = _rows(state), getattr(speaker, "pad", 0)
    places = ops.arange(max_length, dtype="int32")

    def step(t, said, state):
        logits, after = speaker.step(said["words"], state, training=False)
        check_first(logits, speaker, t)
        tokens, alive = said["tokens"], said["alive"]
        logits = logits_processors.apply_at(logits[:, None], tokens, t[None])
        ids = ops.cast(draw(logits[:, 0], t), "int32")
        here = ops.logical_and(ops.equal(places, t), alive[:, None])
        log_probs = token_log_probs(logits[:, 0], ids)[:, None]
        ended = is_end(ids, speaker.eos) if ends is None else ends(ids, t)
        following = {
            "words": ids,
            "alive": ops.logical_and(alive, ops.logical_not(ended)),
            "length": said["length"] + ops.cast(alive, "int32"),
            "tokens": ops.where(here, ids[:, None], tokens),
            "scores": ops.where(here, log_probs, said["scores"]),
        }
        if keep_states:
            index = ops.arange(rows, dtype="int32") * max_length + t
            following["states"] = ops.scatter_update(
                said["states"], index[:, None], state_vector(speaker, after)
            )
        return following, after

    said = {
        "words": ops.full((rows,), speaker.bos, dtype="int32"),
        "alive": ops.ones((rows,), "bool"),
        "length": ops.zeros((rows,), "int32"),
        "tokens": ops.full((rows, max_length), pad, dtype="int32"),
        "scores": ops.zeros((rows, max_length), "float32"),
    }
    if keep_states:
        size = ops.shape(state_vector(speaker, state))[-1]
        said["states"] = ops.zeros((rows * max_length, size), "float32")
    said = loop_over_words(
        speaker,
        state,
        max_length,
        said,
        lambda said: ops.any(said["alive"]),
        step,
    )
    mask = ops.cast(places < said["length"][:, None], "float32")
    states = said.get("states")
    if keep_states:
        states = ops.reshape(states, (-1, max_length, size))
        states = ops.stop_gradient(states)
    return said["tokens"], mask, ops.stop_gradient(said["scores"]), states


def read_again(
    speaker: Any,
    state: Any,
    tokens: Any,
    mask: Any,
    processors: Any,
    training: bool,
    reads_logits: bool = False,
) -> tuple[Any, Any]:
    """Reads the words of a loop in one pass, with gradient.

    Args:
        speaker, state, tokens, training: As of `stepwise_log_probs()`.
        mask: Tensor of shape `(n, T)`, nonzero where there is a word.
        processors: Those of the decoder, for this speaker.
        reads_logits: Boolean, whether logits are needed. Defaults to `False`.

    Returns:
        Processed logits `(n, T, V)`, or `None` where nothing needs them, and
        log probabilities `(B, S, T)`.
    """
    if not (reads_logits or processors.in_use):
        return None, speaker.log_probs(state, tokens, training=training)
    logits = logits_of_words(speaker, state, tokens, training)
    logits = ops.reshape(logits, (-1, *ops.shape(logits)[2:]))
    rows = ops.reshape(tokens, (-1, tokens.shape[-1]))
    places = ops.arange(tokens.shape[-1], dtype="int32")
    logits = processors.apply_at(logits, rows, places)  # (n, T, V)
    log_probs = ops.where(mask > 0, token_log_probs(logits, rows), 0.0)
    return logits, ops.reshape(log_probs, ops.shape(tokens))


def logits_of_words(
    speaker: Any, state: Any, tokens: Any, training: bool
) -> Any:
    """Logits `(B, S, T, V)` before given words, in one pass if possible.

    Arguments are those of `stepwise_log_probs()`.
    """
    if has_method(speaker, "logits"):
        return speaker.logits(state, tokens, training=training)
    _, samples, length = ops.shape(tokens)  # S may be unknown
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
        draw: Callable from logits to ids, which draws from the channel's
            seeds. Defaults to `channel.draw()`.
    """

    def __init__(
        self, channel: Any, shape: tuple, draw: Callable | None = None
    ):
        self.channel = channel
        self.shape = shape
        self.own = draw or (lambda logits: channel.draw(logits)[1])
        self.generator = channel.seed_generator
        self.state = ops.copy(self.generator.state)
        with self.generator.replayed(self.state, 0) as calls:
            self.own(ops.zeros(shape))
        self.calls = calls()

    def draw(self, logits: Any, step: Any) -> Any:
        """Draws the words `(n,)` of a step."""
        with self.at(step):
            return self.own(logits)

    def noise(self, steps: int) -> Any:
        """Draws the noise of all steps again, `(T, ...)`."""

        def of_step(step):
            with self.at(step):
                return self.channel.noise(self.shape)

        return ops.map(of_step, ops.arange(steps, dtype="int32"))

    def skip(self, steps: int) -> None:
        """Moves the channel's seeds on by so many steps."""
        self.generator.skip(self.calls * steps)

    def at(self, step: Any) -> Any:
        """Context in which the channel draws as in a step."""
        return self.generator.replayed(self.state, step * self.calls)


def _rows(state):
    return ops.shape(keras.tree.flatten(state)[0])[0]


def has_method(speaker: Any, method: str) -> bool:
    """Check whether a speaker has an optional method."""
    # A network may name a layer of its own `logits`.
    found = getattr(speaker, method, None)
    return callable(found) and not isinstance(found, keras.layers.Layer)


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
