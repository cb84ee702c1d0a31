"""Decoders, the processors of their logits, and what they return."""

from typing import Any
from typing import NamedTuple

import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap._ops.sequences import IMPOSSIBLE
from tfcap._ops.sequences import check_values
from tfcap._printed import printed


class LogitsProcessors(NamedTuple):
    """The logits processors of a decoder, in the order of their application.

    A processed logit is float32, and -1e9 where a word is impossible; logits
    that nothing processes stay as they are. Log probabilities of a decoder are
    of the processed distribution.

    Args:
        suppress: Tuple of integers, see `suppress_tokens()`.
        no_repeat_ngram: Integer, see `no_repeat_ngram()`.
        top_k: Integer or `None`, see `top_k_top_p()`.
        top_p: Float or `None`, see `top_k_top_p()`.
    """

    suppress: tuple[int, ...] = ()
    no_repeat_ngram: int = 0
    top_k: int | None = None
    top_p: float | None = None

    def checked(self) -> "LogitsProcessors":
        """Returns these processors; rejects arguments out of range."""
        wanted = "an integer, 0 for none"
        size = checked_integer(
            self.no_repeat_ngram, "no_repeat_ngram", wanted, least=0
        )
        top_k, top_p = self.top_k, self.top_p
        if top_k is not None:
            wanted = "a positive integer, or None for all words"
            top_k = checked_integer(top_k, "top_k", wanted)
        if top_p is not None:
            wanted = "in (0, 1], or None for all words"
            top_p = checked_number(top_p, "top_p", wanted, lambda x: 0 < x <= 1)
        return LogitsProcessors(
            checked_suppress(self.suppress), size, top_k, top_p
        )

    def for_speaker(self, speaker: Any) -> "LogitsProcessors":
        """Adds the special tokens of a speaker to those suppressed."""
        suppress = (*self.suppress, *special_tokens(speaker))
        return self._replace(suppress=suppress)

    @property
    def in_use(self) -> bool:
        """True if any logit may be changed."""
        return self != NONE

    def check_no_prefix(self, what: str = "continuations") -> None:
        """Rejects processors that read the prefix, for some words."""
        if self.no_repeat_ngram:
            raise ValueError(
                f"`no_repeat_ngram` must be 0 for {what}. Received: "
                f"no_repeat_ngram={self.no_repeat_ngram}. Train without it, "
                "and use it to evaluate."
            )

    def apply(self, logits: Any, tokens: Any = None, places: Any = 0) -> Any:
        """Processes the logits of words at a place of sequences, or at P.

        Args:
            logits: Float tensor of shape `(n, V)`, or `(n, P, V)`.
            tokens: Integer tensor of shape `(n, T)`, of which at every place
                the words before it are read; or `None` where there are none.
            places: Integer or scalar tensor, or an integer tensor of shape
                `(P,)`. Defaults to `0`.

        Returns:
            Float tensor of the shape of `logits`.
        """
        logits = suppress_tokens(logits, self.suppress)
        if self.no_repeat_ngram and tokens is not None:
            shape = ops.shape(logits)
            places = ops.reshape(places, (-1,))
            rows = ops.reshape(logits, (shape[0], -1, shape[-1]))
            rows = no_repeat_ngram(rows, tokens, places, self.no_repeat_ngram)
            logits = ops.reshape(rows, shape)
        return top_k_top_p(logits, self.top_k, self.top_p)


#: No processor at all.
NONE = LogitsProcessors()


