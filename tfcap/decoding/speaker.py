"""The protocol of speakers, and functions of one."""

import contextlib
from typing import Any
from typing import Protocol
from typing import runtime_checkable

import keras
from keras import ops

from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap._ops.sequences import scan_words
from tfcap.decoding.logits_processors import NONE
from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.logits_processors import check_logits

#: Attributes that decoders read.
_SPEAKS = ("vocabulary_size", "bos", "eos", "begin", "step")


@runtime_checkable
class Speaker(Protocol):
    """A network that says one word after another.

    Any object with these attributes is a speaker; nothing is inherited. B
    counts what is spoken about: images, or the questions of all dialogs of a
    batch. It may also have

    - `decoding(rows, steps)`, which `step_by_step()` calls;
    - `state_vector(state)`;
    - `begin_uses_training`, Boolean: false where `begin()` gives the same
      whether or not it trains, so that an `Episode` need not call it again for
      what is decoded as at inference;
    - `pad`, integer id that fills a sequence after its end. Defaults to 0;
      otherwise id 0 is a word like others. It may be one of `eos`, of which
      the first then ends a sequence;
    - `reads_ids`, Boolean: true where `step()` reads ids only, so that methods
      which would feed distributions back feed ids;
    - `unroll`, Boolean: false for a speaker that decoders call in a loop of
      the graph unless they are told otherwise, see `Sample`;
    - `fixed_state(state, steps)`: the state of `begin()` with room for `steps`
      words, which keeps its shapes from `step()` to `step()`, as a loop of the
      graph needs. `step()` reads both kinds. A speaker whose state keeps its
      shapes needs none;
    - `extend_state(state, more)`: such a state with room for `more` more words.
      Loops then call `fixed_state(state, steps, room=room)`, so that
      there is room for `room` words at first, and a step costs what has been
      said; sizes of the state may be unknown to `step()`;
    - `logits(state, tokens, training=False)`: logits `(B, S, T, V)` before
      each of the words `(B, S, T)`, in one pass, which gradients through words
      need after such a loop; without it, `step()` is called word by word;
    - `unconditional(state)`: the state of `begin()` for as many rows of which
      nothing is known, by a speaker that has learned to speak of such, for
      decoders with `guidance`.

    Decoders say neither `pad` nor `bos`, but where it is an end token. A
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
        """Says one word more.

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
        """The human words of a batch: integers of shape `(B, S, T)`.

        Methods leave out a start token that they begin with.
        """


def check_speaker(
    speaker: Any, name: str = "speaker", trained: bool = True
) -> None:
    """Refuses what is no speaker, and names which attributes it lacks.

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
    """Flattens a speaker's state to one vector a row.

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
            "have a method `state_vector(state)`. Received: "
            f"speaker={speaker!r}. Give it that method, `(n, D)` of what it "
            "has read, to use a baseline that reads its state."
        )
    return ops.concatenate(vectors, axis=-1)


def step_by_step(
    speaker: Any, rows: Any, steps: int
) -> contextlib.AbstractContextManager:
    """Opens the context of a decode, in which a speaker is called by steps.

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

    >>> with tfcap.decoding.step_by_step(None, rows=64, steps=16):
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
    state = repeat_samples(state, samples)
    rows = ops.reshape(tokens, (-1, length))
    words = ops.full_like(rows[:, 0], speaker.bos)
    mask = sequence_mask(rows, speaker.eos, getattr(speaker, "pad", 0))
    processors, scores = logits_processors.for_speaker(speaker), []
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
    with step_by_step(speaker, ops.shape(rows)[0], length):
        for t in range(length):
            logits, state = speaker.step(words, state, training=training)
            if t == 0:
                check_logits(logits, speaker)
            logits = processors.apply(logits, rows[:, :t] if t else None)
            words = rows[:, t]
            scores.append(token_log_probs(logits, words))
    # where() rather than a product: padding may be impossible.
    scores = ops.where(mask > 0, ops.stack(scores, axis=1), 0.0)
    return ops.reshape(scores, (-1, samples, length))


class SameDraws:
    """Keeps the state of a network's random generators, to draw again.

    A speaker that reads the same words twice in training has other masks of
    dropout the second time. Within `again()` they are those that came after
    this object was made; afterwards the network goes on as if nothing had been
    drawn there. Networks that are no Keras layers draw new numbers.

    Args:
        network: `keras.layers.Layer`, or any other object.
    """

    def __init__(self, network: Any):
        layers = ()
        if hasattr(network, "_flatten_layers"):
            layers = network._flatten_layers()
        # A generator may belong to several layers.
        states = {
            id(generator): generator.state
            for layer in layers
            for generator in layer._seed_generators
        }
        self.states = list(states.values())
        self.before = [ops.copy(state) for state in self.states]

    @contextlib.contextmanager
    def again(self):
        """Context in which the network draws the numbers once more."""
        after = [ops.copy(state) for state in self.states]
        self._assign(self.before)
        try:
            yield
        finally:
            self._assign(after)

    def _assign(self, values):
        for state, value in zip(self.states, values):
            state.assign(value)
