"""Evaluation of captions by all scores, with references and without."""

import functools
import itertools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcap.text.caption_remarks import caption_remarks
from tfcap.text.caption_report import TITLES
from tfcap.text.caption_report import CaptionReport
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.scores.bleu import bleu
from tfcap.text.scores.bleu import self_bleu
from tfcap.text.scores.caption_statistics import bad_ending_rate
from tfcap.text.scores.caption_statistics import repeated_ngrams
from tfcap.text.scores.caption_statistics import vocabulary_size
from tfcap.text.scores.chair import chair
from tfcap.text.scores.cider import cider
from tfcap.text.scores.cider import cider_d
from tfcap.text.scores.cider import cider_r
from tfcap.text.scores.java import meteor_java
from tfcap.text.scores.java import spice
from tfcap.text.scores.meteor import meteor
from tfcap.text.scores.rouge_l import rouge_l
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import bcmr
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths
from tfcap.text.scores.scores import spider
from tfcap.text.scores.spice_spacy import spice_spacy

#: Names that `evaluate_captions(metrics=)` takes, each after its parts.
METRICS = (
    *("bleu", "rouge_l", "cider_d", "cider", "cider_r", "meteor"),
    *("meteor_java", "spice", "spice_spacy"),
    *("spider", "spider_spacy", "bcmr", "chair"),
)
#: Weighted sums of scores, with the names of their parts.
_MIXTURES = {
    "spider": (spider, ("cider_d", "spice")),
    "spider_spacy": (spider, ("cider_d", "spice_spacy")),
    "bcmr": (bcmr, ("bleu", "cider_d", "meteor", "rouge_l")),
}
DEFAULT_METRICS = ("bleu", "rouge_l", "cider_d", "meteor", "spice")
#: Number of captions, the first of a split, for Self-BLEU as published.
SELF_BLEU_CAPTIONS = 1000


def evaluate_captions(
    captions: list[str],
    references: list,
    metrics: list = DEFAULT_METRICS,
    progress: Callable | None = None,
    objects: Any = None,
    annotated: Sequence[Iterable[str]] | None = None,
) -> CaptionReport:
    """Scores captions with the metrics that papers report.

    METEOR needs the tables of pycocoevalcap; SPICE is a Java program whose
    models are installed separately. A score that cannot be computed is listed
    in the report, with the reason and the cure; the others are computed all
    the same.

    Args:
        captions: List of strings, one for each image.
        references: List, as long, of lists of strings.
        metrics: List of names: `"bleu"` (BLEU-1 to BLEU-4), `"rouge_l"`,
            `"cider_d"`, `"cider"`, `"cider_r"`, `"meteor"`,
            `"meteor_java"` (its authors' program), `"spice"`, `"spice_spacy"`,
            `"spider"`, `"spider_spacy"`, `"bcmr"`, `"chair"`. SPIDEr and BCMR
            include their parts. Papers report `"cider_d"` as CIDEr; `"cider"`,
            without clipping and length penalty, is higher. Defaults to the
            first three, METEOR and SPICE.
        progress: Function, optional, called with the name of the current
            score, the number of captions done and their total.
        objects: For `"chair"`, optional: path of a file with a line for each
            object, its names separated by commas, or a list of lists of names.
        annotated: List, as long, of the objects in each image, optional; see
            `tfcap.data.load_instances()`.

    Returns:
        A `CaptionReport`.

    Raises:
        ValueError: If `metrics` has an unknown name, if there are not as many
            lists of references as captions, or if a caption has no reference
            or more than `TFCAP_MAX_WORDS` words (1,000 by default).
        TypeError: If captions or references are not strings.

    Example:

    >>> report = tfcap.text.evaluate_captions(
    ...     ["A dog runs.", "two cats"],
    ...     [["A dog runs!", "A brown dog."], ["Two cats."]],
    ...     metrics=["bleu", "rouge_l"],
    ... )
    >>> print(report.table())
    2 images, 3 references
                corpus      mean       std
    BLEU-1      1.0000    1.0000    0.0000
    ...
    """
    names = _with_parts(metrics)
    _check_texts(captions, references)
    progress = progress or (lambda name, done, total: None)
    candidates, grouped = _split(captions, references, progress)
    check_aligned(candidates, grouped)
    check_lengths(candidates, grouped)
    functions = {
        "bleu": bleu,
        "rouge_l": rouge_l,
        "cider_d": cider_d,
        "cider": cider,
        "cider_r": cider_r,
        "meteor": functools.partial(
            meteor, progress=functools.partial(progress, "meteor")
        ),
        "meteor_java": meteor_java,
        "spice": spice,
        "spice_spacy": functools.partial(
            spice_spacy,
            categories=True,
            progress=functools.partial(progress, "spice_spacy"),
        ),
        "chair": functools.partial(
            _chair, objects=objects, annotated=annotated
        ),
    }
    scores, absent = {}, {}
    for name in names:
        progress(name, 0, len(captions))
        try:
            _check_images(name, len(captions))
            if name in _MIXTURES:
                scores[name] = _mixture(name, scores, absent)
            else:
                scores[name] = functions[name](candidates, grouped)
        except MissingScoreError as error:
            # Without the traceback, which would keep all captions in memory.
            absent[name] = error.with_traceback(None)
        progress(name, len(captions), len(captions))
    count = sum(map(len, references))
    wordless = tuple(i for i, words in enumerate(candidates) if not words)
    remarks = caption_remarks(captions, references)
    return CaptionReport(
        _flat(scores), absent, len(captions), count, wordless, remarks
    )


