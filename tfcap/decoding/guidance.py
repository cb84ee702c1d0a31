"""Classifier-free guidance: away from what is said of no image at all."""

import contextlib
from typing import Any

from keras import ops

from tfcap._ops import sequence_mask
from tfcap._ops import token_log_probs
from tfcap._ops.arguments import checked_number
from tfcap._ops.sequences import IMPOSSIBLE
from tfcap.decoding.loop import has_method
from tfcap.decoding.loop import logits_of_words
from tfcap.decoding.speaker import state_vector


def checked_guidance(guidance: float) -> float:
    """Returns the strength of guidance; refuses what is no such number."""
    return checked_number(
        guidance,
        "guidance",
        "0 or more, 1 for none",
        lambda gamma: gamma >= 0,
    )


def guided(speaker: Any, state: Any, guidance: float) -> tuple[Any, Any]:
    """A speaker and its state under guidance; both as they are where it is 1.

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