class Rollout(NamedTuple):
    """Generated or given words of a speaker, with their log probabilities.

    Args:
        tokens: Integer tensor of shape `(B, S, T)`, filled with the speaker's
            `pad` after the end.
        mask: Float tensor of shape `(B, S, T)`: 1 up to and including the end
            token.
        words: Float tensor of shape `(B, S, T, V)`, the words as vectors that
            a listener can read and gradients can pass, zero under the mask;
            or `None` where words are known as tokens only.
        log_probs: Float32 tensor of shape `(B, S, T)`, 0 under the mask, or
            `None` where the speaker has not scored the words yet.
        scores: Float tensor of shape `(B, S)`: of a search, the scores that
            rank its results, best first; of sampling, log probabilities; or
            `None`, of words that are not the speaker's.
        discrete: Boolean, whether every vector of `words` is one-hot.
        states: Float tensor of shape `(B, S, T, D)`, the `state_vector()` of
            the state in which each word was drawn, without gradient; or
            `None`, where not asked for.
        given: Float tensor of shape `(B, S, T)`, 1 for words that the speaker
            was given and did not choose; or `None`, where all are of a kind.
        endings: `Endings`, words that go on where the sequences end, of
            `SampleEndings`; or `None`.
        weights: Float tensor of shape `(B, S)`, without gradient, of sequences
            that stand for an expectation, the sum over them times these; or
            `None`, where it is their mean. See `SumAndSample`.
    """

    __repr__ = printed

    tokens: Any
    mask: Any
    words: Any = None
    log_probs: Any = None
    scores: Any = None
    discrete: bool = True
    states: Any = None
    given: Any = None
    endings: Any = None
    weights: Any = None

    @property
    def listener_inputs(self) -> Any:
        """Inputs of a listener: `words` where there are any, else `tokens`."""
        return self.tokens if self.words is None else self.words

    @property
    def nonempty(self) -> Any:
        """Boolean tensor of shape `(B, S)`, true for samples with words."""
        return ops.any(self.mask > 0, axis=-1)

    def masked(self, present: Any, pad: int = 0) -> "Rollout":
        """Masks whole sequences.

        `words` stay as they are: a network that embeds them is given the mask,
        and a product with all of them would cost a pass over the vocabulary.

        Args:
            present: Float tensor that broadcasts to `(B, S)`, 0 where a
                sequence is absent.
            pad: Integer, the speaker's padding. Defaults to `0`.
        """
        steps = present[..., None]

        def kept(tensor, present):
            if tensor is None:
                return None
            return tensor * ops.cast(present, tensor.dtype)

        return self._replace(
            tokens=ops.where(ops.cast(steps, "bool"), self.tokens, pad),
            mask=kept(self.mask, steps),
            log_probs=kept(self.log_probs, steps),
            scores=kept(self.scores, present),
            given=kept(self.given, steps),
            weights=kept(self.weights, present),
        )

    def stop_gradient(self) -> "Rollout":
        """Stops the gradient through the rollout.

        Discrete words are then their tokens, and need no vectors.
        """

        def stop(tensor):
            return None if tensor is None else ops.stop_gradient(tensor)

        return self._replace(
            words=None if self.discrete else stop(self.words),
            log_probs=stop(self.log_probs),
            scores=stop(self.scores),
            endings=None,
        )


class Decoder:
    """Generates words with a speaker.

    To write a decoder, override `decode()`. Two terms of an objective that
    are given the same decoder object share its rollout.
    """

    __repr__ = printed

    #: True if gradients can pass through the words of its rollouts.
    pathwise = False
    #: True if words come as at inference, with dropout off, in training, too:
    #: `decode()` is then given the state and the `training` of inference.
    inference = False
    #: Logits processors of its words.
    logits_processors = NONE

    def ruled_out(self, rollout: Rollout) -> Any:
        """Returns the logits processors that ask for no word's logits.

        By them another speaker scores the words of a rollout alike.
        """
        return self.logits_processors._replace(top_k=None, top_p=None)

    def decode(
        self,
        speaker: Any,
        state: Any,
        references: Any = None,
        training: bool = False,
    ) -> Rollout:
        """Lets a speaker speak.

        Args:
            speaker: `tfcap.decoding.Speaker`.
            state: Nest of tensors with leading axis `B`, from
                `speaker.begin()`; from `speaker.begin(training=False)` if the
                decoder has `inference`.
            references: Integer tensor of shape `(B, S, T)`, the human words,
                for decoders that need them.
            training: Boolean, passed on to the speaker.

        Returns:
            `tfcap.decoding.Rollout`.
        """
        raise NotImplementedError


