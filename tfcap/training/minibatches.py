"""Training on the words of a whole batch, a few rows at a time."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tfcap._ops import num_replicas
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
from tfcap.objectives.episode import scored_by
from tfcap.objectives.proximal import KLDivergence


def checked_ratio(
    model: keras.Model, ratio: ClippedRatio | None
) -> ClippedRatio | None:
    """Returns the ratio of words that were drawn; refuses what has none.

    Args:
        model: `tfcap.training.JointTraining`, of which `learners`,
            `minibatch_size` and `updates_per_rollout` are read.

    Raises:
        ValueError: If several learn, or a gradient passes elsewhere than
            through the scores of words, which are all that is computed again.
    """
    size, updates = model.minibatch_size, model.updates_per_rollout
    if checked_integer(updates, "updates_per_rollout") > 1:
        ratio = ratio or ClippedRatio()
    if size is not None:
        checked_integer(size, "minibatch_size")
    elif ratio is None:
        return None
    given = (
        f"Received: minibatch_size={size}, updates_per_rollout={updates}, "
        f"clipped_ratio={ratio!r}"
    )
    if [x.network for x in model.learners.values()] != [model.speaker]:
        raise ValueError(
            "`learners` must be the speaker alone where its words are drawn "
            f"once for several steps. {given}, and the learners "
            f"{', '.join(map(repr, model.learners))}. Leave those arguments "
            "out."
        )
    (learner,) = model.learners.values()
    for _, term in learner.objective.terms:
        if not (_has_ratio(term) if ratio else term.scores_words):
            raise ValueError(
                "Terms of `learners` must score words where these are drawn "
                "once for several steps, as ScoreFunction, TeacherForcing, "
                "KLDivergence and the losses of samples do; with a ratio, as "
                "the first three do of words drawn at temperature 1. "
                f"{given}, and the term {term.name!r}. Leave those arguments "
                "out; smaller batches and an optimizer with "
                "`gradient_accumulation_steps` save memory, too."
            )
    return ratio


def _has_ratio(term):
    """Check whether a term is linear in the scores that samplers give."""
    channel = getattr(getattr(term, "decoder", None), "channel", None)
    warm = isinstance(channel, Categorical) and channel.temperature != 1.0
    return isinstance(term, ScoreFunction | KLDivergence) and not warm


def _in_parts(score, size, state, tokens, *more):
    """Scores words a few rows at a time: `(B, S, T)`.

    Without dropout: under several replicas, no loop of a graph draws.

    Args:
        score: Function of the state, the tokens and what else there is of some
            rows.
        size: Integer tensor, rows of a part.
    """
    rows = tf.maximum(tf.shape(tokens)[0], 1)
    count = -(-rows // size)

    def write(index, scores):
        cut = functools.partial(_part, index=index, count=count, rows=rows)
        part = keras.tree.map_structure(cut, (state, tokens, *more))
        return index + 1, scores.write(index, score(*part))

    scores = tf.TensorArray(
        *(tf.float32, count),
        infer_shape=False,
        element_shape=(None, *tokens.shape[1:]),
    )
    _, scores = tf.while_loop(
        lambda index, _: index < count,
        write,
        (0, scores),
        parallel_iterations=1,
    )
    return tf.reshape(scores.concat(), tf.shape(tokens))


def _part(tensor, index, count, rows):
    """The `index`-th of `count` parts of what `rows` rows of a batch have."""
    if not tensor.shape.rank:
        return tensor
    length = tf.shape(tensor)[0]
    start, stop = (edge * rows // count for edge in (index, index + 1))
    return tensor[start * length // rows : stop * length // rows]


def _rows(inputs, tokens):
    """Rows of a batch, each of which may have several of tokens, as dialogs."""
    lengths = _lengths(inputs)
    among = tf.shape(tokens)[0] % lengths == 0
    return tf.reduce_max(tf.where(among, lengths, 1))


def _lengths(inputs):
    leaves = [x for x in keras.tree.flatten(inputs) if x.shape.rank]
    return tf.stack([tf.maximum(tf.shape(x)[0], 1) for x in leaves])


class _Scored(Episode):
    """An episode in which the scores of words are what is differentiated."""

    def __init__(self, speaker, inputs, size, tape):
        super().__init__(speaker, inputs, training=True)
        self._size, self._tape, self._scores = size, tape, {}

    def scores_by(self, speaker, state, rollout):
        given = () if rollout.given is None else (rollout.given,)
        drawn = rollout.log_probs is not None
        decoder = self.decoder_of(rollout) if drawn else None

        def score(state, tokens, mask, *given):
            part = rollout._replace(given=given[0]) if given else rollout
            processors = decoder.ruled_out(part) if decoder else None
            return scored_by(speaker, state, tokens, mask, processors)

        words = rollout.tokens, rollout.mask
        return _in_parts(score, self._size, state, *words, *given)

    def log_probs(self, rollout):
        # Kept beside its rollout: an id may be reused as soon as it is gone.
        key = id(rollout.tokens), rollout.log_probs is None
        if key not in self._scores:
            scores = rollout.log_probs
            if scores is None:
                scores = self.scores_by(self.speaker, self.state, rollout)
            scores = tf.identity(scores)
            self._tape.watch(scores)
            self._scores[key] = rollout, scores
        return self._scores[key][1]

    def gradients(self, loss, anchor) -> tuple[list, list]:
        """Tokens, gradients by their scores, and these, `(B, S, T)`; kinds.

        Of two losses: of what a ratio weighs and clips, and of divergences,
        which hold a speaker most of all where it has moved beyond the bounds.

        A kind is a pair: the logits processors by which the words are scored,
        and whether they were drawn, so that a ratio corrects them.
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
                "`minibatch_size` must be None, and `updates_per_rollout` 1 "
                "without a ratio, for decoders whose words have other scores "
                "than the speaker gives them. Received: "
                f"decoder={type(decoder).__name__}. Use Sample without "
                "guidance, BeamSearch or GroundTruth."
            )
        return decoder.logits_processors.for_speaker(self.speaker)


