"""The protocol of speakers, and what decoders do with one."""

import contextlib
from collections.abc import Callable
from typing import Any
from typing import Protocol
from typing import runtime_checkable

import keras
import numpy as np
from keras import ops

from tfcap._ops import is_end
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap._ops.arguments import checked_number
from tfcap._ops.loops import LONGEST_UNROLLED
from tfcap._ops.loops import SameDraws
from tfcap._ops.loops import same_shapes
from tfcap._ops.loops import scan_words
from tfcap._ops.sequences import IMPOSSIBLE
from tfcap.decoding.rollout import NONE
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.rollout import check_logits
from tfcap.layers._fast import by_sample
from tfcap.layers._fast import mask_words
from tfcap.layers._fast import open_products
from tfcap.layers._fast import scanned
from tfcap.layers._fast import scans
from tfcap.layers._fast import stack_words
from tfcap.layers._fast import traced_once

#: Attributes that decoders read.
_SPEAKS = ("vocabulary_size", "bos", "eos", "begin", "step")


@runtime_checkable
class Speaker(Protocol):
    """A network that generates text word by word.

    Any object with these attributes is a speaker; nothing is inherited. B
    counts what is spoken about: images, or the questions of all dialogs of a
    batch. It may also have

    - `decoding(rows, steps)`, which `step_by_step()` calls;
    - `state_vector(state)`;
    - `begin_uses_training`, Boolean: false where `begin()` is the same in
      training and inference, so that an `Episode` calls it only once;
    - `pad`, integer id that fills a sequence after its end, 0 by default. It
      may be one of `eos`, of which the first then ends a sequence;
    - `reads_ids`, Boolean: true where `step()` reads ids only, so that methods
      which would feed back distributions feed back ids;
    - `unroll`, Boolean: the default of a decoder's argument, see `Sample`;
    - `fixed_state(state, steps)`: the state of `begin()` with room for `steps`
      words, which keeps its shapes from `step()` to `step()`, as a loop of the
      graph needs. `step()` reads both kinds. A speaker whose state keeps its
      shapes needs none;
    - `extend_state(state, more)`: such a state with room for `more` more words.
      Loops then call `fixed_state(state, steps, room=room)`, which makes
      room for `room` words at first, so that a step costs as much as the words
      so far; sizes of the state may be unknown to `step()`;
    - `logits(state, tokens, training=False)`: logits `(B, S, T, V)` before
      each of the words `(B, S, T)`, in one pass, which gradients through words
      need after such a loop; without it, `step()` is called word by word.
      `T` may be unknown to it and to `log_probs()` on TensorFlow, where
      words are read up to the longest sequence of the batch;
    - `unconditional(state)`: the state of `begin()` for as many rows without
      a condition, of a speaker trained with `condition_dropout`, for decoders
      with `guidance`.

    Decoders generate neither `pad` nor `bos`, unless it is an end token. A
    speaker whose logits rule these out themselves may name them in an
    attribute `suppressed_ids`, a tuple of ids.

    Attributes:
        vocabulary_size: Integer `V`.
        bos: Integer, id that a sequence starts from.
        eos: Integer, id that ends a sequence, or a tuple of such ids.
    """

    vocabulary_size: int
    bos: int
    eos: int | tuple[int, ...]

    def begin(self, inputs: Any, training: bool = False) -> Any:
        """Reads a batch: nest of tensors with leading axis `B`."""

    def step(
        self, words: Any, state: Any, training: bool = False
    ) -> tuple[Any, Any]:
        """Reads a word and predicts the next.

        Args:
            words: Integer tensor `(B,)`, or distributions `(B, V)`.
            state: What `begin()` or the last `step()` returned.
            training: Boolean.

        Returns:
            Logits of shape `(B, V)`, and the next state.
        """

    def log_probs(self, state: Any, tokens: Any, training: bool = False) -> Any:
        """Scores given words: `(B, S, T)` to float32 `(B, S, T)`."""

    def references(self, inputs: Any) -> Any:
        """Returns the human words of a batch: integers of shape `(B, S, T)`.

        Methods leave out a start token at their beginning.
        """