def checked_max_length(max_length: int) -> int:
    """Returns a maximum length; rejects what is not a positive integer."""
    wanted = "a positive integer, the number of words with the end token"
    return checked_integer(max_length, "max_length", wanted)


def checked_unroll(unroll: bool | None) -> bool | None:
    """Returns how a decoder loops; rejects other values."""
    check_choice(unroll, "unroll", (None, True, False))
    return unroll


def suppress_tokens(logits: Any, suppress: tuple[int, ...]) -> Any:
    """Makes some words impossible.

    Args:
        logits: Float tensor of shape `(..., V)`.
        suppress: Tuple of integers, ids of those words.

    Raises:
        ValueError: If an id is outside the vocabulary.
    """
    if not suppress:
        return logits
    size = logits.shape[-1]
    if max(suppress) >= size:
        raise ValueError(
            "`suppress` must hold ids of the vocabulary. Received: "
            f"suppress={suppress} with {size} words."
        )
    suppressed = np.zeros(size, "bool")
    suppressed[list(suppress)] = True
    return ops.where(suppressed, IMPOSSIBLE, ops.cast(logits, "float32"))


def checked_suppress(suppress: Any) -> tuple[int, ...]:
    """Returns word ids as a tuple; rejects what is not a sequence of them."""
    ids = tuple(suppress) if np.iterable(suppress) else None
    if ids is None or not all(
        isinstance(i, int | np.integer) and i >= 0 for i in ids
    ):
        raise ValueError(
            "`suppress` must be a tuple of word ids that are never generated, "
            f"such as `(vocabulary.unk,)`. Received: suppress={suppress!r}."
        )
    return tuple(int(i) for i in ids)


def special_tokens(speaker: Any) -> tuple[int, ...]:
    """Ids of padding and start, which no sequence may hold.

    A sequence is filled with padding and begins after the start token: a
    generated word with either id would not be scored.

    Returns those of `speaker.pad` and `speaker.bos` that end no sequence and
    that its logits may not have ruled out already. Rejects a speaker whose end
    token has the id of padding, unless it says so.
    """
    ends = end_tokens(speaker)
    if 0 in ends and not hasattr(speaker, "pad"):
        raise ValueError(
            "`speaker.eos` must not be 0, the id of padding. Received: "
            f"speaker={speaker!r} with eos={speaker.eos}. Set `speaker.pad` to "
            "the id that fills a sequence after its end; it may be `eos`."
        )
    ruled_out = getattr(speaker, "suppressed_ids", ())
    special = {getattr(speaker, "pad", 0), speaker.bos}
    return tuple(sorted(special - {*ruled_out, *ends}))


def end_tokens(speaker: Any) -> tuple[int, ...]:
    """Ids of which any ends a sequence of a speaker."""
    eos = speaker.eos
    return tuple(eos) if isinstance(eos, tuple | list) else (eos,)


