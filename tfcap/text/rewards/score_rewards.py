"""Reward functions of the scores that papers report."""

import functools
import os
from typing import Any

import numpy as np

from tfcap.text.document_frequencies import DocumentFrequencies
from tfcap.text.document_frequencies import coco_document_frequencies
from tfcap.text.ngrams import check_order
from tfcap.text.rewards.caption_reward import CaptionReward
from tfcap.text.scores.bleu import bleu
from tfcap.text.scores.bleu import check_smoothing
from tfcap.text.scores.chair import ObjectSynonyms
from tfcap.text.scores.cider import check_sigma
from tfcap.text.scores.cider import cider_d
from tfcap.text.scores.cider import cider_r
from tfcap.text.scores.meteor import meteor
from tfcap.text.scores.meteor_resources import meteor_resources
from tfcap.text.scores.rouge_l import rouge_l
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.spice_spacy import load_parser
from tfcap.text.scores.spice_spacy import spice_spacy


def cider_d_reward(
    document_frequencies: Any, sigma: float = 6.0, **options: Any
) -> CaptionReward:
    """CIDEr-D as a reward function, in `[0, 10]`.

    It is the usual reward of self-critical training. Document frequencies must
    be those of a whole corpus, never of a batch.

    Args:
        document_frequencies: One of

            - captions of the training corpus, for each image a list of
              strings: they are counted with the end of a caption as a word,
              without which a third of the captions end badly,
            - `"coco"`: those of COCO train2014, which `tfcap[coco]` installs,
            - the path of a file that `DocumentFrequencies.save()` wrote,
            - a `tfcap.text.DocumentFrequencies` of strings.

        sigma: Float, see `tfcap.text.cider_d()`. Defaults to `6.0`.
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.

    Returns:
        A `CaptionReward`.

    Raises:
        ValueError: If the document frequencies were counted in ids.

    Example:

    >>> corpus = [["two dogs play", "dogs run"], ["a red bus"], ["a cat"]]
    >>> reward = tfcap.text.rewards.cider_d_reward(corpus)
    >>> said = ["Two dogs play.", "a bus", "a red bus"]
    >>> truth = [corpus[0], corpus[1], corpus[1]]
    >>> print(np.round(reward(completions=said, references=truth), 2))
    [ 5.5  2.8 10. ]

    Reference:

    - Vedantam et al., CIDEr, CVPR 2015, equation 12; Rennie et al.,
      Self-critical Sequence Training for Image Captioning, CVPR 2017
    """
    check_sigma(sigma)
    table = _frequencies(document_frequencies)
    score = functools.partial(cider_d, document_frequencies=table, sigma=sigma)
    return CaptionReward(score, "cider_d", **options)


def cider_r_reward(document_frequencies: Any, **options: Any) -> CaptionReward:
    """CIDEr-R as a reward function for long captions, in `[0, 10]`.

    Args:
        document_frequencies: See `cider_d_reward()`.
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.

    Returns:
        A `CaptionReward`.

    Example:

    >>> corpus = [["two dogs play"], ["a red bus"]]
    >>> reward = tfcap.text.rewards.cider_r_reward(corpus)
    >>> print(np.round(reward(["a bus"], references=[corpus[1]]), 2))
    [3.02]

    Reference:

    - Dos Santos et al., CIDEr-R, W-NUT 2021
    """
    table = _frequencies(document_frequencies)
    score = functools.partial(cider_r, document_frequencies=table)
    return CaptionReward(score, "cider_r", **options)


def bleu_reward(
    max_order: int = 4, smoothing: str | None = "exponential", **options: Any
) -> CaptionReward:
    """BLEU of single captions as a reward function, in `[0, 1]`.

    Args:
        max_order: Integer, longest n-gram. Defaults to `4`.
        smoothing: See `tfcap.text.bleu()`. Defaults to `"exponential"`: without
            smoothing, all captions without a matching 4-gram get almost 0. A
            caption of fewer than `max_order` words gets 0, even if it is
            perfect, unless `smoothing` is `"add_one"`.
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.

    Returns:
        A `CaptionReward`.

    Example:

    >>> reward = tfcap.text.rewards.bleu_reward(max_order=2)
    >>> print(np.round(reward(["a red bus"], references=["the red bus"]), 2))
    [0.58]

    Reference:

    - Papineni et al., BLEU, ACL 2002
    """
    check_order(max_order)
    check_smoothing(smoothing)
    score = functools.partial(
        _longest_bleu, max_order=max_order, smoothing=smoothing
    )
    return CaptionReward(score, f"bleu_{max_order}", **options)


def rouge_l_reward(**options: Any) -> CaptionReward:
    """ROUGE-L as a reward function, in `[0, 1]`.

    Args:
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.

    Returns:
        A `CaptionReward`.

    Example:

    >>> reward = tfcap.text.rewards.rouge_l_reward(references="answer")
    >>> reward(["a red bus"], answer=["A red bus."])
    [1.0]

    Reference:

    - Lin, ROUGE, 2004
    """
    return CaptionReward(rouge_l, "rouge_l", **options)


