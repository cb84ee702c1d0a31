"""Ranks the candidate answers of whole data sets."""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
import numpy as np

from tfcap._ops import sequence_mask
from tfcap._ops import without_start
from tfcap._ops.sequences import batch_entry
from tfcap.decoding import score_candidates
from tfcap.metrics import RankingReport
from tfcap.training.backends import backend
from tfcap.training.dataset_inputs import concatenated
from tfcap.training.dataset_inputs import dataset_pairs


def rank_candidates(
    network: Any,
    dataset: Any,
    batch_size: int | None = None,
    verbose: int = 1,
) -> RankingReport:
    """Ranks every question's candidates by likelihood or dot product.

    With a speaker, equal candidates, and common prefixes of a question's
    candidates, are scored once; memory is that of one batch. With dot
    products, each distinct answer of a data set of dialogs is embedded once.

    Args:
        network: `tfcap.decoding.Speaker`; or an object with `encode(inputs)`
            and `embed(answers, mask)`, such as
            `tfcap.models.DialogDiscriminator`, for dot products.
        dataset: `tfcap.data.DialogBatches`; or another data set that Keras
            takes, of pairs `(inputs, labels)`: inputs with the candidates
            under `"options"`, integers of shape `(..., N, T)`, all padding for
            an absent one, and as labels the index of the true one, `(...)`,
            -1 if there is none; or labels `(..., N)`, 1 for the true one, 0
            for a wrong one and -1 for one to ignore.
        batch_size: Integer, for data that is not in batches yet. Defaults to
            that of `tfcap.data`'s batches.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        `tfcap.metrics.RankingReport`.

    Raises:
        ValueError: If the batches lack candidates or labels.
    """
    report = RankingReport()
    for questions, scores in _scored(network, dataset, batch_size, verbose):
        if questions.truth is None:
            raise ValueError(
                "`dataset` must hold pairs of inputs and labels. Received: "
                "inputs alone. Score the candidates of a hidden split with "
                "`candidate_scores()`."
            )
        truth = questions.truth.reshape(-1)
        ranked = truth >= 0
        valid, relevance = (
            None if x is None else x.reshape(scores.shape)[ranked]
            for x in (questions.valid, questions.relevance)
        )
        report.add(scores[ranked], truth[ranked], relevance, valid=valid)
    return report


def candidate_scores(
    network: Any,
    dataset: Any,
    batch_size: int | None = None,
    verbose: int = 1,
) -> np.ndarray:
    """Scores every candidate by likelihood or dot product.

    For a split whose answers are hidden, which has no report.

    Args:
        network, dataset, batch_size, verbose: As in `rank_candidates()`,
            without labels.

    Returns:
        Float32 array of shape `(M, R, N)`, `-inf` for absent options.
    """
    parts = [
        scores.reshape(questions.options.shape)
        for questions, scores in _scored(network, dataset, batch_size, verbose)
    ]
    return concatenated(parts, -np.inf).astype("float32")


def embed_answers(
    discriminator: Any, answers: np.ndarray, rows: int = 4096
) -> np.ndarray:
    """Embeds answers, a chunk at a time.

    Args:
        discriminator: As in `rank_candidates()`; its `eos`, 2 by default, is
            the id of the end token, and its `pad`, 0 by default, the padding.
        answers: Integer array of shape `(A, T)`.
        rows: Integer, answers of a chunk.

    Returns:
        Float32 array of shape `(A, D)`.
    """
    ends = getattr(discriminator, "eos", 2), getattr(discriminator, "pad", 0)

    def embed(tokens):
        mask = sequence_mask(tokens, *ends)
        return discriminator.embed(tokens[:, None], mask[:, None])[:, 0]

    embed = backend.graph(embed)
    chunks = [
        np.asarray(embed(answers[i : i + rows]), "float32")
        for i in range(0, len(answers), rows)
    ]
    return np.concatenate(chunks)


