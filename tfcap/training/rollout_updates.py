"""Several updates on the words of a batch, which are sampled once."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

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

    def __init__(self, speaker, inputs, watch):
        super().__init__(speaker, inputs, training=True)
        self._watch, self._scores = watch, {}

    def log_probs(self, rollout):
        # Kept beside its rollout: an id may be reused as soon as it is gone.
        key = id(rollout.tokens), rollout.log_probs is None
        if key not in self._scores:
            scores = self._watch(super().log_probs(rollout))
            self._scores[key] = rollout, scores
        return self._scores[key][1]

    def known_scores(self) -> list:
        """Pairs of a rollout and its scores `(B, S, T)`."""
        return [*self._scores.values()]

    def kind_of(self, rollout) -> tuple:
        """The logits processors by which words are scored, and if drawn.

        A ratio corrects words that were drawn.
        """
        return self._processors_of(rollout), rollout.log_probs is not None

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


def draw(model: keras.Model, inputs: Any, by_scores: Callable) -> dict:
    """Draws and rewards the words of a batch, and differentiates by scores.

    Of two losses: of what a ratio weighs and clips, and of divergences, which
    hold a speaker most of all where it has moved beyond the bounds.

    Returns:
        Dict: `inputs`; `scored`, of every rollout the tokens, their log
        probabilities, and the gradients of both losses by these, `(B, S, T)`;
        `losses` and `logs` of the objective.
    """
    (learner,) = model.learners.values()
    known = []

    def losses_of(watch):
        episode = _Scored(model.speaker, inputs, watch)
        losses, logs = learner.objective.losses(episode)
        terms = learner.objective.named_terms()
        parts = {True: ops.zeros(()), False: ops.zeros(())}
        for name, loss in losses.items():
            parts[isinstance(terms[name].estimator, KLDivergence)] += loss
        known[:] = [(episode, rollout) for rollout, _ in episode.known_scores()]
        scored = [(x.tokens, scores) for x, scores in episode.known_scores()]
        return [parts[False], parts[True]], (scored, losses, logs)

    (scored, losses, logs), slopes = by_scores(losses_of)
    model.kinds, learned = [], []
    for (tokens, scores), pair, (episode, rollout) in zip(
        scored, slopes, known
    ):
        if any(slope is not None for slope in pair):
            pair = [ops.zeros_like(scores) if x is None else x for x in pair]
            learned.append((tokens, scores, *pair))
            model.kinds.append(episode.kind_of(rollout))
    return {
        "inputs": inputs,
        "scored": learned,
        "losses": losses,
        "logs": logs,
    }


def forward(model: keras.Model, drawn: dict) -> tuple[list, list]:
    """Scores what `draw()` returned again; as `JointTraining.forward()`."""
    state = model.speaker.begin(drawn["inputs"], training=True)
    # Of these losses, only penalties on weights have a gradient here.
    computed = model.computed(
        [*model.learners], drawn["losses"], dict(drawn["logs"])
    )
    parts = zip(drawn["scored"], model.kinds)
    scores, away = zip(*(_surrogate(model, state, *part) for part in parts))
    clipped, words = ops.unstack(sum_over_replicas(sum(away)))
    computed.logs["clipped_words"] = clipped / ops.maximum(words, 1.0)
    return [computed], [sum(scores) + computed.loss]


def _surrogate(model, state, scored, kind):
    """The loss of words scored again, whose gradient by scores is known.

    Also returns the number of clipped words, and of all words.
    """
    tokens, before, slopes, pulls = scored
    processors, drawn = kind
    speaker = model.speaker
    mask = sequence_mask(tokens, speaker.eos, getattr(speaker, "pad", 0))
    _, log_probs = read_again(
        speaker, state, tokens, mask, processors, training=True
    )

    def linear(slopes):
        return ops.sum(ops.where(slopes != 0, slopes * log_probs, 0.0))

    if not drawn:
        return linear(slopes + pulls), ops.zeros((2,))
    losses, away = model.clipped_ratio(slopes, log_probs, before, mask)
    words = ops.cast(ops.count_nonzero(slopes), "float32")
    loss = ops.sum(losses) + linear(pulls)
    return loss, ops.stack([ops.sum(away), words])
