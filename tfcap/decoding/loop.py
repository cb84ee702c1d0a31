"""Loops of a graph that decode word by word, and the pass after them."""

import contextlib
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from tfcap._ops import is_end
from tfcap._ops import repeat_samples
from tfcap._ops import token_log_probs
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.rollout import check_logits
from tfcap.decoding.speaker import alike
from tfcap.decoding.speaker import logits_of_words
from tfcap.decoding.speaker import num_rows
from tfcap.decoding.speaker import state_vector
from tfcap.decoding.speaker import up_to_the_longest

#: Words that a state gets room for at a time.
ROOM = 32

_REMEDY = (
    "Give the speaker `fixed_state(state, steps)`, see "
    "`tfcap.decoding.Speaker`, or decode with `unroll=True`."
)


def state_of_loop(
    speaker: Any, state: Any, length: int, num_samples: int
) -> Any:
    """Returns the first state of a loop of `length` words, for every sample."""
    state = keras.tree.map_structure(ops.stop_gradient, state)
    if hasattr(speaker, "fixed_state"):
        room = {"room": ROOM} if _extends(speaker, length) else {}
        state = speaker.fixed_state(state, length, **room)
    state = repeat_samples(state, num_samples)
    return keras.tree.map_structure(ops.convert_to_tensor, state)


def loop_over_words(
    speaker: Any,
    state: Any,
    length: int,
    carried: Any,
    goes_on: Callable,
    step: Callable,
    free_rows: bool = False,
    first: Any = 0,
) -> Any:
    """Runs a loop over words, of which a step is traced once.

    A speaker with a cache attends to all the room that it has. With
    `extend_state()`, on TensorFlow, a state gets room for 32 words at a time:
    a step costs as much as the words so far rather than the longest sequence.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors, from `state_of_loop()`.
        length: Integer `T`.
        carried: Nest of tensors.
        goes_on: Callable from `carried` to a boolean tensor, whether there is
            a next step.
        step: Callable from the step, a scalar tensor, `carried` and `state` to
            the next two.
        free_rows: Boolean, whether the first axis of every tensor may change
            from step to step; on TensorFlow only.
        first: Integer or scalar tensor, the first step. Defaults to `0`.

    Returns:
        The last `carried`.
    """
    free, nest = int(free_rows), (carried, state)
    extends = _extends(speaker, length)

    def extended(state):
        more = speaker.extend_state(state, ROOM)
        return keras.tree.map_structure(ops.convert_to_tensor, more)

    def advance(t, *leaves):
        now, before = keras.tree.pack_sequence_as(nest, leaves)
        if extends:
            full = ops.logical_and(ops.equal(t % ROOM, 0), t > 0)
            flat = keras.tree.flatten(before)
            flat = ops.cond(
                full,
                lambda: keras.tree.flatten(extended(before)),
                lambda: [*flat],
            )
            before = keras.tree.pack_sequence_as(before, flat)
        after, following = step(t, now, before)
        following = keep_shapes(speaker, before, following, free)
        after = _map_like(after, now, free)
        return t + 1, *keras.tree.flatten((after, following))

    def continues(t, *leaves):
        now, _ = keras.tree.pack_sequence_as(nest, leaves)
        return ops.logical_and(t < length, goes_on(now))

    start = (ops.cast(first, "int32"), *keras.tree.flatten(nest))
    if extends or free_rows:
        ends = (carried, extended(state) if extends else state)
        shapes = _invariants(start[1:], keras.tree.flatten(ends), free)
        leaves = _while(continues, advance, start, shapes)
    else:
        with without_gradient(speaker):
            leaves = ops.while_loop(continues, advance, start)
    return keras.tree.pack_sequence_as(nest, leaves[1:])[0]


@contextlib.contextmanager
def without_gradient(network: Any) -> Iterator[None]:
    """Context in which JAX does not differentiate the weights of a network.

    A loop that JAX differentiates is traced with all slopes, also where
    nobody asks for them, and attention takes other paths there.
    """
    jax = keras.backend.backend() == "jax"
    variables = getattr(network, "trainable_variables", ()) if jax else ()
    before = [variable.value for variable in variables]
    for variable, value in zip(variables, before):
        variable.assign(ops.stop_gradient(value))
    yield
    for variable, value in zip(variables, before):
        variable.assign(value)


def _extends(speaker, length):
    """Returns whether a state gets room as it goes."""
    known = keras.backend.backend() == "tensorflow" and length > ROOM
    return known and hasattr(speaker, "extend_state")


