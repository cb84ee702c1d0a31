"""Human words first, and then words of the speaker's own."""

import copy

from keras import ops

from tfcap._ops import reference_mask
from tfcap._ops.arguments import checked_integer
from tfcap._ops.replicas import is_schedule
from tfcap.decoding.rollout import Decoder
from tfcap.decoding.rollout import checked_max_length
from tfcap.decoding.rollout import checked_suppress
from tfcap.decoding.rollout import special_tokens
from tfcap.decoding.rollout import suppress_tokens
from tfcap.decoding.sample import Sample
from tfcap.decoding.sample import check_references
from tfcap.layers import Categorical
from tfcap.layers._fast import mask_words

_WANTED = "a number of words, 0 or more"


class MixedPrefix(Decoder):
    """Takes the first words from the references and samples the rest.

    With this decoder, `TeacherForcing` counts the given words and
    `ScoreFunction` the drawn ones. Together they are MIXER,

    ```
    mixed = MixedPrefix(prefix=13)
    objective = 0.5 * TeacherForcing(decoder=mixed)
        + 0.5 * ScoreFunction(reward, mixed, baseline)
    ```

    Where a reference ends before the prefix does, so does the sequence.

    Args:
        prefix: Integer, number of given words, held in a variable,
            `decoder.prefix`, that may be assigned during training; or a
            schedule, a callable of the training step. In MIXER it falls from
            the whole length to 0.
        max_length: Integer `T`, number of words with the end token. Longer
            references are cut.
        seed: Integer, optional.
        keep_states: Boolean, see `Sample`. Defaults to `False`.
        suppress: Tuple of integers, ids that are never drawn, see `Sample`. A
            prefix may hold them. Defaults to none.
        unroll: Boolean or `None`, see `Sample`. Defaults to `None`.

    Example:

    >>> decoder = tfcap.decoding.MixedPrefix(
    ...     prefix=lambda step: 16 - 3 * (step // 1000)
    ... )
    >>> float(decoder.prefix)
    16.0

    Reference:

    - Ranzato et al., Sequence Level Training with Recurrent Neural Networks,
      ICLR 2016, section 3.2.2
    """

    def __init__(
        self,
        prefix,
        max_length=16,
        seed=None,
        keep_states=False,
        suppress=(),
        unroll=None,
    ):
        if not is_schedule(prefix):
            prefix = checked_integer(prefix, "prefix", _WANTED, least=0)
        self.max_length = checked_max_length(max_length)
        self.suppress = checked_suppress(suppress)
        self.channel = _OwnWords(prefix, seed=seed)
        self.sample = _Replaced(
            *(self.channel, 1, max_length),
            keep_states=keep_states,
            unroll=unroll,
        )

    @property
    def prefix(self):
        """The current number of words: a variable, or a schedule's value."""
        return self.channel.value_of("prefix")

    def ruled_out(self, rollout):
        given = ops.reshape(rollout.given > 0, (-1, self.max_length))
        return _OfDrawn(self.suppress, given)

    def decode(self, speaker, state, references=None, training=False):
        check_references(references, "MixedPrefix")
        _, samples, length = ops.shape(references)  # S and T may be unknown
        rows = ops.cast(ops.reshape(references, (-1, length)), "int32")
        pad = getattr(speaker, "pad", 0)
        rows = ops.pad(
            rows, [(0, 0), (0, self.max_length)], constant_values=pad
        )
        rows = rows[:, : self.max_length]
        human = reference_mask(rows, speaker.eos, pad) > 0
        places = ops.arange(self.max_length, dtype="float32")
        # Of a reference that goes no further, nothing can be given.
        given = ops.logical_and(places < self.prefix, human)
        sample = copy.copy(self.sample)
        sample.num_samples, sample.given, sample.human = samples, given, rows
        sample.logits_processors = _OfDrawn(self.suppress, given)
        rollout = sample.decode(speaker, state, training=training)
        human = ops.reshape(human, (-1, samples, self.max_length))
        given = ops.cast(ops.reshape(given, ops.shape(human)), "float32")
        # Nothing is said where there is no reference.
        there = ops.any(human, axis=-1)
        words = mask_words(rollout.words, ops.cast(there, "float32")[..., None])
        rollout = rollout._replace(words=words, given=given * rollout.mask)
        return rollout.masked(there, pad)


class _Replaced(Sample):
    """Samples whose words are `human` ones where they are `given`."""

    def replaced(self, draw):
        def replacing(logits, step):
            given, human = (
                ops.take(x, step, axis=1) for x in (self.given, self.human)
            )
            drawn = draw(logits, step)
            words, ids = drawn if isinstance(drawn, tuple) else (None, drawn)
            ids = ops.where(given, human, ops.cast(ids, "int32"))
            if words is None:
                return ids
            told = ops.one_hot(human, logits.shape[-1], dtype=words.dtype)
            return ops.where(given[:, None], told, words), ids

        return replacing


class _OfDrawn:
    """Words that are not drawn; given words have their own probability."""

    no_repeat_ngram = 0

    def __init__(self, suppress, given):
        self.suppress = suppress
        self.given = given

    @property
    def in_use(self):
        """True if any logit may be changed."""
        return bool(self.suppress)

    def for_speaker(self, speaker):
        """Adds the special tokens of a speaker to those suppressed."""
        return _OfDrawn((*self.suppress, *special_tokens(speaker)), self.given)

    def apply(self, logits, tokens, places):
        given = ops.take(self.given, places, axis=1)[..., None]
        return ops.where(given, logits, suppress_tokens(logits, self.suppress))


class _OwnWords(Categorical):
    """Words of the speaker's own, and where they begin."""

    def __init__(self, prefix, **kwargs):
        # Graphs refuse the name that Keras makes of a private class.
        super().__init__(name="mixed_prefix", **kwargs)
        if not is_schedule(prefix):
            prefix = float(prefix)
        self.hold("prefix", prefix, _WANTED, lambda words: words >= 0)