def check_speaker(
    speaker: Any, name: str = "speaker", trained: bool = True
) -> None:
    """Rejects an object that is not a speaker, and names what it lacks.

    Args:
        trained: Boolean, whether it must score words, too. Defaults to `True`.
    """
    scores = ("log_probs", "references") if trained else ()
    lacking = [x for x in (*_SPEAKS, *scores) if not hasattr(speaker, x)]
    if lacking:
        raise TypeError(
            f"`{name}` must satisfy `tfcap.decoding.Speaker`. Received: "
            f"{type(speaker).__name__} without {', '.join(lacking)}. Add "
            "these, or wrap the network in an object that has them."
        )


def state_vector(speaker: Any, state: Any) -> Any:
    """Flattens a speaker's state to one vector per row.

    A speaker's own method `state_vector(state)` is used where it has one.
    Otherwise these are the vectors of its state, such as those of an LSTM,
    concatenated; integers, such as the words so far, are none.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors with leading axis `n`, from `step()`.

    Returns:
        Float32 tensor of shape `(n, D)`.

    Raises:
        ValueError: If the state holds no vector.

    Example:

    >>> state = [np.zeros((3, 4)), np.ones((3, 2)), np.ones((3, 5, 2))]
    >>> tfcap.decoding.state_vector(None, state).shape
    TensorShape([3, 6])
    """
    if hasattr(speaker, "state_vector"):
        return ops.cast(speaker.state_vector(state), "float32")
    vectors = [
        ops.cast(leaf, "float32")
        for leaf in keras.tree.flatten(state)
        if len(leaf.shape) == 2 and keras.backend.is_float_dtype(leaf.dtype)
    ]
    if not vectors:
        raise ValueError(
            "`state` must hold a float tensor of shape (n, D), or the speaker "
            "must have a method `state_vector(state)`. Received: "
            f"speaker={speaker!r}. Give it that method, which returns a tensor "
            "(n, D), to use a baseline that reads its state."
        )
    return ops.concatenate(vectors, axis=-1)


def step_by_step(
    speaker: Any, rows: Any, steps: int
) -> contextlib.AbstractContextManager:
    """Opens the context of a decode, in which a speaker is called step by step.

    A speaker that can share anything between the steps, such as the gradient
    of its vocabulary head, has a method `decoding(rows, steps)` that returns
    such a context. What is shared is read when the context is entered: a
    gradient tape must be open by then.

    Args:
        speaker: `Speaker`.
        rows: Integer or scalar tensor, rows of every call of `step()`.
        steps: Integer, calls of it at most.

    Returns:
        Context manager.

    Example:

    >>> from tfcap.decoding.speaker import step_by_step
    >>> with step_by_step(None, rows=64, steps=16):
    ...     pass
    """
    if not hasattr(speaker, "decoding"):
        return contextlib.nullcontext()
    return speaker.decoding(rows, steps)


def stepwise_log_probs(
    speaker: Any,
    state: Any,
    tokens: Any,
    training: bool = False,
    logits_processors: LogitsProcessors = NONE,
) -> Any:
    """Scores given words with `step()` alone.

    A speaker that has no faster way implements `log_probs()` by this.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors with leading axis `B`, from `begin()`.
        tokens: Integer tensor of shape `(B, S, T)`.
        training: Boolean.
        logits_processors: `LogitsProcessors` of a decoder: log probabilities
            are of the processed distribution. Defaults to none.

    Returns:
        Float32 tensor of shape `(B, S, T)`, 0 after the end token.
    """
    _, samples, length = ops.shape(tokens)  # S and T may be unknown
    state = _repeated(speaker, state, tokens)
    rows = ops.reshape(tokens, (-1, length))
    words = ops.full_like(rows[:, 0], speaker.bos)
    mask = sequence_mask(rows, speaker.eos, getattr(speaker, "pad", 0))
    processors = logits_processors.for_speaker(speaker)
    if tokens.shape[-1] is None:
        processors.check_no_prefix("words whose number is not known")
        before = ops.concatenate([words[:, None], rows[:, :-1]], axis=1)

        def score(pair, state):
            logits, state = speaker.step(pair[:, 0], state, training=training)
            check_logits(logits, speaker)
            return token_log_probs(processors.apply(logits), pair[:, 1]), state

        pairs = ops.stack([before, rows], axis=-1)  # (n, T, 2)
        scores = ops.where(mask > 0, scan_words(score, state, pairs), 0.0)
        return ops.reshape(scores, (-1, samples, length))

    def step(t, words, state):
        logits, state = speaker.step(words, state, training=training)
        check_start(logits, speaker, t)
        words = ops.take(rows, t, axis=1)
        score = token_log_probs(processors.apply(logits, rows, t), words)
        return score, (words, state)

    with step_by_step(speaker, ops.shape(rows)[0], length):
        scores, _ = each_step(speaker, step, length, (words, state))
    # where() rather than a product: padding may be impossible.
    scores = ops.where(mask > 0, ops.stack(scores, axis=1), 0.0)
    return ops.reshape(scores, (-1, samples, length))


