"""A training step's batch and its rollouts."""

import copy

import keras
from keras import ops

from tfcap._ops import without_start
from tfcap._printed import printed
from tfcap.decoding import GroundTruth
from tfcap.decoding.loop import read_again
from tfcap.decoding.rollout import NONE


class Episode:
    """Holds the rollouts of a step: each decoder runs at most once.

    Terms of an objective, baselines and rewards ask the episode for what they
    need; two that were given the same decoder object share its rollout.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        inputs: Nest of tensors, the batch.
        state: Nest of tensors with leading axis `B`, from `speaker.begin()`,
            for all decoders, also those that decode as at inference. Defaults
            to calls of it, see `inference_state`.
        training: Boolean.

    Example:

    >>> class Coin:
    ...     vocabulary_size, bos, eos = 4, 1, 2
    ...
    ...     def begin(self, inputs, training=False):
    ...         return keras.ops.zeros((len(inputs), 1))
    ...
    ...     def step(self, words, state, training=False):
    ...         return keras.ops.ones((len(state), 4)), state
    ...
    ...     def references(self, inputs):
    ...         return inputs
    >>> episode = tfcap.objectives.Episode(Coin(), np.array([[[3, 2]]]))
    >>> greedy = tfcap.decoding.Greedy(max_length=2)
    >>> episode.rollout(greedy) is episode.rollout(greedy)
    True
    """

    __repr__ = printed

    def __init__(self, speaker, inputs, state=None, training=False):
        self.speaker = speaker
        self.inputs = inputs
        self.training = training
        self._alike = state is not None or not training
        if state is None:
            state = speaker.begin(inputs, training=training)
        self.state = state
        #: The rollout whose rewards are being compared, see `scoring()`.
        self.scored = self.credit = None
        #: By `id` of an estimator, the rollout of what its reward judged.
        self.judged = {}
        # Shared with what `scoring()` returns.
        self._states = {}
        self._rollouts = {}
        self._ground_truth = GroundTruth()

    @property
    def inference_state(self):
        """The state of decoders that decode as in inference.

        In training it is that of `speaker.begin(training=False)`, computed at
        first use, without gradient. It is `state` itself if that is the same:
        outside of training, and for a speaker whose `begin_uses_training` is
        false.
        """
        if self._alike or not getattr(
            self.speaker, "begin_uses_training", True
        ):
            return self.state
        if "inference" not in self._states:
            state = self.speaker.begin(self.inputs, training=False)
            self._states["inference"] = keras.tree.map_structure(
                ops.stop_gradient, state
            )
        return self._states["inference"]

    def scoring(self, rollout, credit=None):
        """Returns the same episode for a baseline of a rollout's rewards.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            credit: `Credit` of its words, or `None`.

        Returns:
            `Episode` that shares everything with this one, and whose `scored`
            is the rollout, also for its decoder: sequences that the reward
            abstains from are not compared.
        """
        view = copy.copy(self)
        view.scored, view.credit = rollout, credit
        return view

    def rollout(self, decoder):
        """Returns the rollout of a decoder, decoded at first use.

        A row without a human word is absent: it has no words and no reward,
        and is not a rival of others.

        Args:
            decoder: `tfcap.decoding.Decoder`.

        Returns:
            `tfcap.decoding.Rollout`.
        """
        # The decoder is kept beside its rollout: an id may be reused as soon
        # as its object is gone.
        if id(decoder) not in self._rollouts:
            references = self.speaker.references(self.inputs)
            if references is not None:
                references = without_start(references, self.speaker)
            rollout = decoder.decode(
                self.speaker,
                self.inference_state if decoder.inference else self.state,
                references=references,
                training=self.training and not decoder.inference,
            )
            if references is not None and not isinstance(decoder, GroundTruth):
                pad = getattr(self.speaker, "pad", 0)
                rollout = rollout.masked(self.present[:, None], pad)
            self._rollouts[id(decoder)] = (decoder, rollout)
        rollout = self._rollouts[id(decoder)][1]
        if self.scored is not None and self.scored.tokens is rollout.tokens:
            # Without what the reward abstains from.
            return self.scored
        return rollout

    @property
    def references(self):
        """The human words as a `Rollout`, with tokens `(B, S, T)`."""
        return self.rollout(self._ground_truth)

    @property
    def present(self):
        """Float tensor `(B,)`: 0 for rows without a human word.

        A dialog of fewer rounds than the batch leaves such rows.
        """
        return ops.max(self.references.mask, axis=(1, 2))

    def log_probs(self, rollout):
        """Returns log probabilities `(B, S, T)` of a rollout's words.

        Decoders that search leave them out: the speaker then scores the words
        in one pass, with new masks of dropout.
        """
        if rollout.log_probs is not None:
            return rollout.log_probs
        return read_again(
            *(self.speaker, self.state, rollout.tokens, rollout.mask, NONE),
            self.training,
        )[1]

    def decoder_of(self, rollout):
        """Returns the decoder of a rollout; `None` if it is unknown."""
        for decoder, own in self._rollouts.values():
            if own.tokens is rollout.tokens:
                return decoder
        return None

    def scores_by(self, speaker, state, rollout):
        """Returns log probabilities `(B, S, T)` under another speaker.

        Args:
            speaker: `tfcap.decoding.Speaker`, which scores as in inference.
            state: Its state.
            rollout: `tfcap.decoding.Rollout`. Words that its decoder always
                rules out are impossible here, too, if its log probabilities
                are the decoder's.
        """
        decoder, processors = self.decoder_of(rollout), NONE
        if rollout.log_probs is not None and decoder is not None:
            processors = decoder.ruled_out(rollout).for_speaker(speaker)
        return read_again(
            speaker, state, rollout.tokens, rollout.mask, processors, False
        )[1]
