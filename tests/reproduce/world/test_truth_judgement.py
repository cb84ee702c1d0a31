import itertools
import re

import numpy as np
import pytest

from reproduce.world import COLORS
from reproduce.world import SHAPES
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world.caption_words import NOUNS
from reproduce.world.caption_words import RELATIONS
from reproduce.world.reader import lexicon
from reproduce.world.truth import Facts
from reproduce.world.truth import Truth
from reproduce.world.truth import judge_claims
from reproduce.world.truth import read_answers
from reproduce.world.truth import read_caption
from reproduce.world.truth import true_answers
from tfcap.text.scores.chair import ObjectSynonyms
from tfcap.text.scores.chair import chair

BALL = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
BOX = Thing("box", "blue", "small", "dotted", 44.0, 32.0, 5.0)
TWIN = Thing("ball", "blue", "small", "striped", 44.0, 50.0, 5.0)
SCENE = Scene("grass", (BALL, BOX, TWIN))
TURNED = {
    word: other
    for names in (("left", "right"), ("above", "below"))
    for one, two in (names, names[::-1])
    for word, other in zip(RELATIONS[one], RELATIONS[two])
}


@pytest.fixture(scope="module")
def drawn(scenes, captions):
    """What is true of some scenes, and captions of people."""
    return [*zip(map(Facts, scenes[:120]), (five[:3] for five in captions))]


@pytest.fixture(scope="module")
def filmed(videos, video_captions):
    return [*zip(map(Facts, videos[:60]), (x[:3] for x in video_captions))]


def judged(caption, facts):
    return judge_claims(read_caption(caption), facts)


def false(caption, facts):
    return [c for c in judged(caption, facts).claims if not c.true]


def test_people_say_nothing_false_and_all_is_read(drawn, filmed):
    for facts, captions in drawn + filmed:
        answers = true_answers(facts)
        for caption in captions:
            claims = read_caption(caption)
            assert not claims.unread, caption
            assert not false(caption, facts), caption
            found = judge_claims(claims, facts)
            assert found.told <= facts.sayable.keys()
            assert found.told or claims.others or "+" in str(claims), caption
            for question, answer in read_answers(claims).items():
                assert answers.get(question, answer) == answer, caption


def test_an_exchanged_color_is_found(drawn):
    count = 0
    for facts, captions in drawn:
        new = [c for c in COLORS if c not in {t.color for t in facts.things}]
        for caption in captions:
            mentions = read_caption(caption).mentions
            for color in {x for m in mentions for x in m.looks & {*COLORS}}:
                wrong = re.sub(rf"\b{color}\b", new[0], caption)
                count += 1
                assert false(wrong, facts), wrong
    assert count > 200


def test_an_exchanged_motion_is_found(filmed):
    count = 0
    turned = {"right": "left", "left": "right", "up": "down", "down": "up"}
    turned |= {"grows": "shrinks", "appears": "vanishes", "rises": "falls"}
    for facts, captions in filmed:
        for caption in captions:
            wrong = " ".join(turned.get(w, w) for w in caption.split())
            before, after = (
                read_caption(c).happenings for c in (caption, wrong)
            )
            if before and after and before != after:
                count += 1
                kinds = {claim.kind for claim in false(wrong, facts)}
                assert "motion" in kinds, wrong
    assert count > 30


def test_an_added_object_is_found(drawn):
    for facts, captions in drawn:
        there = {thing.shape for thing in facts.things}
        absent = [shape for shape in SHAPES if shape not in there]
        for caption in captions:
            for shape in absent[:2]:
                (claim,) = false(f"{caption} and a {shape}", facts)
                assert claim[:3] == ("object", claim.mentions, shape)
        # Another one of what is there is one too many, too.
        whole = " ".join(f"a {thing.shape}" for thing in facts.things)
        assert not false(whole, facts)
        assert len(false(f"{whole} a {facts.things[0].shape}", facts)) == 1


