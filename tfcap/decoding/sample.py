"""Words that are given, the most likely, or drawn through a channel."""

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import likeliest_words
from tfcap._ops import reference_mask
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_integer
from tfcap._ops.loops import SameDraws
from tfcap._ops.replicas import schedules_held
from tfcap.decoding.continuation import continue_from
from tfcap.decoding.loop import StepSeeds
from tfcap.decoding.loop import read_again
from tfcap.decoding.loop import speak_in_loop
from tfcap.decoding.rollout import Decoder
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.rollout import checked_max_length
from tfcap.decoding.rollout import checked_unroll
from tfcap.decoding.speaker import checked_guidance
from tfcap.decoding.speaker import guided
from tfcap.decoding.speaker import stepwise_log_probs
from tfcap.decoding.speaker import unroll
from tfcap.decoding.speaker import unrolls
from tfcap.layers import Categorical
from tfcap.layers import WordChannel
from tfcap.layers._fast import by_sample
from tfcap.layers._fast import cast_words
from tfcap.layers._fast import mask_words


class GroundTruth(Decoder):
    """Takes every word from the references: teacher forcing.

    With a constant reward this is teacher forcing.

    Example:

    >>> class Scribe:
    ...     eos = 2
    >>> references = np.array([[[5, 2, 0]]])
    >>> rollout = tfcap.decoding.GroundTruth().decode(Scribe, None, references)
    >>> print(rollout.mask.numpy())
    [[[1. 1. 0.]]]
    """

    def decode(self, speaker, state, references=None, training=False):
        check_references(references, "GroundTruth")
        pad = getattr(speaker, "pad", 0)
        return Rollout(references, reference_mask(references, speaker.eos, pad))


def check_references(references, decoder):
    """Rejects a batch without human words for a decoder that says them."""
    if references is None:
        raise ValueError(
            "`references` must hold the human words, of shape (B, S, T), "
            f"for the {decoder} decoder. Received: references=None. "
            "Return them from the speaker's `references()`."
        )
    check_shape(references, "B S T", "references")


