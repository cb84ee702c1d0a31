"""Questions of the world, and the answers of one who has the caption alone."""

import collections
import functools
import itertools

import numpy as np

from reproduce.world.captions import describe
from reproduce.world.captions import describe_video
from reproduce.world.clips import sample_video
from reproduce.world.scenes import SHAPES
from reproduce.world.scenes import sample_scene
from reproduce.world.truth.claims import Claims
from reproduce.world.truth.facts import LOOK_SLOTS
from reproduce.world.truth.facts import Facts
from reproduce.world.truth.facts import slot_of
from reproduce.world.truth.judgement import judge_claims
from reproduce.world.truth.reader import read_caption
from reproduce.world.words import VALUES

#: Scenes and videos that priors and weights are counted in.
_SAMPLE = 400
_SIDES = {"left": "right", "right": "left"}
_HEIGHTS = {"above": "below", "below": "above"}


def true_answers(facts: Facts) -> dict:
    """Answers to all questions that a scene or a video gives rise to.

    Questions are tuples that begin with their kind: `("exists", shape)`;
    `("color", shape)`, `"size"`, `"texture"`, `"row"` and `"column"`, of shapes
    that come once; `("side", shape, shape)` and `("height", shape, shape)`,
    how two of these lie; `("ground",)`, `("number",)`; of a video
    `("motion",)` and, unless it is still, `("mover",)`, the shape that it
    happens to.

    Returns:
        Dict of answers by question.
    """
    shapes = [thing.shape for thing in facts.things]
    answers = {("exists", shape): shape in shapes for shape in SHAPES}
    single = {s: shapes.index(s) for s in SHAPES if shapes.count(s) == 1}
    scene = facts.scenes[0]
    for shape, i in single.items():
        for slot in LOOK_SLOTS:
            answers[slot, shape] = getattr(facts.things[i], slot)
        answers["row", shape], answers["column", shape] = scene.region(i)
    for one, other in itertools.combinations(single, 2):
        relations = scene.relation(single[one], single[other])
        for kind, names in (("side", _SIDES), ("height", _HEIGHTS)):
            lies = next((name for name in names if name in relations), "level")
            answers[kind, one, other] = lies
    answers["ground",] = facts.ground
    answers["number",] = len(shapes)
    if facts.video is not None:
        answers["motion",] = facts.video.motion
        if facts.video.motion != "still":
            answers["mover",] = shapes[facts.video.mover]
    return answers


def read_answers(claims: Claims) -> dict:
    """Answers that follow from a caption; the first that it gives to each.

    Returns:
        Dict of answers by question, see `true_answers()`; what the caption
        leaves open is not among them.
    """
    answers = {}
    say = answers.setdefault
    for mention in claims.mentions:
        shape = mention.shape
        if shape is None:
            if mention.count is not None and not mention.looks:
                say(("number",), mention.count)
            continue
        say(("exists", shape), True)
        for value in sorted(mention.looks):
            say((slot_of(value), shape), value)
        for place in sorted(mention.places, key=sorted):
            for slot in ("row", "column"):
                for value in sorted(place & VALUES[slot]):
                    say((slot, shape), value)
    for i, name, j in claims.relations:
        shapes = claims.mentions[i].shape, claims.mentions[j].shape
        if None not in shapes and shapes[0] != shapes[1]:
            _say_lies(say, *shapes, name)
    for ground in claims.grounds:
        say(("ground",), ground)
    for happening in claims.happenings:
        say(("motion",), happening.motion)
        if happening.mention >= 0 and happening.motion != "still":
            say(("mover",), claims.mentions[happening.mention].shape)
    return answers


def _say_lies(say, one, other, name):
    for kind, names in (("side", _SIDES), ("height", _HEIGHTS)):
        if name in names:
            say((kind, one, other), name)
            say((kind, other, one), names[name])


def answered(said: dict, truth: dict, usual: dict) -> float:
    """Share of questions that are answered right, a mean over their kinds.

    Args:
        said: Dict of answers, see `read_answers()`.
        truth: Dict of answers, see `true_answers()`.
        usual: Dict of answers that are given where nothing is said.

    Returns:
        Float in `[0, 1]`.
    """
    right, all_ = collections.Counter(), collections.Counter()
    for question, answer in truth.items():
        guess = said.get(question, usual.get(question))
        right[question[0]] += guess == answer
        all_[question[0]] += 1
    return sum(right[kind] / count for kind, count in all_.items()) / len(all_)


@functools.cache
def usual_answers(videos: bool = False) -> dict:
    """The commonest answer to each question, as one who sees nothing guesses.

    Returns:
        Dict of answers by question, counted in scenes or videos of a seed of
        their own.
    """
    counts = collections.defaultdict(collections.Counter)
    for facts, _ in _people(videos):
        for question, answer in true_answers(facts).items():
            counts[question][answer] += 1
    return {
        question: min(found, key=lambda answer: (-found[answer], str(answer)))
        for question, found in counts.items()
    }


@functools.cache
def fact_weights(videos: bool = False) -> dict:
    """Weights of facts: how often a caption of people tells one of its kind.

    Returns:
        Dict of floats by kind of a fact, see `Facts.sayable`, counted in
        captions of scenes or videos of a seed of their own.
    """
    told, all_ = collections.Counter(), collections.Counter()
    for facts, captions in _people(videos):
        for caption in captions:
            judged = judge_claims(read_caption(caption), facts)
            told.update(facts.sayable[key] for key in judged.told)
            all_.update(facts.sayable.values())
    return {kind: told[kind] / count for kind, count in all_.items()}


@functools.cache
def _people(videos):
    """Facts of some scenes or videos, with two captions of each."""
    rng = np.random.default_rng([2026, int(videos)])
    sample, say = sample_scene, describe
    if videos:
        sample, say = sample_video, describe_video
    shown = [sample(rng) for _ in range(_SAMPLE)]
    return [(Facts(one), say(one, rng, 2)) for one in shown]