class _Questions(NamedTuple):
    """The questions of a batch, with their candidates.

    Args:
        inputs: Nest of tensors, the network's inputs.
        answers: Integer array `(A, T)`, distinct answers.
        options: Integer array `(..., N)`, rows of `answers`; -1 if absent.
        truth: Integer array `(...)`, -1 if there is none; or `None`.
        valid: Boolean array `(..., N)`, true for ranked candidates; or `None`
            for all.
        relevance: Float array `(..., N)`, or `None`.
    """

    inputs: Any
    answers: np.ndarray
    options: np.ndarray
    truth: np.ndarray | None
    valid: np.ndarray | None
    relevance: np.ndarray | None


def _questions(dataset, batch_size, reader):
    """Yields the `_Questions` of every batch."""
    if hasattr(dataset, "dialogs"):
        dialogs = dataset.dialogs
        for inputs, rows in dataset.evaluation(batch_size):
            rows, known = np.asarray(rows), dialogs.relevance
            yield _Questions(
                inputs,
                dialogs.answers,
                dialogs.options[rows],
                dialogs.gt_index[rows],
                None,
                None if known is None else known[rows],
            )
        return
    what = "candidate answers, integers of shape (..., N, T)"
    pad = getattr(reader, "pad", 0)
    for inputs, labels in dataset_pairs(dataset, batch_size, pad):
        tokens = batch_entry(inputs, "options", what)
        tokens = np.asarray(without_start(tokens, reader))
        answers, options = np.unique(
            tokens.reshape(-1, tokens.shape[-1]), axis=0, return_inverse=True
        )
        options = options.reshape(tokens.shape[:-1])
        absent = (tokens == 0).all(axis=-1) | (tokens == pad).all(axis=-1)
        options = np.where(absent, -1, options)
        truth = None, None
        if labels is not None:
            truth = _truth(labels, options.shape)
        yield _Questions(inputs, answers, options, *truth, None)


def _truth(labels, shape):
    """Returns the index of the true candidate, and the ranked candidates."""
    labels = np.asarray(labels)
    if labels.shape == shape:
        right = labels == 1
        truth = np.where(right.any(axis=-1), right.argmax(axis=-1), -1)
        return truth, labels >= 0
    if labels.shape != shape[:-1]:
        raise ValueError(
            "`dataset` must hold labels of the shape of the candidates, "
            f"{shape}, or indices of the true ones, {shape[:-1]}. Received: "
            f"labels of shape {labels.shape}."
        )
    return labels.astype("int64"), None


def _likelihood(speaker: Any) -> Callable:
    begin = backend.graph(speaker.begin)

    def score(questions, options):
        state = begin(questions.inputs)
        return score_candidates(speaker, state, questions.answers, options)

    return score


def _dot_product(discriminator: Any) -> Callable:
    encode = backend.graph(discriminator.encode)
    # The answers of all dialogs are those of every batch: embedded once.
    last = [None, None]

    def score(questions, options):
        if last[0] is not questions.answers:
            embedded = embed_answers(discriminator, questions.answers)
            last[:] = questions.answers, embedded
        anchor = np.asarray(encode(questions.inputs), "float32")
        scores = np.einsum("qd,qnd->qn", anchor, last[1][options])
        return np.where(options >= 0, scores, -np.inf)

    return score


def _scored(network, dataset, batch_size, verbose):
    """Yields the questions of batches, and scores `(Q, N)` of candidates."""
    kind = _likelihood if hasattr(network, "step") else _dot_product
    score = kind(network)
    total = len(dataset.dialogs) if hasattr(dataset, "dialogs") else None
    progress = keras.utils.Progbar(total, verbose=verbose, unit_name="dialog")
    for questions in _questions(dataset, batch_size, network):
        options = questions.options
        flat = options.reshape(-1, options.shape[-1])
        yield questions, np.asarray(score(questions, flat))
        progress.add(len(options))