def each_step(
    speaker: Any, step: Callable, length: int, carried: tuple, seeds: Any = ()
) -> tuple:
    """Takes every step of a decode; all but the first are traced once.

    A state with `fixed_state()` gets room for all steps; one that grows with
    every word, in shapes, is traced at every step.

    Args:
        speaker: `Speaker`.
        step: Callable of the step and what is carried, which returns what it
            has said and what is carried on, both nests of tensors.
        length: Integer, number of steps.
        carried: Tuple, the speaker's state last.
        seeds: Seed generators of which steps draw, beside the speaker's.

    Returns:
        List of what each step has said, and what is carried in the end.
    """
    if hasattr(speaker, "fixed_state"):
        carried = (*carried[:-1], speaker.fixed_state(carried[-1], length))
    said, following = step(0, *carried)
    said, same = [said], alike(carried[-1], following[-1])
    if same and scans(following):
        draws = SameDraws(speaker, *seeds)
        rest, following = scanned(step, range(1, length), following, draws)
        return said + rest, following
    if same:
        step = traced_once(step, open_products())
    for t in range(1, length):
        column, following = step(t, *following)
        said.append(column)
    return said, following


def check_start(logits: Any, speaker: Any, step: Any) -> None:
    """Checks a speaker's logits in the first step, which is an integer."""
    if isinstance(step, int) and step == 0:
        check_logits(logits, speaker)


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
    seeds: Any = (),
) -> Rollout:
    """Speaks until every sequence has ended or `max_length` is reached.

    Every step is a part of the graph: on CPU, sequences of a few dozen words
    run faster so than in a loop. A step is traced once all the same.

    Args:
        speaker, state, training: As of `Decoder.decode()`.
        draw: Callable from logits `(n, V)` and the step to words `(n, V)` and
            ids `(n,)`; where it also returns a tensor `(n,)`, the rollout has
            those of all steps as its `endings`.
        num_samples: Integer `S`.
        max_length: Integer `T`.
        relaxed: Boolean, whether the speaker is fed the words themselves, so
            that gradients pass from word to word, rather than their ids.
        logits_processors: `LogitsProcessors`.
        keep_states: Boolean, whether the rollout has `states`.
        seeds: Seed generators of `draw`.

    Returns:
        `Rollout`, with words, log probabilities and scores.
    """
    state = repeat_samples(state, num_samples)
    processors = logits_processors.for_speaker(speaker)
    rows, pad = num_rows(state), getattr(speaker, "pad", 0)  # n = B * S
    places = np.arange(max_length, dtype="int32")

    def step(t, words, alive, tokens, state):
        logits, state = speaker.step(words, state, training=training)
        check_start(logits, speaker, t)
        logits = processors.apply(logits, tokens, t)
        vectors, ids, *more = draw(logits, t)
        # where() rather than a product: after its end, a speaker may have
        # no word to say.
        log_probs = token_log_probs(logits, ids)
        log_probs = ops.where(alive > 0, log_probs, 0.0)
        ids = ops.cast(ids, "int32")
        vectors = mask_words(vectors, alive)
        said = ops.expand_dims(ops.where(alive > 0, ids, pad), -1)
        tokens = ops.where(ops.equal(places, t), said, tokens)
        said = {"mask": alive, "words": vectors, "log_probs": log_probs}
        said.update(zip(["endings"], more))
        if keep_states:
            vector = state_vector(speaker, state)
            said["states"] = ops.stop_gradient(vector)
        ended = is_end(ids, speaker.eos)
        alive = alive * ops.cast(ops.logical_not(ended), "float32")
        words = vectors if relaxed else ids
        return said, (words, alive, tokens, state)

    carried = (
        ops.full((rows,), speaker.bos, dtype="int32"),
        ops.ones((rows,), dtype="float32"),  # 0 after the end token
        ops.full((rows, max_length), pad, dtype="int32"),
        state,
    )
    with step_by_step(speaker, rows, max_length):
        columns, (*_, tokens, state) = each_step(
            speaker, step, max_length, carried, seeds
        )
    said = {name: [each[name] for each in columns] for name in columns[0]}

    def stacked(column):
        column = column and ops.stack(column, axis=1)
        return by_sample(column, num_samples)

    log_probs = stacked(said["log_probs"])
    return Rollout(
        by_sample(tokens, num_samples),
        stacked(said["mask"]),
        stack_words(said["words"], num_samples),
        log_probs,
        ops.sum(log_probs, axis=-1),
        states=stacked(said.get("states")),
        endings=stacked(said.get("endings")),
    )