def meteor_reward(**options: Any) -> CaptionReward:
    """METEOR 1.5 as a reward function, in `[0, 1]`, without Java.

    Args:
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.

    Returns:
        A `CaptionReward`.

    Raises:
        tfcap.text.MissingScoreError: If its tables, which `tfcap[coco]`
            installs, are missing.

    Example:

    >>> try:
    ...     reward = tfcap.text.rewards.meteor_reward()
    ...     assert reward(["a bus"], references=["a bus"])[0] > 0.9
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014
    """
    meteor_resources()  # raises here instead of at the first step
    return CaptionReward(meteor, "meteor", **options)


def spice_spacy_reward(
    model: str | os.PathLike | None = None, **options: Any
) -> CaptionReward:
    """SPICE (spaCy) as a reward function, in `[0, 1]`, without Java.

    Together with `cider_d_reward()` at the same weight, it is SPIDEr (spaCy).

    Args:
        model: See `tfcap.text.spice_spacy()`.
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.

    Returns:
        A `CaptionReward`.

    Raises:
        tfcap.text.MissingScoreError: If spaCy, its model or the synonyms are
            missing.

    Example:

    >>> try:
    ...     reward = tfcap.text.rewards.spice_spacy_reward()
    ...     assert reward(["a red bus"], references=["a red bus"]) == [1.0]
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "Install it" in str(error)

    Reference:

    - Anderson et al., SPICE, ECCV 2016, section 3; see
      `tfcap.text.spice_spacy()`
    """
    load_parser(model)  # raises here instead of at the first step
    score = functools.partial(spice_spacy, model=model)
    return CaptionReward(score, "spice_spacy", **options)


def claim_reward(
    claims: Any, measure: str = "f1", **options: Any
) -> CaptionReward:
    """Precision, recall or F1 of what captions claim, as a reward in `[0, 1]`.

    ```
    true = all claims of the references
    precision = claims in true / claims, 1 if a caption claims nothing
    recall = true claims, each once / true, 1 if the references claim nothing
    f1 = 2 * precision * recall / (precision + recall)
    ```

    With the names of objects as claims, precision is 1 less CHAIR-i. It alone
    rewards captions that say nothing, recall alone those that list everything.

    Args:
        claims: What counts as a claim, one of

            - the path of a file with a line for each object, its names
              separated by commas, or a list of lists of names, as CHAIR has
              them,
            - a callable from a tokenized caption, a list of strings, to a list
              of claims of any hashable type, such as the tuples of a parser.

        measure: `"precision"`, `"recall"` or `"f1"`, the default.
        **options: `references`, `extract`, `num_workers` of `CaptionReward`.
            A column of annotated objects, lists of names, is read as
            references are: `references="objects"`.

    Returns:
        A `CaptionReward`.

    Raises:
        ValueError: If `measure` is another one, or there are no names.

    Example:

    >>> objects = [["dog", "puppy"], ["frisbee"], ["person", "man"]]
    >>> said, seen = ["a dog and a frisbee"], [["puppy", "man"]]
    >>> for measure in "precision", "recall", "f1":
    ...     reward = tfcap.text.rewards.claim_reward(objects, measure)
    ...     print(measure, reward(said, references=seen))
    precision [0.5]
    recall [0.5]
    f1 [0.5]

    Reference:

    - Rohrbach et al., Object Hallucination in Image Captioning, EMNLP 2018
    """
    if measure not in ("precision", "recall", "f1"):
        raise ValueError(
            '`measure` must be "precision", "recall" or "f1". Received: '
            f"{measure!r}."
        )
    if not callable(claims):
        claims = ObjectSynonyms.of(claims).mentioned
    score = functools.partial(_claims, claims=claims, measure=measure)
    return CaptionReward(score, f"claim_{measure}", **options)


def _longest_bleu(candidates, references, max_order, smoothing):
    return bleu(candidates, references, max_order, smoothing)[-1]


def _claims(candidates, references, claims, measure):
    each = []
    for caption, several in zip(candidates, references):
        said, true = claims(caption), set().union(*map(claims, several))
        right = [claim for claim in said if claim in true]
        precision = len(right) / len(said) if said else 1.0
        recall = len({*right}) / len(true) if true else 1.0
        f1 = 2 * precision * recall / ((precision + recall) or 1)
        each.append({"precision": precision, "recall": recall, "f1": f1})
    values = np.array([scores[measure] for scores in each])
    return Scores(float(values.mean()), values)


def _frequencies(source):
    """Document frequencies of words, from any of the accepted sources."""
    if isinstance(source, str) and source == "coco":
        return coco_document_frequencies()
    if isinstance(source, str | os.PathLike):
        source = DocumentFrequencies.load(source)
    if not isinstance(source, DocumentFrequencies):
        source = DocumentFrequencies.from_references(source)
    if source.words is None:
        raise ValueError(
            "`document_frequencies` must be counted in strings. "
            f"Received: {source!r}, counted in ids. Count them with "
            "`DocumentFrequencies.from_references(captions)`, on lists of "
            "strings and without a vocabulary."
        )
    return source
