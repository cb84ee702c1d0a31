"""Several updates on the words of a batch, which are sampled once."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tfcap._ops import sequence_mask
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import checked_integer
from tfcap.decoding import Sample
from tfcap.decoding.loop import read_again
from tfcap.decoding.rollout import NONE
from tfcap.layers import Categorical
from tfcap.objectives import ClippedRatio
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.objectives.proximal import KLDivergence


def checked_ratio(
    model: keras.Model, ratio: ClippedRatio | None
) -> ClippedRatio | None:
    """Returns the ratio of sampled words; rejects terms without ratios.

    Args:
        model: `tfcap.training.JointTraining` with `learners` and
            `updates_per_rollout`.

    Raises:
        ValueError: If there are several learners, or a gradient that does not
            pass through the scores of words, the only part computed again.
    """
    updates = model.updates_per_rollout
    if checked_integer(updates, "updates_per_rollout") > 1:
        ratio = ratio or ClippedRatio()
    if ratio is None:
        return None
    given = f"updates_per_rollout={updates}, clipped_ratio={ratio!r}"
    if [x.network for x in model.learners.values()] != [model.speaker]:
        raise ValueError(
            "`learners` must be the speaker alone for several updates of a "
            f"rollout. Received: {given}, and the learners "
            f"{', '.join(map(repr, model.learners))}. Leave those arguments "
            "out."
        )
    (learner,) = model.learners.values()
    for _, term in learner.objective.terms:
        if not _has_ratio(term):
            raise ValueError(
                "Terms of `learners` must be ScoreFunction, TeacherForcing or "
                "KLDivergence, of words drawn at temperature 1, for several "
                f"updates of a rollout. Received: {given}, and the term "
                f"{term.name!r}. Leave those arguments out."
            )
    return ratio


def _has_ratio(term):
    """Returns whether a term is linear in the scores that samplers give."""
    channel = getattr(getattr(term, "decoder", None), "channel", None)
    warm = isinstance(channel, Categorical) and channel.temperature != 1.0
    return isinstance(term, ScoreFunction | KLDivergence) and not warm


class _Scored(Episode):
    """An episode that is differentiated with respect to scores of words."""

    def __init__(self, speaker, inputs, tape):
        super().__init__(speaker, inputs, training=True)
        self._tape, self._scores = tape, {}

    def log_probs(self, rollout):
        # Kept beside its rollout: an id may be reused as soon as it is gone.
        key = id(rollout.tokens), rollout.log_probs is None
        if key not in self._scores:
            scores = tf.identity(super().log_probs(rollout))
            self._tape.watch(scores)
            self._scores[key] = rollout, scores
        return self._scores[key][1]

    def gradients(self, loss, anchor) -> tuple[list, list]:
        """Returns tokens, gradients, scores `(B, S, T)`, and kinds.

        Gradients are those of two losses: of terms that a ratio weights and
        clips, and of divergences, which are not clipped. A kind is a pair: the
        logits processors of the scores, and whether the words were sampled, so
        that a ratio corrects them.
        """
        rollouts, scores = zip(*self._scores.values())
        each = zip(*(self._tape.gradient(x, scores) for x in (loss, anchor)))
        known = [
            (rollout, *_filled(slopes), score)
            for rollout, slopes, score in zip(rollouts, each, scores)
            if any(slope is not None for slope in slopes)
        ]
        kinds = [
            (self._processors_of(rollout), rollout.log_probs is not None)
            for rollout, *_ in known
        ]
        return [(rollout.tokens, *rest) for rollout, *rest in known], kinds

    def _processors_of(self, rollout):
        """Logits processors of the decoder that scored words itself."""
        if rollout.log_probs is None:
            return NONE
        decoder = self.decoder_of(rollout)
        guided = getattr(decoder, "guidance", 1.0) != 1.0
        if guided or not isinstance(decoder, Sample):
            raise ValueError(
                "`updates_per_rollout` must be 1, and `clipped_ratio` None, "
                "for decoders whose scores differ from the speaker's. "
                f"Received: decoder={type(decoder).__name__}. Use Sample "
                "without guidance, BeamSearch or GroundTruth."
            )
        return decoder.logits_processors.for_speaker(self.speaker)


def _filled(slopes):
    """Replaces one missing gradient of two by zeros."""
    there = next(x for x in slopes if x is not None)
    return [tf.zeros_like(there) if x is None else x for x in slopes]


def draw(model: keras.Model, inputs: Any) -> dict:
    """Samples and rewards the words of a batch, with gradients by scores.

    Returns:
        Dict: `inputs`; `scored`, of every rollout the tokens, the gradients of
        the loss and of its divergences by their log probabilities, and these,
        `(B, S, T)`; `losses` and `logs` of the objective.
    """
    (learner,) = model.learners.values()
    # Weights are not watched: nothing of the pass is kept.
    with tf.GradientTape(
        persistent=True, watch_accessed_variables=False
    ) as tape:
        episode = _Scored(model.speaker, inputs, tape)
        losses, logs = learner.objective.losses(episode)
        terms = learner.objective.named_terms()
        parts = {True: tf.zeros(()), False: tf.zeros(())}
        for name, loss in losses.items():
            parts[isinstance(terms[name].estimator, KLDivergence)] += loss
    scored, model.kinds = episode.gradients(parts[False], parts[True])
    return {"inputs": inputs, "scored": scored, "losses": losses, "logs": logs}


def update(model: keras.Model, drawn: dict) -> dict:
    """Takes a step on the words of `draw()`."""
    speaker = model.speaker
    with tf.GradientTape() as tape:
        state = speaker.begin(drawn["inputs"], training=True)
        # Of these losses, only penalties on weights have a gradient here.
        computed = model.computed(
            [*model.learners], drawn["losses"], dict(drawn["logs"])
        )
        scores, away = zip(
            *(
                _surrogate(model, state, *part, *kind)
                for part, kind in zip(drawn["scored"], model.kinds)
            )
        )
        loss = tf.add_n(scores) + computed.loss
    clipped, words = tf.unstack(sum_over_replicas(tf.add_n(away)))
    computed.logs["clipped_words"] = clipped / tf.maximum(words, 1.0)
    return model.update(tape, [computed], [loss])


def _surrogate(model, state, tokens, slopes, pulls, before, processors, drawn):
    """Returns the loss of words scored again, by known gradients.

    Also returns the number of clipped words, and of all words.
    """
    speaker = model.speaker
    mask = sequence_mask(tokens, speaker.eos, getattr(speaker, "pad", 0))
    rows = tf.reshape(mask, (-1, tokens.shape[-1]))
    _, log_probs = read_again(
        speaker, state, tokens, rows, processors, training=True
    )

    def linear(slopes):
        return tf.reduce_sum(tf.where(slopes != 0, slopes * log_probs, 0.0))

    if not drawn:
        return linear(slopes + pulls), tf.zeros((2,))
    losses, away = model.clipped_ratio(slopes, log_probs, before, mask)
    words = tf.math.count_nonzero(slopes, dtype=tf.float32)
    loss = tf.reduce_sum(losses) + linear(pulls)
    return loss, tf.stack([tf.reduce_sum(away), words])


def train_function(model: keras.Model) -> Callable:
    """Returns a Keras train function with several updates of a rollout."""
    strategy = model.distribute_strategy

    def draw_step(data):
        inputs = model.inputs_of(data)
        with model.step_of_schedules() as annealed:
            return {**draw(model, inputs), "annealed": annealed}

    def update_step(drawn):
        return {**update(model, drawn), **drawn["annealed"]}

    def draw_all(data):
        return strategy.run(draw_step, args=(data,))

    def update_all(drawn):
        logs = strategy.run(update_step, args=(drawn,))
        return {k: strategy.reduce("MEAN", v, None) for k, v in logs.items()}

    if not model.run_eagerly:
        options = {"reduce_retracing": True, "autograph": False}
        draw_all = tf.function(draw_all, **options)
        update_all = tf.function(update_all, **options)

    def train(iterator):
        # Keras hands on what is None as an optional value.
        data = keras.tree.map_structure(
            lambda x: None if isinstance(x, tf.experimental.Optional) else x,
            next(iterator),
        )
        drawn = draw_all(data)
        for _ in range(model.updates_per_rollout):
            logs = update_all(drawn)
        return logs

    return train
