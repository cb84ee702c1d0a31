"""Sequences that could end at any word: all their endings at once."""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap.decoding.rollout import Rollout
from tfcap.layers._fast import Prefixes
from tfcap.layers._fast import prefix_words
from tfcap.layers.word_channel import sample_words

TERMINATIONS = ("sampled", "expected")


class Endings(NamedTuple):
    """Words that go on, and the probabilities of ending before each.

    Args:
        tokens: Integer tensor of shape `(B, S, T)`, never the end token.
        words: Float tensor of shape `(B, S, T, V)`, their vectors.
        log_probs: Float32 tensor of shape `(B, S, T + 1)`, log probabilities
            of ending with the end token as word `t`, the last of not ending
            within `T` words. They sum to one, and carry gradients.
        eos: Integer, the end token.
    """

    tokens: Any
    words: Any
    log_probs: Any
    eos: int


class Stops:
    """Takes the end token out of a decode, and puts it back at the end.

    ```
    words[t] ~ p(w | words before, w is not the end token)
    p(end at t) = p(end token)[t] * product of 1 - p(end token)[s] for s < t
    ```

    Args:
        speaker: `Speaker` with one end token.

    Raises:
        ValueError: If it has several.
    """

    def __init__(self, speaker: Any):
        if isinstance(speaker.eos, tuple | list):
            raise ValueError(
                '`termination` must be "sampled" for a speaker with several '
                f"end tokens. Received: termination='expected', eos="
                f"{speaker.eos}."
            )
        self.eos = speaker.eos
        self.pad = getattr(speaker, "pad", 0)
        self.odds = []

    def drawing(self, draw: Callable, keep: bool = True) -> Callable:
        """Wraps a callable of logits `(n, V)` that draws words to go on with.

        Args:
            keep: Boolean, whether the odds of ending are kept, of each call.
        """

        def drawn(logits):
            going = self.going(logits)
            if keep:
                self.odds.append(self.log_odds(logits, going))
            return draw(going)

        return drawn

    def going(self, logits: Any) -> Any:
        """Logits `(..., V)` without the end token."""
        ends = ops.equal(ops.arange(logits.shape[-1]), self.eos)
        return ops.where(ends, LARGE_NEGATIVE, ops.cast(logits, "float32"))

    def log_odds(self, logits: Any, going: Any) -> Any:
        """Log odds `(...)` of the end token against all other words."""
        end = ops.cast(logits[..., self.eos], "float32")
        return end - ops.logsumexp(going, axis=-1)

    def ended(self, rollout: Rollout, uniform: Callable, odds: Any = None):
        """Ends sequences at random, and keeps what they would go on with.

        Args:
            rollout: `Rollout` of words that go on.
            uniform: Callable from a shape to uniform numbers.
            odds: Float tensor of shape `(B, S, T)`. Defaults to those kept.

        Returns:
            `Rollout` with `endings`.
        """
        if odds is None:
            odds = ops.stack(self.odds, axis=1)
            odds = ops.reshape(odds, ops.shape(rollout.tokens))
        stop, go = ops.log_sigmoid(odds), ops.log_sigmoid(-odds)
        gone = ops.cumsum(go, axis=-1)
        before = ops.pad(gone[..., :-1], [(0, 0), (0, 0), (1, 0)])
        log_probs = ops.concatenate([stop + before, gone[..., -1:]], axis=-1)
        chances = ops.reshape(ops.exp(log_probs), (-1, log_probs.shape[-1]))
        drawn = sample_words(
            ops.stop_gradient(chances), uniform(ops.shape(chances)[:1])
        )
        drawn = ops.reshape(drawn, (*ops.shape(odds)[:2], 1))
        endings = Endings(rollout.tokens, rollout.words, log_probs, self.eos)
        length = odds.shape[-1]
        going, ends, tokens, words = _cut(endings, drawn, length, self.pad)
        scores = ops.where(ends[:, :, 0], stop, rollout.log_probs)
        mask = ops.logical_or(going, ends)[:, :, 0]
        scores = ops.where(mask, scores, 0.0)
        return rollout._replace(
            tokens=tokens,
            mask=ops.cast(mask, "float32"),
            words=words,
            log_probs=scores,
            scores=ops.sum(scores, axis=-1),
            endings=endings,
        )


def every_ending(rollout: Rollout, pad: int = 0) -> Rollout:
    """All the sequences that a rollout could have ended as, beside each other.

    Args:
        rollout: `Rollout` with `endings`, of shape `(B, S, T)`.
        pad: Integer, the speaker's padding. Defaults to `0`.

    Returns:
        `Rollout` of shape `(B, S * (T + 1), T)`: of every sample, that which
        ends with word 0, with word 1, ..., and that which does not end. In
        `drawn` is which of them the rollout has.
    """
    endings = rollout.endings
    length = endings.tokens.shape[-1]
    stops = ops.arange(length + 1, dtype="int32")[None, None]  # (1, 1, T + 1)
    going, ends, tokens, words = _cut(endings, stops, length, pad)
    said = ops.sum(ops.cast(rollout.mask, "int32"), axis=-1)  # words, (B, S)
    last = ops.any(ops.equal(rollout.tokens, endings.eos), axis=-1)
    said = said - ops.cast(last, "int32")
    present = rollout.nonempty[..., None]
    drawn = ops.logical_and(ops.equal(stops, said[..., None]), present)
    mask = ops.logical_and(ops.logical_or(going, ends), present[..., None])
    shape = ops.shape(tokens)
    return Rollout(
        tokens,
        ops.cast(ops.reshape(mask, shape), "float32"),
        words,
        discrete=rollout.discrete,
        drawn=drawn,
        endings=endings,
    )


def _cut(endings, stops, length, pad):
    """Cuts words at `stops`, of shape `(B or 1, S or 1, N)`.

    Returns:
        Booleans `(B, S, N, T)`, which words are said and which are the end
        token; tokens `(B, S * N, T)`, and their vectors.
    """
    tokens = endings.tokens[:, :, None]  # (B, S, 1, T)
    place = ops.arange(length, dtype="int32")
    shape = (*ops.shape(endings.tokens)[:2], stops.shape[-1], length)
    going = ops.broadcast_to(place < stops[..., None], shape)
    ends = ops.broadcast_to(ops.equal(place, stops[..., None]), shape)
    tokens = ops.where(going, tokens, ops.where(ends, endings.eos, pad))
    tokens = ops.reshape(tokens, (-1, shape[1] * shape[2], length))
    prefixes = Prefixes(endings.words, going, ends, endings.eos)
    return going, ends, tokens, prefix_words(prefixes, tokens)


def checked_termination(termination: str, channel: keras.layers.Layer) -> str:
    """Returns how sequences end; refuses what is no choice."""
    if termination not in TERMINATIONS:
        raise ValueError(
            f"`termination` must be one of {TERMINATIONS}. Received: "
            f"termination={termination!r}."
        )
    if termination == "expected" and not channel.differentiable:
        raise ValueError(
            '`termination` must be "sampled" for a channel that passes no '
            f"gradient. Received: termination='expected', channel="
            f"{type(channel).__name__}. Use a straight-through channel; "
            "ScoreFunction learns where to stop by itself."
        )
    return termination
