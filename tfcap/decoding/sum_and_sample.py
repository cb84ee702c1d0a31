"""The most likely sequences, and samples of the others."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import repeat_samples
from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import IMPOSSIBLE
from tfcap.decoding.beam_search import BeamSearch
from tfcap.decoding.loop import StepSeeds
from tfcap.decoding.loop import read_again
from tfcap.decoding.loop import speak_in_loop
from tfcap.decoding.rollout import Decoder
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.rollout import checked_max_length
from tfcap.layers import Categorical

#: Probabilities that sum to 1 but for this sum to 1.
_ROUNDING = 1e-6


class SumAndSample(Decoder):
    """Takes the `width` most likely sequences and samples from the others.

    ```
    E[f] = sum over the beam of p(y) * f(y)
           + (1 - p(beam)) * E[f(y) | y not in the beam]
    ```

    The first term is exact, the second is sampled: `num_samples` sequences
    from the distribution over all that the beam has not found, word by word,
    without rejection. Rollouts hold the weights of both in `weights`, with
    which `ScoreFunction` gives an unbiased gradient of the expected reward.
    The more probability the beam covers, as it does late in training, the
    lower the variance. `tfcap.objectives.LeaveOneOutBaseline` is a baseline
    for it. The logged reward is weighted in the same way: its mean is the
    expected reward, and its deviation is not informative.

    Words are searched and drawn without dropout, in a loop of the graph, and
    read again in one pass with gradient, as by `Sample(unroll=False)`.

    Args:
        width: Integer `k`, sequences of the beam. Defaults to `4`.
        num_samples: Integer, samples of the rest. Defaults to `1`.
        max_length: Integer `T`, number of words with the end token.
        suppress: Tuple of integers, ids that are never generated. Defaults to
            none.
        seed: Integer, optional seed of the samples.

    Example:

    >>> decoder = tfcap.decoding.SumAndSample(width=4, num_samples=2)
    >>> decoder.num_samples
    6

    Reference:

    - Liu et al., Rao-Blackwellized Stochastic Gradients for Discrete
      Distributions, ICML 2019
    - Kool et al., Estimating Gradients for Discrete Random Variables by
      Sampling without Replacement, ICLR 2020, section 3.3
    """

    def __init__(
        self,
        width: int = 4,
        num_samples: int = 1,
        max_length: int = 16,
        suppress: tuple[int, ...] = (),
        seed: int | None = None,
    ):
        self.width = checked_integer(width, "width")
        self.rest = checked_integer(num_samples, "num_samples")
        # Of estimators, which compare the samples of a row.
        self.num_samples = self.width + self.rest
        self.max_length = checked_max_length(max_length)
        self.logits_processors = LogitsProcessors(suppress).checked()
        self.channel = Categorical(seed=seed)
        self.beam = BeamSearch(
            self.width, self.max_length, suppress=suppress, unroll=False
        )

    def decode(self, speaker, state, references=None, training=False):
        processors = self.logits_processors.for_speaker(speaker)
        frozen = keras.tree.map_structure(ops.stop_gradient, state)
        beam = self.beam.decode(speaker, frozen)
        _, scores = read_again(
            *(speaker, frozen, beam.tokens, beam.mask, processors),
            training=False,
        )
        scores = ops.stop_gradient(scores)  # (B, k, T)
        samples, mask = self._draw_rest(
            speaker, frozen, beam.tokens, scores, processors
        )
        # Where the beam has found everything, there is nothing to draw.
        left = _rest(scores, beam.nonempty)[0] > _ROUNDING
        mask = mask * ops.cast(left, mask.dtype)[..., None]
        tokens = ops.concatenate([beam.tokens, samples], axis=1)
        mask = ops.concatenate([beam.mask, mask], axis=1)
        _, log_probs = read_again(
            *(speaker, state, tokens, mask, processors, training)
        )
        log_probs = ops.where(mask > 0, log_probs, 0.0)
        totals = ops.sum(log_probs, axis=-1)
        rest, found = _rest(
            ops.stop_gradient(log_probs[:, : self.width]), beam.nonempty
        )
        rest = ops.where(left, rest, 0.0)
        rest = ops.repeat(rest / self.rest, self.rest, axis=1)
        weights = ops.concatenate([found, rest], axis=1)
        return Rollout(tokens, mask, None, log_probs, totals, weights=weights)

    def _draw_rest(self, speaker, state, found, scores, processors):
        """Draws sequences that the beam has not found: tokens and mask."""
        rows = ops.shape(found)[0] * self.rest
        others = _Others(
            processors,
            repeat_samples(found, self.rest),
            repeat_samples(scores, self.rest),
        )
        with self.channel.decoding(rows):
            shape = (rows, speaker.vocabulary_size)
            seeds = StepSeeds(self.channel, shape)
            tokens, mask, *_ = speak_in_loop(
                speaker,
                state,
                seeds.draw,
                num_samples=self.rest,
                max_length=self.max_length,
                logits_processors=others,
            )
            seeds.skip(self.max_length)
        shape = (-1, self.rest, self.max_length)
        return ops.reshape(tokens, shape), ops.reshape(mask, shape)


class _Others:
    """A logits processor: words in so far as no known sequence takes them.

    ```
    p(word | prefix, other sequence) ~ p(word | prefix)
        - sum over known sequences that go on so of p(sequence | prefix)
    ```

    Args:
        processors: `LogitsProcessors` that come first.
        known: Integer tensor of shape `(n, k, T)`, distinct sequences.
        scores: Float tensor of shape `(n, k, T)`, log probabilities of their
            words.
    """

    def __init__(self, processors: Any, known: Any, scores: Any):
        self.processors, self.known = processors, known
        # Log probability of each sequence from every place on.
        total = ops.sum(scores, axis=-1, keepdims=True)
        self.tails = total - ops.cumsum(scores, axis=-1) + scores

    def apply(self, logits: Any, tokens: Any, places: Any) -> Any:
        """Applies them, as `LogitsProcessors.apply()`."""
        logits = self.processors.apply(logits, tokens, places)
        logits = ops.cast(logits, "float32")
        probabilities = ops.softmax(logits, axis=-1)  # (n, V), or (n, P, V)
        same = ops.equal(tokens[:, None], self.known)  # (n, k, T)
        differs = ops.cast(ops.logical_not(same), "int32")
        # Differences before each place.
        differs = ops.cumsum(differs, axis=-1) - differs
        alike = ops.take(ops.equal(differs, 0), places, axis=-1)  # (n, k, P)
        tails = ops.exp(ops.take(self.tails, places, axis=-1))
        mass = ops.where(alike, tails, 0.0)
        words = ops.take(self.known, places, axis=-1)
        taken = ops.one_hot(words, logits.shape[-1], dtype="float32")
        taken = ops.sum(taken * mass[..., None], axis=1)  # (n, V), or (n, P, V)
        left = probabilities - taken
        possible = left > 1e-5 * probabilities
        left = ops.log(ops.where(possible, left, 1.0))
        return ops.where(possible, left, IMPOSSIBLE)


def _rest(scores, present):
    """The probability of all others, and of each sequence that is present."""
    found = ops.exp(ops.sum(scores, axis=-1))
    found = ops.where(present, found, 0.0)
    return ops.maximum(1.0 - ops.sum(found, axis=1, keepdims=True), 0.0), found