def no_repeat_ngram(logits: Any, tokens: Any, places: Any, size: int) -> Any:
    """Makes words impossible that would end an n-gram before them again.

    Args:
        logits: Float tensor of shape `(n, P, V)`.
        tokens: Integer tensor of shape `(n, T)`, of which at every place the
            words before it are read.
        places: Integer tensor of shape `(P,)`.
        size: Positive integer, words of an n-gram.

    Reference:

    - Paulus et al., A Deep Reinforced Model for Abstractive Summarization,
      ICLR 2018, section 2.5 (trigrams)
    """
    count = ops.shape(tokens)[1]
    starts = ops.arange(count, dtype="int32")
    same = starts + size - 1 < places[:, None]  # (P, T): before the place
    same = ops.broadcast_to(same, (ops.shape(tokens)[0], *ops.shape(same)))
    # What lies beyond the words is not before a place.
    padded = ops.pad(tokens, [(0, 0), (0, size)])[:, None]
    for offset in range(size - 1):
        # The last size - 1 words, against those of each n-gram.
        last = ops.maximum(places - (size - 1) + offset, 0)
        last = ops.take(tokens, last, axis=1)[..., None]  # (n, P, 1)
        others = padded[..., offset : offset + count]
        same = ops.logical_and(same, ops.equal(others, last))
    ends = ops.where(same, padded[..., size - 1 : size - 1 + count], -1)
    # One-hot of -1 is not a word at all.
    banned = ops.one_hot(ends, logits.shape[-1], dtype="int32")
    banned = ops.max(banned, axis=2) > 0
    return ops.where(banned, IMPOSSIBLE, ops.cast(logits, "float32"))


def top_k_top_p(
    logits: Any, top_k: int | None = None, top_p: float | None = None
) -> Any:
    """Makes unlikely words impossible.

    Args:
        logits: Float tensor of shape `(n, V)`.
        top_k: Integer, how many of the most likely words stay possible, or
            `None` for all. Words that are as likely as the last of them stay,
            too.
        top_p: Float in `(0, 1]`: the fewest most likely words stay possible
            that have this probability together, after `top_k`; or `None`.

    Reference:

    - Fan et al., Hierarchical Neural Story Generation, ACL 2018 (top-k)
    - Holtzman et al., The Curious Case of Neural Text Degeneration, ICLR 2020
      (top-p)
    """
    if top_k is None and top_p is None:
        return logits
    logits = ops.cast(logits, "float32")
    if top_k is not None and top_k < logits.shape[-1]:
        least = ops.top_k(logits, top_k)[0][..., -1:]  # (n, 1)
        logits = ops.where(logits < least, IMPOSSIBLE, logits)
    if top_p is not None:
        ranked = ops.flip(ops.sort(logits, axis=-1), axis=-1)
        probabilities = ops.softmax(ranked, axis=-1)
        # A word stays unless those before it suffice.
        before = ops.cumsum(probabilities, axis=-1) - probabilities
        least = ops.min(
            ops.where(before < top_p, ranked, ops.max(ranked)),
            axis=-1,
            keepdims=True,
        )
        logits = ops.where(logits < least, IMPOSSIBLE, logits)
    return logits


def check_logits(logits: Any, speaker: Any) -> None:
    """Rejects logits of another vocabulary, and probabilities for logits.

    Rows of non-negative numbers that add up to 1 are probabilities. A softmax
    of them would be nearly uniform, without any error.

    Args:
        logits: Float tensor of shape `(n, V)`, from `speaker.step()`.
        speaker: `tfcap.decoding.Speaker`.
    """
    size = speaker.vocabulary_size
    check_shape(logits, "n V", "logits")
    if logits.shape[-1] not in (None, size):
        raise ValueError(
            "`speaker.step()` must return a logit for every word. Received: "
            f"logits of shape {tuple(logits.shape)} from a speaker with "
            f"vocabulary_size={size}."
        )
    values = ops.cast(ops.stop_gradient(logits), "float32")
    total = ops.sum(values, axis=-1)
    normal = ops.logical_and(
        ops.all(values >= 0), ops.all(ops.abs(total - 1.0) < 1e-3)
    )
    # One-hot rows are the logits of a certain speaker; of no rows, everything
    # holds.
    unsure = ops.any(ops.max(values, axis=-1) < 0.999)
    normal = ops.logical_and(normal, unsure)
    check_values(
        ops.logical_not(normal),
        "`speaker.step()` must return logits. Received: probabilities, rows "
        "of non-negative numbers that add up to 1. Return what is before the "
        "softmax, or the logarithm of the probabilities.",
    )
