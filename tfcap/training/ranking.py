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
    dialogs = batches.dialogs
    begin = tf.function(speaker.begin, reduce_retracing=True)

    def score(inputs, options):
        return score_candidates(
            speaker, begin(inputs), dialogs.answers, options, kind=kind
        )

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
    answers = embed_answers(discriminator, batches.dialogs)
    encode = tf.function(discriminator.encode, reduce_retracing=True)

    def score(inputs, options):
        anchor = np.asarray(encode(inputs), "float32")
        scores = np.einsum("qd,qnd->qn", anchor, answers[options])
        return np.where(options >= 0, scores, -np.inf)

    return _rank(score, batches, batch_size, verbose)


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


def _rank(score, batches, batch_size, verbose):
    dialogs = batches.dialogs
    report = RankingReport()
    progress = keras.utils.Progbar(
        len(dialogs), verbose=verbose, unit_name="dialog"
    )
    for inputs, rows in batches.evaluation(batch_size):
        rows = rows.numpy()
        options = dialogs.options[rows]
        truth = dialogs.gt_index[rows].reshape(-1)
        flat = options.reshape(-1, options.shape[-1])
        ranked = truth >= 0
        relevance = dialogs.relevance
        if relevance is not None:
            relevance = relevance[rows].reshape(flat.shape)[ranked]
        scores = np.asarray(score(inputs, flat))
        report.add(scores[ranked], truth[ranked], relevance)
        progress.add(len(rows))
    return report