def unrolls(
    speaker: Any,
    state: Any,
    length: int,
    reads_logits: bool,
    unroll: bool | None = None,
) -> bool:
    """Chooses how to decode.

    Args:
        speaker: `Speaker`.
        state: Nest of tensors with leading axis `B`, from `begin()`.
        length: Integer `T`.
        reads_logits: Boolean, whether the pass after a loop reads logits.
        unroll: Boolean, the user's choice, or `None`.

    Returns:
        The user's choice, or the speaker's attribute `unroll` if there is one.
        Otherwise false for more than `LONGEST_UNROLLED` words of a speaker
        that a loop can call and that scores words in one pass, else true.
    """
    own = getattr(speaker, "unroll", None) if unroll is None else unroll
    if own is not None or length <= LONGEST_UNROLLED:
        return own is None or bool(own)
    method = "logits" if reads_logits else "log_probs"
    if not has_method(speaker, method):
        return True
    if hasattr(speaker, "fixed_state"):
        return False
    words = ops.full((num_rows(state),), speaker.bos, dtype="int32")
    return not alike(state, speaker.step(words, state, training=False)[1])


def logits_of_words(
    speaker: Any, state: Any, tokens: Any, training: bool
) -> Any:
    """Logits `(B, S, T, V)` before given words, in one pass if possible.

    Arguments are those of `stepwise_log_probs()`.
    """
    if has_method(speaker, "logits"):
        return speaker.logits(state, tokens, training=training)
    _, samples, length = ops.shape(tokens)  # S and T may be unknown
    state = _repeated(speaker, state, tokens)
    rows = ops.reshape(tokens, (-1, length))
    words = ops.full_like(rows[:, 0], speaker.bos)

    def step(t, words, state):
        logits, state = speaker.step(words, state, training=training)
        return logits, (ops.take(rows, t, axis=1), state)

    if tokens.shape[-1] is None:
        before = ops.concatenate([words[:, None], rows[:, :-1]], axis=1)
        logits = scan_words(
            lambda *now: speaker.step(*now, training=training), state, before
        )
    else:
        with step_by_step(speaker, ops.shape(rows)[0], length):
            columns, _ = each_step(speaker, step, length, (words, state))
        logits = ops.stack(columns, axis=1)
    return ops.reshape(logits, (-1, samples, length, logits.shape[-1]))


def _repeated(speaker, state, tokens):
    """The state of every sample, which keeps its shapes if `T` is unknown."""
    if tokens.shape[-1] is None and hasattr(speaker, "fixed_state"):
        state = speaker.fixed_state(state, ops.shape(tokens)[-1])
    return repeat_samples(state, ops.shape(tokens)[1])


def up_to_the_longest(
    read: Callable, speaker: Any, state: Any, mask: Any, *words: Any
) -> list:
    """Reads given words, cut to the longest sequence of the batch.

    Where steps are unrolled, and elsewhere than on TensorFlow, their number
    must be known: there words are read as they are.

    Args:
        read: Callable from cut words to a list of tensors `(B, S, L, ...)`.
        speaker, state: As of `unrolls()`.
        mask: Tensor of shape `(B, S, T)`, nonzero where a word counts.
        *words: Tensors of shape `(B, S, T)`.

    Returns:
        List of tensors `(B, S, T, ...)`, 0 after the longest sequence.
    """
    known = mask.shape[2]
    if keras.backend.backend() != "tensorflow" or known == 1:
        return read(*words)
    if known is not None and unrolls(speaker, state, known, False):
        return read(*words)
    import tensorflow as tf

    length = tf.shape(mask)[2]
    ends = tf.where(mask > 0, tf.range(1, length + 1), 0)
    # Networks read at least one word before the last.
    longest = tf.minimum(tf.maximum(tf.reduce_max(ends), 2), length)

    def whole(x):
        after = [(0, 0), (0, 0), (0, length - longest)]
        x = tf.pad(x, after + [(0, 0)] * (len(x.shape) - 3))
        return tf.ensure_shape(x, [None, None, known, *x.shape[3:]])

    cut = (tf.convert_to_tensor(x)[:, :, :longest] for x in words)
    return [whole(x) for x in read(*cut)]


