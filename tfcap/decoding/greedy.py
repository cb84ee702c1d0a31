"""Greedy search."""

from keras import ops

from tfcap._ops import likeliest_words
from tfcap.decoding.decoder import Decoder
from tfcap.decoding.decoder import check_no_training
from tfcap.decoding.decoder import checked_max_length
from tfcap.decoding.decoder import checked_unroll
from tfcap.decoding.guidance import checked_guidance
from tfcap.decoding.guidance import guided
from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.loop import speak_in_loop
from tfcap.decoding.loop import unrolls
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.unroll import unroll


class Greedy(Decoder):
    """Takes the most likely word at every step.

    In training, too, words come as at inference: an `Episode` has the speaker
    read the batch again, with dropout off, where it read it with dropout.

    Args:
        max_length: Integer `T`, number of words with the end token.
        suppress: Tuple of integers, ids that are never said, such as the
            unknown word's; log probabilities are those of the distribution
            over the other words. Defaults to none.
        no_repeat_ngram: Integer, size of the n-grams of which none is said
            twice, such as 3. Defaults to `0`, none.
        unroll: Boolean or `None`, see `Sample`. Defaults to `None`.
        guidance: Float `gamma`: words are of `gamma * log p(w | x) +
            (1 - gamma) * log p(w)`, normalized, which above 1 is more of this
            image, and less natural, the larger it is. For speakers trained
            with `condition_dropout`. Defaults to `1.0`, none.

    Example:

    >>> tfcap.decoding.Greedy(max_length=9).max_length
    9
    """

    inference = True

    def __init__(
        self,
        max_length: int = 16,
        suppress: tuple[int, ...] = (),
        no_repeat_ngram: int = 0,
        unroll: bool | None = None,
        guidance: float = 1.0,
    ):
        self.guidance = checked_guidance(guidance)
        self.unroll = checked_unroll(unroll)
        self.max_length = checked_max_length(max_length)
        processors = LogitsProcessors(suppress, no_repeat_ngram)
        self.logits_processors = processors.checked()

    def decode(self, speaker, state, references=None, training=False):
        check_no_training(self, training)
        speaker, state = guided(speaker, state, self.guidance)
        loops = self.unroll is False
        if self.unroll is None:
            loops = not unrolls(speaker, state, self.max_length, False)
        if loops:
            return self._decode_in_loop(speaker, state)

        def draw(logits):
            ids = likeliest_words(logits)
            return ops.one_hot(ids, logits.shape[-1], dtype=logits.dtype), ids

        return unroll(
            speaker,
            state,
            draw,
            num_samples=1,
            max_length=self.max_length,
            relaxed=False,
            training=False,
            logits_processors=self.logits_processors,
        ).stop_gradient()

    def _decode_in_loop(self, speaker, state):
        tokens, mask, log_probs, _ = speak_in_loop(
            speaker,
            state,
            lambda logits, step: likeliest_words(logits),
            num_samples=1,
            max_length=self.max_length,
            logits_processors=self.logits_processors.for_speaker(speaker),
        )
        return Rollout(
            tokens[:, None],
            mask[:, None],
            log_probs=log_probs[:, None],
            scores=ops.sum(log_probs, axis=-1)[:, None],
        )
