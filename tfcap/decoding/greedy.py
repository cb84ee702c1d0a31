"""Greedy search."""

from keras import ops

from tfcap.decoding.decoder import Decoder
from tfcap.decoding.decoder import check_no_training
from tfcap.decoding.decoder import checked_max_length
from tfcap.decoding.logits_processors import LogitsProcessors
from tfcap.decoding.unroll import unroll
from tfcap.ops import likeliest_words


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
    ):
        self.max_length = checked_max_length(max_length)
        processors = LogitsProcessors(suppress, no_repeat_ngram)
        self.logits_processors = processors.checked()

    def decode(self, speaker, state, references=None, training=False):
        check_no_training(self, training)

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