def test_a_turned_relation_is_found(drawn):
    count = 0
    for facts, captions in drawn:
        shapes = [thing.shape for thing in facts.things]
        for caption in captions:
            for i, _, j in (claims := read_caption(caption)).relations:
                ends = [claims.mentions[k].shape for k in (i, j)]
                word = next((w for w in TURNED if f" {w} " in caption), None)
                if "stars" in caption:
                    # "Under the stars" is at night.
                    continue
                if word and all(shapes.count(shape) == 1 for shape in ends):
                    wrong = caption.replace(word, TURNED[word])
                    kinds = [claim.kind for claim in false(wrong, facts)]
                    assert kinds == ["relation"], wrong
                    count += 1
    assert count > 20


@pytest.mark.parametrize(
    ("caption", "wrong"),
    [
        ("a blue ball", []),
        ("a large blue ball", ["blue"]),
        ("a striped red cone", ["cone", "red", "striped"]),
        ("a ball a ball", []),
        ("a ball a ball a ball", ["ball"]),
        ("two balls", []),
        ("two blue balls", ["blue"]),
        ("two blue things", []),
        ("three balls", ["3"]),
        ("one red thing", []),
        ("three shapes on the sand", ["sand"]),
        ("many shapes", ["6+"]),
        ("some boxes", ["2+"]),
        ("a box above a ball", []),
        ("a box above a red ball", ["above"]),
        ("a ball on the right", []),
        ("a large ball on the right", ["right"]),
        ("a red ball in the corner", ["corner"]),
        ("a ball in the bottom right corner", []),
        ("a ball and a ball and a box and other things", ["others"]),
        ("a ball and a box and other things", []),
        ("things of different colors", ["different colors"]),
        ("a ball rolling to the left", ["left"]),
    ],
)
def test_what_is_false(caption, wrong):
    assert [c.value for c in false(caption, Facts(SCENE))] == wrong


def test_of_all_ways_to_tell_which_is_which_the_truest_counts(drawn):
    rng = np.random.default_rng(0)
    phrases = (
        "a,ball,box,red,small,two,two,balls,things,next to,left of,above,"
        "on the left,in the corner"
    ).split(",")
    for facts, _ in drawn[:60]:
        caption = " ".join(rng.choice(phrases, 10))
        claims = read_caption(caption)
        found = judge_claims(claims, facts)
        assert sum(c.true for c in found.claims) == most(claims, facts), caption


def most(claims, facts):
    """True claims of the best assignment, all tried in turn."""
    best = 0
    options = []
    for mention in claims.mentions:
        things = facts.of_shape(mention.shape)
        size = mention.count or (len(things) if mention.least else 1)
        sets = [
            s
            for n in range(1, size + 1)
            for s in itertools.combinations(things, n)
        ]
        if mention.shape is None and size > 1:
            sets = [tuple(k for k in things if looks_so(mention, k, facts))]
            sets = sets if sets[0] else [tuple(things)]
        options.append([(), *sets])
    for chosen in itertools.product(*options):
        named = [
            k
            for mention, things in zip(claims.mentions, chosen)
            for k in things
            if mention.shape
        ]
        if len(named) == len({*named}):
            true = sum(map(truths, claims.mentions, chosen, [facts] * 9))
            true += sum(
                stand(claims.mentions, chosen, i, name, j, facts)
                for i, name, j in claims.relations
            )
            best = max(best, true)
    return best + sum(ground == facts.ground for ground in claims.grounds)


def looks_so(mention, k, facts):
    places = all(facts.is_at(k, place) for place in mention.places)
    return mention.looks <= facts.looks[k] and places


def stand(mentions, chosen, i, name, j, facts):
    """Whether two phrases are related, each in words of its own."""
    several = [
        mentions[k].shape is None
        and bool(mentions[k].least or (mentions[k].count or 1) > 1)
        for k in (i, j)
    ]

    def related(a, b):
        return a != b and facts.related(a, name, b)

    one, other = chosen[i], chosen[j]
    if not one or not other:
        return False
    ends = [mentions[k].count or mentions[k].least for k in (i, j)]
    if several == [False, False]:
        return all(related(a, b) for a in one for b in other)
    if several[0]:
        every = any if several[1] else all
        hits = [every(related(a, b) for b in other) for a in one]
        return sum(hits) >= ends[0]
    hits = [all(related(a, b) for a in one) for b in other]
    return sum(hits) >= ends[1]


