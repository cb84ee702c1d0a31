"""CHAIR: objects in captions that are not in the image."""

import functools
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.object_synonyms import ObjectSynonyms
from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned


def chair(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    objects: ObjectSynonyms,
    annotated: Sequence[Iterable[str]] | None = None,
) -> tuple[Scores, Scores]:
    """CHAIR: how much of what captions mention is not there. Lower is better.

    ```python
    truth = objects that references mention | annotated objects
    CHAIR_i = mentions of objects not in truth / mentions of objects
    CHAIR_s = captions with such a mention / captions
    ```

    As published, the truth of an image is what people annotated in it and
    what they mention; without annotations it is the latter alone, which makes
    both scores higher.

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        objects: A `tfcap.text.ObjectSynonyms`; published scores are of the
            published list.
        annotated: List, as long, of iterables of the names of objects in the
            images, such as COCO annotates, optional.

    Returns:
        Two `Scores` in [0, 1], CHAIR-i and CHAIR-s. `corpus` of the first is
        the share of all mentions, not the mean of `each`; a caption without
        any mention has 0, and captions without any have the corpus score nan.

    Raises:
        ValueError: If lists are empty or of different lengths.
        TypeError: If captions are not tokenized.

    Example:

    >>> objects = tfcap.text.ObjectSynonyms([["dog", "puppy"], ["cat"]])
    >>> instance, sentence = tfcap.text.chair(
    ...     [["two", "dogs"], ["a", "cat", "and", "a", "dog"]],
    ...     [[["a", "puppy"]], [["a", "cat"]]],
    ...     objects,
    ... )
    >>> round(instance.corpus, 4), sentence.corpus, instance.each
    (0.3333, 0.5, array([0. , 0.5]))

    Reference:

    - Rohrbach et al., Object Hallucination in Image Captioning, EMNLP 2018,
      equations 1 and 2. Words are split as for other scores here, and found
      in the singular by rules of our own; the authors' code asks two packages.
    """
    check_aligned(candidates, references)
    # Held, since an array or a lazy sequence makes a new object each time.
    references = list(references)
    if annotated is not None and len(annotated) != len(candidates):
        raise ValueError(
            "`annotated` must hold the objects of each image. Received: "
            f"{len(annotated)} entries for {len(candidates)} captions."
        )
    counts = np.zeros((len(candidates), 2))
    truths = {}
    for i, (caption, several) in enumerate(zip(candidates, references)):
        if id(several) not in truths:
            mentions = map(objects.mentioned, several)
            truths[id(several)] = {x for found in mentions for x in found}
        truth = truths[id(several)]
        if annotated is not None:
            truth = truth.union(map(objects.object_of, annotated[i]))
        found = objects.mentioned(caption)
        counts[i] = sum(thing not in truth for thing in found), len(found)
    each = counts[:, 0] / np.maximum(counts[:, 1], 1)
    corpus = _share(counts, np.ones((1, len(counts))))[0]
    wrong = (counts[:, 0] > 0).astype(float)
    return (
        ResampledScores(float(corpus), each, functools.partial(_share, counts)),
        Scores(float(wrong.mean()), wrong),
    )


def _share(counts, weights):
    """Hallucinated share of all mentions; see `Scores.resampled()`."""
    wrong, mentions = (weights @ counts).T
    return np.where(mentions > 0, wrong / np.maximum(mentions, 1), np.nan)
