"""Samples with the claims of their captions and the facts they leave out."""

from dataclasses import replace

from reproduce.world.reader import claim_places
from reproduce.world.reader import read_caption
from reproduce.world.truth import fact_weights
from tensorboard_plugin_tfcap.summary import Claim
from tensorboard_plugin_tfcap.summary import Sample


def judged_sample(sample: Sample, truth, row: int) -> Sample:
    """A sample with the claims of its caption, each true or false.

    Args:
        truth: `reproduce.world.truth.Truth`.
        row: Integer, which of its scenes the caption is of.

    Example:

    >>> from reproduce.judged_samples import judged_sample
    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.truth import Truth
    >>> from tensorboard_plugin_tfcap.summary import Sample
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> truth = Truth([Scene("grass", (ball,))])
    >>> judged = judged_sample(Sample(7, "A blue ball."), truth, 0)
    >>> [(c.text, c.true, c.start, c.end) for c in judged.claims]
    [('ball', True, 7, 11), ('ball: blue', False, 2, 6)]
    >>> judged.missing[:3]
    ['on grass', 'ball: red', 'ball: large']
    """
    judged = truth.judge(sample.caption, row)
    mentions = read_caption(sample.caption).mentions
    places = claim_places(sample.caption)
    claims = [
        Claim(_claim_text(claim, mentions), claim.true, *places[claim[:3]])
        for claim in judged.claims
    ]
    return replace(sample, claims=claims, missing=missing_facts(judged))


def missing_facts(judged) -> list[str]:
    """Facts that a caption leaves out, those mentioned most often first."""
    facts = judged.facts
    weights = fact_weights(facts.video is not None)
    left = [key for key in facts.sayable if key not in judged.told]
    left.sort(key=lambda key: -weights.get(facts.sayable[key], 0.0))
    return [_fact_text(facts, *key) for key in left]


def _claim_text(claim, mentions):
    names = [mentions[i].shape or "thing" for i in claim.mentions]
    if claim.kind == "object":
        return claim.value
    if claim.kind == "ground":
        return f"on {claim.value}"
    value = claim.value.replace("_", " ")
    return f"{names[0]}: {' '.join([value, *names[1:]])}" if names else value


def _fact_text(facts, kind, *things):
    if kind == "ground":
        return f"on {facts.ground}"
    if kind == "number":
        return f"{len(facts.things)} in all"
    if kind == "motion":
        return facts.video.motion
    names = [facts.things[i].shape for i in things]
    if kind == "object":
        return names[0]
    if kind == "way":
        return f"{' and '.join(facts.video.ways(things[0]))} {names[0]}"
    if kind == "relation":
        told = sorted(facts.scenes[0].relation(*things)) or ["apart from"]
        return f"{names[0]}: {', '.join(told)} {names[1]}".replace("_", " ")
    if kind == "place":
        return f"{names[0]}: {' '.join(facts.scenes[0].region(things[0]))}"
    return f"{names[0]}: {getattr(facts.things[things[0]], kind)}"