def _invariants(leaves, extended, free):
    """Static shapes without rows, if they are free, and what is extended."""
    return [
        [
            size if axis >= free and size == other else None
            for axis, (size, other) in enumerate(zip(leaf.shape, more.shape))
        ]
        for leaf, more in zip(leaves, extended)
    ]


def _while(condition, body, start, shapes):
    import tensorflow as tf

    invariants = tuple(map(tf.TensorShape, ([], *shapes)))
    return tf.while_loop(condition, body, start, shape_invariants=invariants)


def keep_shapes(speaker: Any, before: Any, after: Any, free: int = 0) -> Any:
    """Returns the state after a step with the static shapes of that before.

    The first `free` axes may be of any size.

    Raises:
        ValueError: If it has others.
    """
    if not alike(before, after, free):
        raise ValueError(
            "`speaker.step()` must return a state of the shapes and types that "
            f"it was given, for `unroll=False`. Received: speaker={speaker!r}. "
            f"{_REMEDY}"
        )
    return _map_like(after, before, free)


def _map_like(tensors, others, free):
    """The same, with the static shapes of others, which may tell more."""
    if keras.backend.backend() != "tensorflow":
        return tensors
    import tensorflow as tf

    def like(tensor, other):
        return tf.ensure_shape(tensor, [*[None] * free, *other.shape[free:]])

    return keras.tree.map_structure(like, tensors, others)


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
    start: tuple | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Decodes without gradient until all sequences have ended.

    A step is traced once, however many there are. There is no dropout.

    Args:
        speaker, state, num_samples, max_length, logits_processors,
            keep_states: As of `unroll()`.
        draw: Callable from logits `(n, V)` and the step to ids `(n,)`.
        ends: Callable from ids `(n,)` and the step to booleans, which
            sequences end. Defaults to those that get an end token.
        start: First step, words `(n,)` that are read there, and booleans
            `(n,)`, which sequences go on; `state` is then that of a loop.
            Defaults to the start of all.

    Returns:
        Tokens of shape `(n, T)`, their mask, their log probabilities, and
        states `(n, T, D)`, or `None`.
    """
    if start is None:
        state = state_of_loop(speaker, state, max_length, num_samples)
    else:
        state = repeat_samples(state, num_samples)
    rows, pad = num_rows(state), getattr(speaker, "pad", 0)
    if start is None:
        words = ops.full((rows,), speaker.bos, dtype="int32")
        start = 0, words, ops.ones((rows,), "bool")
    first, words, alive = start
    places = ops.arange(max_length, dtype="int32")

    def step(t, said, state):
        logits, after = speaker.step(said["words"], state, training=False)
        check_first(logits, speaker, t)
        tokens, alive = said["tokens"], said["alive"]
        logits = logits_processors.apply(logits, tokens, t)
        ids = ops.cast(draw(logits, t), "int32")
        here = ops.logical_and(ops.equal(places, t), alive[:, None])
        log_probs = token_log_probs(logits, ids)[:, None]
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
        "words": words,
        "alive": alive,
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
        first=first,
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
        mask: Tensor of shape `(B, S, T)`, nonzero where there is a word.
        processors: Those of the decoder, for this speaker.
        reads_logits: Boolean, whether logits are needed. Defaults to `False`.

    Returns:
        Processed logits `(B, S, T, V)`, or `None` where nothing needs them, and
        log probabilities `(B, S, T)`.
    """

    def read(tokens, mask):
        if not (reads_logits or processors.in_use):
            return [speaker.log_probs(state, tokens, training=training)]
        shape = ops.shape(tokens)
        logits = logits_of_words(speaker, state, tokens, training)
        logits = ops.reshape(logits, (-1, *ops.shape(logits)[2:]))
        rows = ops.reshape(tokens, (-1, shape[2]))
        places = ops.arange(shape[2], dtype="int32")
        logits = processors.apply(logits, rows, places)  # (n, T, V)
        logits = ops.reshape(logits, (*shape, logits.shape[-1]))
        log_probs = ops.where(mask > 0, token_log_probs(logits, tokens), 0.0)
        return [log_probs, logits] if reads_logits else [log_probs]

    log_probs, *logits = up_to_the_longest(
        read, speaker, state, mask, tokens, mask
    )
    return logits[0] if logits else None, log_probs


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


def check_first(logits: Any, speaker: Any, step: Any) -> None:
    """Checks a speaker's logits in the first step of a loop."""
    if keras.backend.backend() != "tensorflow":
        return

    def check():
        check_logits(logits, speaker)
        return ops.ones((), "bool")

    ops.cond(ops.equal(step, 0), check, lambda: ops.ones((), "bool"))