def _filled(slopes):
    """Gradients of which one at least is there, zeros for the other."""
    there = next(x for x in slopes if x is not None)
    return [tf.zeros_like(there) if x is None else x for x in slopes]


def draw(model: keras.Model, inputs: Any) -> dict:
    """Draws and rewards the words of a batch, and differentiates by scores.

    Returns:
        Dict: `inputs`; `scored`, of every rollout the tokens, the gradients of
        the loss and of its divergences by their log probabilities, and these,
        `(B, S, T)`; `losses` and `logs` of the objective; `rows` of this
        replica and their global `total`.
    """
    inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
    (learner,) = model.learners.values()
    # Weights are not watched: nothing of the pass over all rows is kept.
    with tf.GradientTape(
        persistent=True, watch_accessed_variables=False
    ) as tape:
        rows = tf.reduce_max(_lengths(inputs)) * num_replicas()
        size = -(-(model.minibatch_size or rows) // num_replicas())
        episode = _Scored(model.speaker, inputs, size, tape)
        losses, logs = learner.objective.losses(episode)
        terms = learner.objective.named_terms()
        parts = {True: tf.zeros(()), False: tf.zeros(())}
        for name, loss in losses.items():
            parts[isinstance(terms[name].estimator, KLDivergence)] += loss
    scored, model.kinds = episode.gradients(parts[False], parts[True])
    rows = _rows(inputs, scored[0][0])
    return {
        "inputs": inputs,
        "scored": scored,
        "losses": losses,
        "logs": logs,
        "rows": rows,
        "total": sum_over_replicas(tf.cast(rows, tf.float32)),
    }


def update(model: keras.Model, drawn: dict, index: Any, count: Any) -> dict:
    """Steps on a part of what `draw()` returned.

    Its gradient is this part of the batch's, times the number of parts: the
    mean over them is the batch's.
    """
    speaker = model.speaker
    cut = functools.partial(_part, index=index, count=count, rows=drawn["rows"])
    inputs, scored = keras.tree.map_structure(
        cut, (drawn["inputs"], drawn["scored"])
    )
    with tf.GradientTape() as tape:
        state = speaker.begin(inputs, training=True)
        # Of these losses, only penalties on weights have a gradient here.
        computed = model.computed(
            [*model.learners], drawn["losses"], dict(drawn["logs"])
        )
        scores, away = zip(
            *(
                _surrogate(model, state, *part, *kind)
                for part, kind in zip(scored, model.kinds)
            )
        )
        loss = tf.cast(count, tf.float32) * tf.add_n(scores) + computed.loss
    if model.clipped_ratio is not None:
        clipped, words = tf.unstack(sum_over_replicas(tf.add_n(away)))
        computed.logs["clipped_words"] = clipped / tf.maximum(words, 1.0)
    return model.update(tape, [computed], [loss])


def _surrogate(model, state, tokens, slopes, pulls, before, processors, drawn):
    """The loss of words scored again, whose gradient by scores is known.

    And how many words have no gradient for their ratio, of how many.
    """
    speaker = model.speaker
    mask = sequence_mask(tokens, speaker.eos, getattr(speaker, "pad", 0))
    rows = tf.reshape(mask, (-1, tokens.shape[-1]))
    _, log_probs = read_again(
        speaker, state, tokens, rows, processors, training=True
    )

    def linear(slopes):
        return tf.reduce_sum(tf.where(slopes != 0, slopes * log_probs, 0.0))

    if not drawn or model.clipped_ratio is None:
        return linear(slopes + pulls), tf.zeros((2,))
    losses, away = model.clipped_ratio(slopes, log_probs, before, mask)
    words = tf.math.count_nonzero(slopes, dtype=tf.float32)
    loss = tf.reduce_sum(losses) + linear(pulls)
    return loss, tf.stack([tf.reduce_sum(away), words])


def train_function(model: keras.Model) -> Callable:
    """A train function of Keras that draws once and updates part by part."""
    strategy = model.distribute_strategy
    replicas = strategy.num_replicas_in_sync
    if model.minibatch_size is not None and model.minibatch_size < replicas:
        raise ValueError(
            "`minibatch_size` must give every replica a row of each step. "
            f"Received: minibatch_size={model.minibatch_size} for {replicas} "
            "replicas. It counts rows of the global batch."
        )

    def draw_step(data):
        inputs = model.inputs_of(data)
        with model.step_of_schedules() as annealed:
            return {**draw(model, inputs), "annealed": annealed}

    def update_step(drawn, index, count):
        logs = update(model, drawn, index, count)
        return {**logs, **drawn["annealed"]}

    def draw_all(data):
        return strategy.run(draw_step, args=(data,))

    def update_part(drawn, index, count):
        logs = strategy.run(update_step, args=(drawn, index, count))
        return {k: strategy.reduce("MEAN", v, None) for k, v in logs.items()}

    if not model.run_eagerly:
        options = {"reduce_retracing": True, "autograph": False}
        draw_all = tf.function(draw_all, **options)
        update_part = tf.function(update_part, **options)

    def train(iterator):
        # Keras hands on what is None as an optional value.
        data = keras.tree.map_structure(
            lambda x: None if isinstance(x, tf.experimental.Optional) else x,
            next(iterator),
        )
        drawn = draw_all(data)
        rows = strategy.experimental_local_results(drawn["total"])[0]
        count = -(-int(rows) // (model.minibatch_size or max(int(rows), 1)))
        for index in [*range(count)] * model.updates_per_rollout:
            place = tf.constant(index), tf.constant(count)
            logs = update_part(drawn, *place)
        return logs

    return train