def _chair(candidates, references, objects, annotated):
    """CHAIR-i and CHAIR-s by name."""
    if objects is None:
        raise MissingScoreError(
            TITLES["chair"],
            "no list of objects and their synonyms is given",
            "Pass objects=path (--objects FILE); the "
            "published list is data/synonyms.txt of "
            "https://github.com/LisaAnne/Hallucination (BSD 2-Clause).",
        )
    scores = chair(candidates, references, objects, annotated)
    return dict(zip(("chair_i", "chair_s"), scores))


def _check_texts(captions, references):
    """Raises unless captions and references are strings."""
    for i, (caption, several) in enumerate(zip(captions, references)):
        if not isinstance(caption, str):
            raise TypeError(
                "`captions` must be strings. Received: captions"
                f"[{i}]={caption!r}. Join words by spaces."
            )
        if isinstance(several, str) or not all(
            isinstance(text, str) for text in several
        ):
            raise TypeError(
                "`references` must be lists of strings, one for each image. "
                f"Received: references[{i}]={several!r}. Put a single "
                "reference in a list."
            )


def _split(captions, references, progress):
    """Splits captions and references into words, in one call."""
    texts = [*captions, *itertools.chain.from_iterable(references)]
    progress("tokenizing", 0, len(texts))
    rows = iter(caption_tokenize_batch(texts))
    progress("tokenizing", len(texts), len(texts))
    candidates = list(itertools.islice(rows, len(captions)))
    grouped = [list(itertools.islice(rows, len(row))) for row in references]
    return candidates, grouped


def _with_parts(metrics):
    """The names to compute, each after its parts."""
    if not metrics or not {*metrics} <= {*METRICS}:
        raise ValueError(
            f"`metrics` must be names of {METRICS}. Received: "
            f"metrics={list(metrics)!r}."
        )
    parts = (_MIXTURES[name][1] for name in metrics if name in _MIXTURES)
    wanted = {*metrics}.union(*parts)
    return [name for name in METRICS if name in wanted]


def _check_images(name, images):
    if name.startswith("cider") and images < 2:
        raise MissingScoreError(
            TITLES[name],
            "it counts document frequencies, and there is only one image",
            "Score several images together.",
        )


def _mixture(name, scores, absent):
    mix, parts = _MIXTURES[name]
    for part in parts:
        if part in absent:
            raise MissingScoreError(
                TITLES[name],
                f"{TITLES[part]}, a part of it, is absent",
                "No other score takes its place.",
            )
    found = [scores[part] for part in parts]
    return mix(*(x["all"] if isinstance(x, dict) else x for x in found))


def _flat(scores):
    """Names BLEU by order, and SPICE (spaCy) by category."""
    flat = {}
    for name, score in scores.items():
        if name == "bleu":
            flat |= {f"bleu_{k}": part for k, part in enumerate(score, 1)}
        elif name == "chair":
            flat |= score
        elif name == "spice_spacy":
            flat |= {
                name if kind == "all" else f"{name}_{kind}": part
                for kind, part in score.items()
                if np.isfinite(part.corpus)  # some caption has it
            }
        else:
            flat[name] = score
    return flat


def caption_language(captions: list[str], training=None) -> dict:
    """Scores the language of captions, without images or references.

    Captions are split into words by `caption_tokenize()`, without case and
    punctuation.

    Args:
        captions: List of strings.
        training: `TrainingCaptions`, optional.

    Returns:
        Dict of floats for the whole list, and of `Scores` where each caption
        has one: `"vocabulary_size"`, `"distinct_captions"`, `"mean_length"` in
        words, `"self_bleu"`; shares of captions: `"repeat_rate"` (a word twice
        in a row), `"repeated_bigram_rate"` (a bigram twice) and
        `"bad_ending_rate"`; shares of n-grams: `"repeated_bigrams"` and
        `"repeated_trigrams"`, see `repeated_ngrams()`. With `training`, also
        those of `TrainingCaptions.scores()`.

    Example:

    >>> captions = ["a dog and a dog", "a dog runs"]
    >>> scores = tfcap.text.caption_language(captions)
    >>> scores["repeat_rate"].corpus, scores["repeated_bigram_rate"].corpus
    (0.0, 0.5)
    """
    words = caption_tokenize_batch(captions)
    bigrams = repeated_ngrams(words, 2)
    scores = {
        "vocabulary_size": float(vocabulary_size(words)),
        "distinct_captions": float(len(set(map(tuple, words)))),
        "mean_length": _share(map(len, words)),
        "repeat_rate": _share(
            any(a == b for a, b in itertools.pairwise(row)) for row in words
        ),
        "repeated_bigram_rate": _share(bigrams.each > 0),
        "repeated_bigrams": bigrams,
        "repeated_trigrams": repeated_ngrams(words, 3),
        "bad_ending_rate": bad_ending_rate(words),
    }
    if len(words) > 1:
        few = [words[:SELF_BLEU_CAPTIONS]]
        scores["self_bleu"] = self_bleu(few, 5, smoothing="nltk")[-1].corpus
    if training is not None:
        scores |= training.scores(words)
    return scores


def _share(values):
    each = np.array(list(values), "float64")
    return Scores(float(each.mean()), each)
