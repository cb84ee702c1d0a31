"""All possible endings of a sequence at once."""

import copy
from typing import Any
from typing import NamedTuple

from keras import ops

from tfcap._ops.sequences import LARGE_NEGATIVE
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.sample import Sample
from tfcap.layers._fast import Prefixes
from tfcap.layers._fast import prefix_words
from tfcap.layers.word_channel import sample_words


class Endings(NamedTuple):
    """Words without an end, and the probabilities of ending before each.

    Args:
        tokens: Integer tensor of shape `(B, S, T)`, never the end token.
        words: Float tensor of shape `(B, S, T, V)`, their vectors.
        log_probs: Float32 tensor of shape `(B, S, T + 1)`, log probabilities
            of ending with the end token as word `t`, the last of not ending
            within `T` words. They sum to one, and carry gradients.
        eos: Integer, the end token.
        drawn: Boolean tensor of shape `(B, S, T + 1)`, of a rollout that has
            all endings beside each other, which of them was drawn. Only these
            are compared with. `None` in a rollout of what was drawn.
    """

    tokens: Any
    words: Any
    log_probs: Any
    eos: int
    drawn: Any = None


class SampleEndings(Sample):
    """Draws words without an end, and then where they end.

    ```
    words[t] ~ p(w | words before, w is not the end token)
    p(end at t) = p(end token)[t] * product of 1 - p(end token)[s] for s < t
    ```

    Rollouts are distributed as those of the decoder that it is made of, and
    hold in `endings` the words that would follow.

    Args:
        sample: `Sample` of a channel through which gradients pass.
    """

    def __init__(self, sample: Sample):
        self.__dict__.update(vars(sample))

    def _speak(self, speaker, state, training):
        if isinstance(speaker.eos, tuple | list):
            raise ValueError(
                "`speaker` must have one end token for ExpectedEnding. "
                f"Received: eos={speaker.eos}. Use Pathwise."
            )
        going = _GoingOn(self.channel, speaker.eos)
        decoder = copy.copy(self)
        decoder.channel = going
        rollout = super(SampleEndings, decoder)._speak(speaker, state, training)
        odds = going.odds if rollout.endings is None else rollout.endings
        odds = ops.reshape(odds, ops.shape(rollout.tokens))
        return self._ended(rollout, odds, speaker)

    def _ended(self, rollout, odds, speaker):
        """Ends sequences at random, by log odds `(B, S, T)` of ending."""
        stop, go = ops.log_sigmoid(odds), ops.log_sigmoid(-odds)
        gone = ops.cumsum(go, axis=-1)
        before = ops.pad(gone[..., :-1], [(0, 0), (0, 0), (1, 0)])
        log_probs = ops.concatenate([stop + before, gone[..., -1:]], axis=-1)
        chances = ops.reshape(ops.exp(log_probs), (-1, log_probs.shape[-1]))
        drawn = sample_words(
            ops.stop_gradient(chances),
            self.channel.uniform(ops.shape(chances)[:1]),
        )
        drawn = ops.reshape(drawn, (*ops.shape(odds)[:2], 1))
        endings = Endings(rollout.tokens, rollout.words, log_probs, speaker.eos)
        pad = getattr(speaker, "pad", 0)
        going, ends, tokens, words = _cut(endings, drawn, pad)
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


class _GoingOn:
    """A channel that never emits the end token, and tells its log odds.

    They are those of the end token against all other words.
    """

    def __init__(self, channel, eos):
        self._channel, self._eos, self.odds = channel, eos, None

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def draw(self, logits):
        going, odds = self._without_end(logits)
        return *self._channel.draw(going), odds

    def emit_words(self, logits, ids, noise):
        # What a loop has drawn is read again, of all steps at once.
        going, self.odds = self._without_end(logits)
        return self._channel.emit_words(going, ids, noise)

    def _without_end(self, logits):
        ends = ops.equal(ops.arange(logits.shape[-1]), self._eos)
        going = ops.where(ends, LARGE_NEGATIVE, ops.cast(logits, "float32"))
        end = ops.cast(logits[..., self._eos], "float32")
        return going, end - ops.logsumexp(going, axis=-1)


def every_ending(rollout: Rollout, pad: int = 0) -> Rollout:
    """Returns all sequences that a rollout could have ended as, side by side.

    Args:
        rollout: `Rollout` of `SampleEndings`, of shape `(B, S, T)`.
        pad: Integer, the speaker's padding. Defaults to `0`.

    Returns:
        `Rollout` of shape `(B, S * (T + 1), T)`: of every sample, that which
        ends with word 0, with word 1, ..., and that which does not end. In
        `endings.drawn` is which of them the rollout has.
    """
    endings = rollout.endings
    length = endings.tokens.shape[-1]
    stops = ops.arange(length + 1, dtype="int32")[None, None]  # (1, 1, T + 1)
    going, ends, tokens, words = _cut(endings, stops, pad)
    said = ops.sum(ops.cast(rollout.mask, "int32"), axis=-1)  # words, (B, S)
    last = ops.any(ops.equal(rollout.tokens, endings.eos), axis=-1)
    said = said - ops.cast(last, "int32")
    present = rollout.nonempty[..., None]
    drawn = ops.logical_and(ops.equal(stops, said[..., None]), present)
    mask = ops.logical_and(ops.logical_or(going, ends), present[..., None])
    mask = ops.cast(ops.reshape(mask, ops.shape(tokens)), "float32")
    endings = endings._replace(drawn=drawn)
    return Rollout(
        tokens, mask, words, discrete=rollout.discrete, endings=endings
    )


def _cut(endings, stops, pad):
    """Cuts words at `stops`, of shape `(B or 1, S or 1, N)`.

    Returns:
        Booleans `(B, S, N, T)`, which words are said and which are the end
        token; tokens `(B, S * N, T)`, and their vectors.
    """
    length = endings.tokens.shape[-1]
    tokens = endings.tokens[:, :, None]  # (B, S, 1, T)
    place = ops.arange(length, dtype="int32")
    shape = (*ops.shape(endings.tokens)[:2], stops.shape[-1], length)
    going = ops.broadcast_to(place < stops[..., None], shape)
    ends = ops.broadcast_to(ops.equal(place, stops[..., None]), shape)
    tokens = ops.where(going, tokens, ops.where(ends, endings.eos, pad))
    tokens = ops.reshape(tokens, (-1, shape[1] * shape[2], length))
    prefixes = Prefixes(endings.words, going, ends, endings.eos)
    return going, ends, tokens, prefix_words(prefixes, tokens)