class Greedy(Decoder):
    """Takes the most likely word at every step.

    It decodes without dropout in training, too: an `Episode` has the speaker
    read the batch again, with dropout off.

    Args:
        max_length: Integer `T`, number of words with the end token.
        suppress: Tuple of integers, ids that are never generated, such as the
            unknown word's; log probabilities are over the other words.
            Defaults to none.
        no_repeat_ngram: Integer `n`: no n-gram of this size is generated
            twice. Defaults to `0`, no limit.
        unroll: Boolean or `None`, see `Sample`. Defaults to `None`.
        guidance: Float `gamma` of classifier-free guidance: words follow the
            normalized `gamma * log p(w | x) + (1 - gamma) * log p(w)`. Above
            1, captions are more specific to their image and less natural. For
            speakers trained with `condition_dropout`. Defaults to `1.0`, none.

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
        speaker, state = guided(speaker, state, self.guidance)
        if not unrolls(speaker, state, self.max_length, False, self.unroll):
            return self._decode_in_loop(speaker, state)

        def draw(logits, step):
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


class Sample(Decoder):
    """Draws every word through a word channel.

    What the listener reads and what the speaker is fed back are two choices.
    With `feedback="index"` the speaker reads the drawn word's embedding, and
    gradients reach it only through what the listener reads. With
    `feedback="relaxed"` it reads the channel's vector, and gradients also pass
    from word to word. Log probabilities condition on the words as constants:
    with relaxed feedback, the words are read a second time, as ids and with
    the same dropout masks, so that pathwise and score-function estimators may
    share one rollout.

    It samples in inference, too; `Greedy` is deterministic.

    Args:
        channel: `tfcap.layers.WordChannel`. Defaults to `Categorical()`.
        num_samples: Integer `S`, sequences for each row. Defaults to `1`.
        max_length: Integer `T`, number of words with the end token.
        feedback: `"index"` or `"relaxed"`.
        suppress: Tuple of integers, ids that are never generated, such as the
            unknown word's. Words are drawn, and log probabilities are taken,
            from the distribution over the others. Defaults to none.
        no_repeat_ngram: Integer `n`: no n-gram of this size is generated
            twice. Defaults to `0`, no limit.
        top_k: Integer, how many of the most likely words may be drawn.
            Defaults to `None`, all.
        top_p: Float in `(0, 1]`: words are drawn from the fewest most likely
            ones that have this probability together. Defaults to `None`, all.
        keep_states: Boolean, whether rollouts hold the speaker's `states`,
            which `tfcap.objectives.LearnedBaseline` reads. Defaults to
            `False`.
        unroll: `True`: every step is a part of the graph, with a gradient of
            its own; for relaxed feedback, and for short sequences.
            `False`: words are drawn without gradient in a loop of the graph,
            which is traced once and stops when all sequences have ended, and
            are then read again in one pass with gradient. Words and gradients
            are equal, except that the loop has no dropout and the pass has
            its own masks, after a `begin()` that they share.
            `None`: the speaker's attribute `unroll`; else `False` for more
            than 32 words (on JAX, one) of a speaker that scores them in one
            pass, `True` for fewer. Defaults to `None`.
        guidance: As for `Greedy`. Log probabilities are of the guided
            distribution.

    Example:

    >>> decoder = tfcap.decoding.Sample(
    ...     tfcap.layers.GumbelSoftmaxST(temperature=0.5), max_length=9
    ... )
    >>> decoder.pathwise
    True

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.3
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 5. The released code feeds the index back for
      straight-through channels and the vector for partial sampling.
    """

    def __init__(
        self,
        channel=None,
        num_samples=1,
        max_length=16,
        feedback="index",
        suppress=(),
        no_repeat_ngram=0,
        top_k=None,
        top_p=None,
        keep_states=False,
        unroll=None,
        guidance=1.0,
    ):
        self.guidance = checked_guidance(guidance)
        channel = Categorical() if channel is None else channel
        if not isinstance(channel, WordChannel):
            raise TypeError(
                "`channel` must be a `tfcap.layers.WordChannel`. Received: "
                f"channel={channel!r}. Wrap a distribution of your own in a "
                "subclass that overrides `emit()`."
            )
        check_choice(feedback, "feedback", ("index", "relaxed"))
        self.unroll = checked_unroll(unroll)
        if feedback == "relaxed" or not channel.replays:
            if unroll is False:
                raise ValueError(
                    '`unroll` must not be False for feedback="relaxed" or a '
                    "channel that does not replay: in a loop no gradient "
                    "passes from word to word, and the channel must give its "
                    f"vectors again. Received: unroll=False, {feedback=}, "
                    f"{type(channel).__name__}. Use `unroll=True`."
                )
            self.unroll = True
        self.channel = channel
        self.num_samples = checked_integer(num_samples, "num_samples")
        self.max_length = checked_max_length(max_length)
        self.feedback = feedback
        self.keep_states = keep_states
        self.logits_processors = LogitsProcessors(
            suppress, no_repeat_ngram, top_k, top_p
        ).checked()

    @property
    def pathwise(self):
        return self.channel.differentiable

    def decode(self, speaker, state, references=None, training=False):
        # Gradients of log probabilities must not pass to the words before.
        again = self.feedback == "relaxed" and self.pathwise
        again = again and self.channel.discrete
        speaker, state = guided(speaker, state, self.guidance)
        draws = SameDraws(speaker if training and again else None)
        rollout = self._speak(speaker, state, training)
        if not again:
            return rollout
        with draws.again():
            log_probs = stepwise_log_probs(
                speaker, state, rollout.tokens, training, self.logits_processors
            )
        return rollout._replace(
            log_probs=log_probs, scores=ops.sum(log_probs, axis=-1)
        )

    def _speak(self, speaker, state, training):
        """Words as they are drawn, and log probabilities given what is fed."""
        rows = ops.shape(keras.tree.flatten(state)[0])[0] * self.num_samples
        if self._loops(speaker, state):
            return self._decode_in_loop(speaker, state, rows, training)
        with schedules_held(), self.channel.decoding(rows):
            rollout = unroll(
                speaker,
                state,
                self.replaced(lambda logits, step: self.channel.draw(logits)),
                num_samples=self.num_samples,
                max_length=self.max_length,
                relaxed=self.feedback == "relaxed",
                training=training,
                logits_processors=self.logits_processors,
                keep_states=self.keep_states,
                seeds=[self.channel.seed_generator],
            )
        if training:
            self.channel.next_step()
        return rollout._replace(discrete=self.channel.discrete)

    def replaced(self, draw):
        """Draws what is said: as `draw` does, but for given words."""
        return draw

    def _loops(self, speaker, state):
        processors = self.logits_processors.for_speaker(speaker)
        reads = self.pathwise or processors.in_use
        return not unrolls(speaker, state, self.max_length, reads, self.unroll)

    def _decode_in_loop(self, speaker, state, rows, training):
        """Draws without gradient, and then reads all words at once."""
        processors = self.logits_processors.for_speaker(speaker)
        shape = (rows, speaker.vocabulary_size)
        with schedules_held(), self.channel.decoding(rows):
            seeds = StepSeeds(self.channel, shape)
            rows, mask, _, states = speak_in_loop(
                speaker,
                state,
                self.replaced(seeds.draw),
                num_samples=self.num_samples,
                max_length=self.max_length,
                logits_processors=processors,
                keep_states=self.keep_states,
            )
            tokens, mask = (
                by_sample(x, self.num_samples) for x in (rows, mask)
            )
            logits, log_probs = read_again(
                *(speaker, state, tokens, mask, processors, training),
                reads_logits=self.pathwise,
            )
            words = self._words(logits, rows, seeds)
            seeds.skip(self.max_length)
        if training:
            self.channel.next_step()
        return Rollout(
            tokens,
            mask,
            mask_words(by_sample(words, self.num_samples), mask),
            log_probs,
            ops.sum(log_probs, axis=-1),
            discrete=self.channel.discrete,
            states=by_sample(states, self.num_samples),
        )

    def _words(self, logits, rows, seeds):
        """The channel's vectors `(n, T, V)` of words that are known."""
        channel = self.channel
        if logits is None:
            like = ops.zeros(seeds.shape[1:], channel.compute_dtype)
            return channel.one_hot(rows, like)
        noise = seeds.noise(self.max_length) if self.pathwise else ()
        logits = ops.reshape(logits, (*ops.shape(rows), logits.shape[-1]))
        words = channel.emit_words(ops.cast(logits, "float32"), rows, noise)
        return cast_words(words, channel.compute_dtype)

    def continuations(
        self,
        speaker,
        state,
        rollout,
        num_continuations=1,
        training=False,
        prefixes=None,
    ):
        """Continues prefixes of what was said.

        Args:
            speaker: `tfcap.decoding.Speaker`.
            state: Nest of tensors with leading axis `B`, from
                `speaker.begin()`.
            rollout: `tfcap.decoding.Rollout` of discrete words, tokens of
                shape `(B, S, T)`.
            num_continuations: Integer `K`, of each beginning. Defaults to `1`.
            training: Boolean, passed on to the speaker, but in a loop.
            prefixes: Tuple of `N` integers from 0 to `T - 2`, ascending:
                the indices of the last words of the prefixes. Defaults to
                `None`, all `T - 1` of them.

        Returns:
            `tfcap.decoding.Rollout` of tokens and mask of shape
            `(B, S, N, K, T)`: along the third axis, the words up to that one
            and K ways to go on. Padding only, with a mask of zeros, for
            prefixes with which the sequence ended.

        Raises:
            ValueError: If the decoder has `no_repeat_ngram`, which would read
                the prefix.
        """
        self.logits_processors.check_no_prefix()
        length, seeds = rollout.tokens.shape[-1], None
        speaker, state = guided(speaker, state, self.guidance)
        with schedules_held():
            if not unrolls(speaker, state, length, False, self.unroll):
                shape = (1, speaker.vocabulary_size)
                seeds = StepSeeds(self.channel, shape)
            said = continue_from(
                speaker,
                state,
                rollout,
                self.channel.draw,
                num_continuations=num_continuations,
                training=training,
                logits_processors=self.logits_processors,
                prefixes=prefixes,
                seeds=seeds,
            )
            if seeds is not None:
                seeds.skip(length - 1)
        return Rollout(*said)
