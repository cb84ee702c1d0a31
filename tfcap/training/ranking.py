"""Ranks the candidate answers of whole data sets."""

import keras
import numpy as np
import tensorflow as tf

from tfcap.decoding import score_candidates
from tfcap.metrics import RankingReport
from tfcap.ops import sequence_mask


def generative_ranking(
    speaker, batches, batch_size=8, kind="loglik_sum", verbose=1
):
    """Ranks every question's candidates by the speaker's likelihood.

    Equal candidates, and candidates of a question that begin alike, share
    their work; memory is that of one batch.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        batches: `tfcap.data.DialogBatches`.
        batch_size: Integer, dialogs at once. Defaults to `8`.
        kind: `"loglik_sum"`, the end token included, or `"loglik_mean"`.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        `tfcap.metrics.RankingReport`.
    """
    score = _likelihood(speaker, batches.dialogs, kind)
    return _rank(score, batches, batch_size, verbose)


def discriminative_ranking(discriminator, batches, batch_size=8, verbose=1):
    """Ranks every question's candidates by dot product.

    Each distinct answer of the data set is read once.

    Args:
        discriminator: Object with `encode(inputs)` and `embed(answers, mask)`,
            such as `tfcap.models.DialogDiscriminator`.
        batches: `tfcap.data.DialogBatches`.
        batch_size: Integer, dialogs at once. Defaults to `8`.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        `tfcap.metrics.RankingReport`.
    """
    score = _dot_product(discriminator, batches.dialogs)
    return _rank(score, batches, batch_size, verbose)


def generative_scores(
    speaker, batches, batch_size=8, kind="loglik_sum", verbose=1
):
    """Scores every candidate by the speaker's likelihood, truth or not.

    For a split whose answers are hidden, of which there is no report.

    Args:
        speaker, batches, batch_size, kind, verbose: As in
            `generative_ranking()`.

    Returns:
        Float32 array of shape `(M, R, N)`, `-inf` for absent options.
    """
    score = _likelihood(speaker, batches.dialogs, kind)
    return _scores(score, batches, batch_size, verbose)


def discriminative_scores(discriminator, batches, batch_size=8, verbose=1):
    """Scores every candidate by dot product, truth or not.

    For a split whose answers are hidden, of which there is no report.

    Args:
        discriminator, batches, batch_size, verbose: As in
            `discriminative_ranking()`.

    Returns:
        Float32 array of shape `(M, R, N)`, `-inf` for absent options.
    """
    score = _dot_product(discriminator, batches.dialogs)
    return _scores(score, batches, batch_size, verbose)


def embed_answers(discriminator, dialogs, rows=4096):
    """Embeddings of all answers of a data set: `(A, D)`, a chunk at a time."""

    @tf.function(reduce_retracing=True)
    def embed(tokens):
        mask = sequence_mask(tokens, dialogs.vocabulary.eos)
        return discriminator.embed(tokens[:, None], mask[:, None])[:, 0]

    table = dialogs.answers
    chunks = [
        np.asarray(embed(tf.constant(table[start : start + rows])), "float32")
        for start in range(0, len(table), rows)
    ]
    return np.concatenate(chunks)


def _likelihood(speaker, dialogs, kind):
    begin = tf.function(speaker.begin, reduce_retracing=True)

    def score(inputs, options):
        return score_candidates(
            speaker, begin(inputs), dialogs.answers, options, kind=kind
        )

    return score


def _dot_product(discriminator, dialogs):
    answers = embed_answers(discriminator, dialogs)
    encode = tf.function(discriminator.encode, reduce_retracing=True)

    def score(inputs, options):
        anchor = np.asarray(encode(inputs), "float32")
        scores = np.einsum("qd,qnd->qn", anchor, answers[options])
        return np.where(options >= 0, scores, -np.inf)

    return score


def _rank(score, batches, batch_size, verbose):
    dialogs = batches.dialogs
    report = RankingReport()
    for rows, scores in _scored(score, batches, batch_size, verbose):
        truth = dialogs.gt_index[rows].reshape(-1)
        ranked = truth >= 0
        relevance = dialogs.relevance
        if relevance is not None:
            relevance = relevance[rows].reshape(scores.shape)[ranked]
        report.add(scores[ranked], truth[ranked], relevance)
    return report


def _scores(score, batches, batch_size, verbose):
    scores = np.empty(batches.dialogs.options.shape, "float32")
    for rows, found in _scored(score, batches, batch_size, verbose):
        scores[rows] = found.reshape(len(rows), *scores.shape[1:])
    return scores


def _scored(score, batches, batch_size, verbose):
    """Yields rows `(B,)` and the scores of their options, `(B * R, N)`."""
    dialogs = batches.dialogs
    progress = keras.utils.Progbar(
        len(dialogs), verbose=verbose, unit_name="dialog"
    )
    for inputs, rows in batches.evaluation(batch_size):
        rows = rows.numpy()
        options = dialogs.options[rows]
        flat = options.reshape(-1, options.shape[-1])
        yield rows, np.asarray(score(inputs, flat))
        progress.add(len(rows))