def has_method(speaker: Any, method: str) -> bool:
    """Returns whether a speaker has an optional method."""
    # A network may name a layer of its own `logits`.
    found = getattr(speaker, method, None)
    return callable(found) and not isinstance(found, keras.layers.Layer)


def num_rows(state):
    return ops.shape(keras.tree.flatten(state)[0])[0]


def alike(before: Any, after: Any, free: int = 0) -> bool:
    """Returns whether two states have the same structure, shapes and types."""
    return same_shapes(before, after, free) and all(
        keras.backend.standardize_dtype(x.dtype)
        == keras.backend.standardize_dtype(y.dtype)
        for x, y in zip(*map(keras.tree.flatten, (before, after)))
    )


def checked_guidance(guidance: float) -> float:
    """Returns the strength of guidance; rejects a value out of range."""
    wanted = "0 or more, 1 for none"
    return checked_number(guidance, "guidance", wanted, lambda x: x >= 0)


def guided(speaker: Any, state: Any, guidance: float) -> tuple[Any, Any]:
    """Returns a speaker and its state under guidance, unchanged where it is 1.

    ```
    log p_guided(w) = guidance * log p(w | x) + (1 - guidance) * log p(w) - Z
    ```

    Args:
        speaker: `tfcap.decoding.Speaker` with `unconditional(state)`.
        state: Nest of tensors with leading axis `B`, from `begin()`.
        guidance: Float `gamma`.

    Raises:
        TypeError: If the speaker knows no state without its condition.

    Reference:

    - Kornblith et al., Guiding Image Captioning Models Toward More Specific
      Captions, ICCV 2023, equation 4
    """
    if guidance == 1.0:
        return speaker, state
    if not hasattr(speaker, "unconditional"):
        raise TypeError(
            "`guidance` must be 1 for a speaker without a method "
            "`unconditional(state)`. Received: "
            f"guidance={guidance} with {type(speaker).__name__}. Use a caption "
            "speaker of `tfcap.models` that was trained with "
            "`condition_dropout`, or add the method, see "
            "`tfcap.decoding.Speaker`."
        )
    return _Guided(speaker, guidance), (state, speaker.unconditional(state))


class _Guided:
    """A speaker that reads every word twice, with and without a condition."""

    def __init__(self, speaker, guidance):
        self._speaker, self._guidance = speaker, guidance

    def __getattr__(self, name):
        # What a speaker may lack is lacking here, too.
        value = getattr(self._speaker, name)
        if name in ("fixed_state", "extend_state"):
            return lambda state, *args, **options: tuple(
                value(part, *args, **options) for part in state
            )
        if name == "logits" and has_method(self._speaker, name):
            return self._logits
        return value

    def decoding(self, rows, steps):
        """Nothing is shared by steps of two states."""
        return contextlib.nullcontext()

    def state_vector(self, state):
        return state_vector(self._speaker, state[0])

    def step(self, words, state, training=False):
        pairs = [
            self._speaker.step(words, part, training=training) for part in state
        ]
        logits, states = zip(*pairs)
        return self._combined(*logits), states

    def log_probs(self, state, tokens, training=False):
        pad = getattr(self._speaker, "pad", 0)
        logits = logits_of_words(self, state, tokens, training)
        mask = sequence_mask(tokens, self._speaker.eos, pad)
        return ops.where(mask > 0, token_log_probs(logits, tokens), 0.0)

    def _logits(self, state, tokens, training=False):
        return self._combined(
            *(
                self._speaker.logits(part, tokens, training=training)
                for part in state
            )
        )

    def _combined(self, given, dropped):
        """Guided log probabilities `(..., V)`, but for a constant of each."""
        given, dropped = (
            ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
            for logits in (given, dropped)
        )
        possible = ops.minimum(given, dropped) > 0.5 * IMPOSSIBLE
        logits = self._guidance * given + (1.0 - self._guidance) * dropped
        return ops.where(possible, logits, IMPOSSIBLE)