def truths(mention, things, facts):
    """True claims of one phrase about some things."""
    held = {
        look
        for look in mention.looks
        if things and all(look in facts.looks[k] for k in things)
    }
    true = len(held) + bool(things and mention.shape)
    for place in mention.places:
        true += bool(things) and all(facts.is_at(k, place) for k in things)
    number = facts.number(mention.shape, held)
    vague = mention.shape or mention.looks or (mention.least or 0) > 2
    if mention.least is not None and vague:
        true += number >= mention.least
    return true + (mention.count is not None and number == mention.count)


def test_recall_is_the_share_of_what_could_be_said():
    facts = Facts(Scene("grass", (BALL, BOX)))
    # Five facts of each, one relation, the ground and the number.
    assert len(facts.sayable) == 2 * 5 + 3
    found = judged("a big red ball to the left of a box on grass", facts)
    assert found.recall == 6 / 13 and found.precision == 1.0
    assert found.f1 == 2 * (6 / 13) / (1 + 6 / 13)
    assert judged("two things", facts).told == {("number",)}
    assert judged("a blue ball on the sand", facts).told == {("object", 0)}
    silent = judged("", facts)
    assert (silent.precision, silent.recall, silent.f1) == (1.0, 0.0, 0.0)
    weights = {("ground",): 3.0, ("object", "large"): 1.0}
    assert found.weighted_recall(weights) == 1.0
    assert judged("a ball", facts).weighted_recall(weights) == 0.25


def test_scores_are_those_of_each_caption_and_none_is_left_out(drawn):
    rng = np.random.default_rng(1)
    words = [phrase for phrase, _ in zip(lexicon(), range(400))]
    said = [
        " ".join(" ".join(words[k]) for k in rng.integers(0, 400, 6)) + " dog"
        for _ in drawn
    ]
    said[0] = ""
    truth = Truth([facts.scenes[0] for facts, _ in drawn])
    scores = truth.scores(said)
    each = [judged(text, facts) for text, (facts, _) in zip(said, drawn)]
    claims = [claim for one in each for claim in one.claims]
    true = [claim.true for claim in claims]
    assert scores["truth_precision"] == pytest.approx(np.mean(true))
    assert scores["truth_recall"] == np.mean([one.recall for one in each])
    false_ones = (len(true) - sum(true)) / len(said)
    assert scores["truth_false"] == pytest.approx(false_ones)
    unread = [read_caption(text).unread for text in said]
    assert scores["truth_unread_captions"] == 1 - 1 / len(said)
    count = sum(len(text.split()) for text in said)
    assert scores["truth_unread"] == sum(map(len, unread)) / count
    assert 0 < scores["truth_silent"] == np.mean([not x.claims for x in each])
    with pytest.raises(ValueError, match="Received: 1 captions of 120"):
        truth.scores(["a ball"])


def test_chair_is_that_of_the_kit_on_what_is_there(drawn):
    rng = np.random.default_rng(2)
    objects = ObjectSynonyms(
        [[shape, *{*NOUNS[shape]} - {shape}] for shape in SHAPES]
    )
    said = [
        " and ".join(f"a {noun}" for noun in rng.choice(SHAPES, n))
        for n in rng.integers(1, 4, len(drawn))
    ]
    there = [[t.shape for t in facts.things] for facts, _ in drawn]
    wanted = chair(
        [text.split() for text in said], [[[]]] * len(said), objects, there
    )
    truth = Truth([facts.scenes[0] for facts, _ in drawn])
    scores = truth.scores(said)
    assert scores["truth_chair_i"] == pytest.approx(wanted[0].corpus)
    assert scores["truth_chair_s"] == pytest.approx(wanted[1].corpus)


def test_yes_or_no_is_what_evenly_drawn_questions_have():
    truth, said = Truth([SCENE]), "a ball and a star and a cone"
    scores = truth.scores([said])
    absent = [shape for shape in SHAPES if shape not in ("ball", "box")]
    drawn = [
        (1 + sum(shape not in said for shape in pair)) / 4
        for pair in itertools.combinations(absent, 2)
    ]
    assert scores["truth_pope"] == pytest.approx(np.mean(drawn))
    # No scene has another shape: the first ones by name are the commonest.
    assert scores["truth_pope_popular"] == (1 + 1) / 4
    assert scores["truth_pope_yes"] == pytest.approx((1 / 2 + 2 / 6) / 2)


def test_a_truth_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`shown` must hold a scene"):
        Truth([])
