"""Scores of captions by what is true of scenes and videos."""

import collections
import functools
from collections.abc import Sequence

import numpy as np

from reproduce.world.scenes import SHAPES
from reproduce.world.truth.facts import Facts
from reproduce.world.truth.judgement import Judgement
from reproduce.world.truth.judgement import judge_claims
from reproduce.world.truth.questions import answered
from reproduce.world.truth.questions import fact_weights
from reproduce.world.truth.questions import read_answers
from reproduce.world.truth.questions import true_answers
from reproduce.world.truth.questions import usual_answers
from reproduce.world.truth.reader import read_caption

#: Scores of a single caption.
MEASURES = ("precision", "recall", "weighted_recall", "f1", "utility")


class Truth:
    """Truth of scenes or videos, and the worth of captions by it.

    Args:
        shown: Sequence of `reproduce.world.Scene` or `Video`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> truth = Truth([Scene("grass", (ball,))])
    >>> truth.score("precision", "a blue ball on the grass", 0)
    0.6666666666666666
    """

    def __init__(self, shown: Sequence):
        self._shown = list(shown)
        if not self._shown:
            raise ValueError("`shown` must hold a scene. Received: none.")
        self._facts = functools.lru_cache(maxsize=None)(self._make_facts)
        self.score = functools.lru_cache(maxsize=1 << 17)(self._score)
        self._videos = hasattr(self._shown[0], "motion")

    def __len__(self):
        return len(self._shown)

    def judge(self, caption: str, row: int) -> Judgement:
        """Claims of a caption of one scene, each true or false."""
        return judge_claims(read_caption(caption), self._facts(row)[0])

    def answers(self, row: int) -> dict:
        """Answers to all questions of one scene, see `true_answers()`."""
        return self._facts(row)[1]

    def _make_facts(self, row):
        facts = Facts(self._shown[row])
        return facts, true_answers(facts)

    def _score(self, measure, caption, row):
        """Score of a caption of a scene by one of `MEASURES`."""
        if measure == "utility":
            said = read_answers(read_caption(caption))
            usual = usual_answers(self._videos)
            return answered(said, self.answers(row), usual)
        judged = self.judge(caption, row)
        if measure == "weighted_recall":
            return judged.weighted_recall(fact_weights(self._videos))
        return getattr(judged, measure)

    def scores(self, captions: Sequence[str]) -> dict:
        """Scores of one caption of each scene.

        Returns:
            Dict of floats: `truth_precision`, the share of all claims that
            are true, and `truth_precision_color` and so on, those of each
            kind that occurs; `truth_recall` and `truth_weighted_recall`,
            means over captions; `truth`, the harmonic mean of the first two;
            `truth_claims` and `truth_false`, claims and false ones a caption,
            and `truth_claims_color` and so on; `truth_chair_i` and
            `truth_chair_s`, CHAIR of shapes, exact; `truth_pope` and
            `truth_pope_popular`, accuracy of "yes" to shapes that are named
            and "no" to others, with as many absent shapes as there are, drawn
            evenly (as expected) or the commonest, and `truth_pope_yes`, the
            share of "yes" in the first; `truth_utility`, the share of
            questions that the caption alone answers right; `truth_unread`,
            the share of words that cannot be read, and
            `truth_unread_captions` and `truth_silent`, shares of captions
            with such, and without any claim.
        """
        if len(captions) != len(self):
            raise ValueError(
                "`captions` must hold one for each scene. Received: "
                f"{len(captions)} captions of {len(self)} scenes."
            )
        judged = [self.judge(text, row) for row, text in enumerate(captions)]
        scores = {**_claims(judged), **self._means(captions)}
        precision, recall = scores["truth_precision"], scores["truth_recall"]
        scores["truth"] = 2 * precision * recall / ((precision + recall) or 1)
        scores |= _objects(judged)
        return {name: float(value) for name, value in scores.items()}

    def _means(self, captions):
        """Means of what each caption is worth by itself."""
        named = ("recall", "weighted_recall", "utility")
        return {
            f"truth_{name}": np.mean(
                [
                    self.score(name, text, row)
                    for row, text in enumerate(captions)
                ]
            )
            for name in named
        } | _unread(captions)


def _claims(judged):
    claims = [claim for one in judged for claim in one.claims]
    false = sum(not claim.true for claim in claims)
    kinds = collections.Counter(claim.kind for claim in claims)
    true = collections.Counter(claim.kind for claim in claims if claim.true)
    return {
        **{f"truth_claims_{k}": n / len(judged) for k, n in kinds.items()},
        **{f"truth_precision_{k}": true[k] / n for k, n in kinds.items()},
        "truth_precision": 1.0 - false / max(len(claims), 1),
        "truth_claims": len(claims) / len(judged),
        "truth_false": false / len(judged),
        "truth_silent": np.mean([not one.claims for one in judged]),
    }


def _unread(captions):
    read = [read_caption(text) for text in captions]
    words = sum(claims.words for claims in read)
    unread = [len(claims.unread) for claims in read]
    return {
        "truth_unread": sum(unread) / max(words, 1),
        "truth_unread_captions": np.mean([count > 0 for count in unread]),
    }


def _objects(judged):
    """CHAIR and POPE of shapes."""
    present = [{t.shape for t in one.facts.things} for one in judged]
    named = [
        [c.value for c in one.claims if c.kind == "object"] for one in judged
    ]
    wrong = [
        sum(x not in own for x in said) for said, own in zip(named, present)
    ]
    common = collections.Counter(x for own in present for x in own)
    ranks = sorted(SHAPES, key=lambda x: (-common[x], x))
    rows = [_pope({*said}, own, ranks) for said, own in zip(named, present)]
    random, popular, yes = np.mean(rows, axis=0)
    return {
        "truth_chair_i": sum(wrong) / max(sum(map(len, named)), 1),
        "truth_chair_s": np.mean([count > 0 for count in wrong]),
        "truth_pope": random,
        "truth_pope_popular": popular,
        "truth_pope_yes": yes,
    }


def _pope(named, present, ranks):
    """Accuracy with random and popular absent shapes, and the share of yes."""
    absent = [shape for shape in ranks if shape not in present]
    hits = np.mean([shape in named for shape in present])
    if not absent:
        return hits, hits, hits
    false = np.mean([shape in named for shape in absent])
    popular = np.mean([x in named for x in absent[: len(present)]])
    return (hits + 1 - false) / 2, (hits + 1 - popular) / 2, (hits + false) / 2
