"""Human words, scored after some words of the speaker's own."""

from keras import ops

from tfcap._ops import repeat_samples
from tfcap._ops import token_log_probs
from tfcap._ops.loops import scan_words
from tfcap.decoding.loop import StepSeeds
from tfcap.decoding.loop import speak_in_loop
from tfcap.decoding.rollout import NONE
from tfcap.decoding.rollout import Decoder
from tfcap.decoding.rollout import check_logits
from tfcap.decoding.rollout import checked_unroll
from tfcap.decoding.rollout import special_tokens
from tfcap.decoding.rollout import suppress_tokens
from tfcap.decoding.sample import GroundTruth
from tfcap.decoding.speaker import check_start
from tfcap.decoding.speaker import each_step
from tfcap.decoding.speaker import logits_of_words
from tfcap.decoding.speaker import step_by_step
from tfcap.decoding.speaker import unrolls
from tfcap.decoding.speaker import up_to_the_longest
from tfcap.layers import WordChannel
from tfcap.layers.word_channel import sample_words


class ScheduledSampling(Decoder):
    """Scores the references while it reads some of its own words.

    With teacher forcing alone, a speaker never reads its own words, and fails
    after its first mistake. Here the word that it reads is, at every step and
    in every row,

    ```
    input[t + 1] ~ softmax(logits[t])    with probability `probability`
    input[t + 1] = reference[t]          otherwise
    ```

    while what it is made to say stays the reference. No gradient passes
    through the words that are drawn. When it does not train, the speaker reads
    the references.

    Args:
        probability: Float in `[0, 1]`, probability of reading a word of its
            own, held in a variable, `decoder.probability`, that may be
            assigned during training; or a `keras.Variable`; or a schedule, a
            callable of the training step. Usually annealed from 0 to 0.25.
        seed: Integer, optional.
        unroll: Boolean or `None`, see `Sample`: the words that are read may be
            drawn in a loop, without dropout, and then be read in one pass,
            with gradient. Defaults to `None`.

    Example:

    >>> decoder = tfcap.decoding.ScheduledSampling(
    ...     lambda step: keras.ops.minimum(0.25, 0.05 * (step // 5000))
    ... )
    >>> objective = tfcap.objectives.TeacherForcing(decoder=decoder)

    Reference:

    - Bengio et al., Scheduled Sampling for Sequence Prediction with Recurrent
      Neural Networks, NIPS 2015, section 2.4. The paper names the complement:
      its epsilon is the probability of reading the reference.
    """

    def __init__(self, probability, seed=None, unroll=None):
        self.unroll = checked_unroll(unroll)
        self.channel = _OwnWords(probability, seed=seed)

    @property
    def probability(self):
        """The current probability: a variable, or a schedule's value."""
        return self.channel.value_of("probability")

    def decode(self, speaker, state, references=None, training=False):
        rollout = GroundTruth().decode(speaker, state, references)
        if not training:
            return rollout
        _, samples, length = ops.shape(references)  # S and T may be unknown
        rows = ops.cast(ops.reshape(references, (-1, length)), "int32")
        loops, length = self.unroll is False, references.shape[-1]
        if self.unroll is None and length is not None:
            loops = not unrolls(speaker, state, length, True)
        if loops and length not in (None, 1):
            scores = self._decode_in_loop(
                speaker, state, rows, samples, rollout.mask, training
            )
            return self._scored(rollout, scores)
        state = repeat_samples(state, samples)
        words = ops.full_like(rows[:, 0], speaker.bos)
        if length is None:

            def step(reference, carried):
                logits, state = speaker.step(*carried, training=training)
                check_logits(logits, speaker)
                words = self._fed(speaker, logits, reference)
                return token_log_probs(logits, reference), (words, state)

            scores = scan_words(step, (words, state), rows)
            return self._scored(rollout, scores)

        def step(t, words, state):
            logits, state = speaker.step(words, state, training=training)
            check_start(logits, speaker, t)
            reference = ops.take(rows, t, axis=1)
            score = token_log_probs(logits, reference)
            with seeds.at(t):
                words = self._fed(speaker, logits, reference)
            return score, (words, state)

        seeds = self._seeds(speaker, rows)
        with step_by_step(speaker, ops.shape(rows)[0], length):
            scores, _ = each_step(speaker, step, length, (words, state))
        # Nothing is read after the last word.
        seeds.skip(length - 1)
        return self._scored(rollout, ops.stack(scores, 1))

    def _fed(self, speaker, logits, references):
        """Words `(n,)` that are read after the logits `(n, V)` of a step."""
        own = suppress_tokens(logits, special_tokens(speaker))
        return self.channel.replace(references, own)

    def _seeds(self, speaker, rows):
        """Seeds by step, for words `(n, T)`."""
        return StepSeeds(
            self.channel,
            (ops.shape(rows)[0], speaker.vocabulary_size),
            lambda logits: self._fed(speaker, logits, rows[:, 0]),
        )

    def _decode_in_loop(self, speaker, state, rows, samples, mask, training):
        """Log probabilities of references, given words of a loop."""
        length = rows.shape[1] - 1
        present = ops.reshape(mask, ops.shape(rows)) > 0

        def draw(logits, t):
            references = ops.take(rows, t, axis=1)
            with seeds.at(t):
                return self._fed(speaker, logits, references)

        def ends(ids, t):
            return ops.logical_not(ops.take(present, t + 1, axis=1))

        seeds = self._seeds(speaker, rows)
        fed, *_ = speak_in_loop(
            speaker,
            state,
            draw,
            num_samples=samples,
            max_length=length,
            logits_processors=NONE,
            ends=ends,
        )
        seeds.skip(length)
        fed = ops.concatenate([fed, rows[:, -1:]], axis=1)
        words = (ops.reshape(x, ops.shape(mask)) for x in (fed, rows))

        def read(fed, words):
            logits = logits_of_words(speaker, state, fed, training)
            return [token_log_probs(logits, words)]

        return up_to_the_longest(read, speaker, state, mask, *words)[0]

    def _scored(self, rollout, scores):
        self.channel.next_step()
        scores = ops.reshape(scores, ops.shape(rollout.mask))
        # where() rather than a product: padding may be impossible.
        scores = ops.where(rollout.mask > 0, scores, 0.0)
        return rollout._replace(log_probs=scores)


class _OwnWords(WordChannel):
    """Puts drawn words in the place of some references."""

    def __init__(self, probability, **kwargs):
        # Graphs refuse the name that Keras makes of a private class.
        super().__init__(name="scheduled_sampling", **kwargs)
        self.hold(
            "probability",
            probability,
            "in [0, 1]",
            lambda x: 0 <= x <= 1,
            logged="scheduled_sampling",
        )

    def replace(self, references, logits):
        """Words `(n,)`: each drawn from `(n, V)` logits, or the reference."""
        logits = ops.cast(ops.stop_gradient(logits), "float32")
        chances = self.uniform((2, *ops.shape(references)))
        drawn = sample_words(ops.softmax(logits, axis=-1), chances[0])
        own = chances[1] < self.value_of("probability")
        return ops.where(own, ops.cast(drawn, references.dtype), references)
