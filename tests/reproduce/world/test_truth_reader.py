import collections
import json
import pathlib

import pytest

from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world.reader import claim_places
from reproduce.world.truth import Facts
from reproduce.world.truth import judge_claims
from reproduce.world.truth import read_caption

#: Captions of networks, with their claims as read by hand.
READ = json.loads(
    pathlib.Path(__file__).with_name("read_captions.json").read_text()
)


def differs(row):
    wanted = row["claims"].split("; ") if row["claims"] else []
    found = read_caption(row["caption"]).parts()
    return collections.Counter(found) != collections.Counter(wanted)


def test_captions_of_networks_are_read_as_a_person_reads_them():
    assert len(READ) >= 300
    assert len({row["caption"] for row in READ}) == len(READ)
    wrong = [row["caption"] for row in READ if differs(row)]
    assert len(wrong) <= 0.01 * len(READ), wrong


@pytest.mark.parametrize(
    ("caption", "claims"),
    [
        ("", ""),
        ("A big red Ball, a box.", "large red ball; box"),
        ("six things in the snow, two of them red",
         "6 thing; 2 red thing; on snow"),
        ("five shapes of different colors", "5 thing; varied"),
        ("a cone in the lower left corner", "cone; 1 at bottom left"),
        ("on the left a star", "star; 1 at left"),
        ("a ball next to other shapes", "ball; others; ? next to"),
        ("a ball and five other things", "ball; others; ? five"),
        ("a ball next to on the grass", "ball; on grass; ? next to"),
        ("boxes with polka dots", "2+ dotted box"),
        ("a ball slowly rolling to the left past a box",
         "ball; box; 1 past 2; 1 left; 1 slow"),
        ("a ball away from a box", "ball; box; 1 far 2"),
        ("a ball going up away from a box", "ball; box; 1 away 2; 1 up"),
        ("a ball turning from red to blue", "ball; 1 turns from red to blue"),
        ("a star and a moon, nothing moves", "star; moon; 0 still"),
        ("a dog on a red", "? dog on red"),
        ("a red ball; a blue box!", "red ball; blue box"),
        ("\u201ca red ball\u201d: (a blue box)?", "red ball; blue box"),
    ],
)  # fmt: skip
def test_what_a_caption_claims(caption, claims):
    wanted = claims.split("; ") if claims else []
    found = read_caption(caption)
    assert sorted(found.parts()) == sorted(wanted)
    assert found.words == len(caption.split())


def test_each_claim_has_its_words():
    ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    facts = Facts(Scene("grass", (ball,)))
    for text in [row["caption"] for row in READ]:
        places = claim_places(text)
        for kind, mentions, value, _ in judge_claims(
            read_caption(text), facts
        ).claims:
            start, end = places[kind, mentions, value]
            words = text[start:end].split()
            assert words and f" {' '.join(words)} " in f" {text} "
            if value in text.split() and kind == "color":
                assert words == [value]


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ('"A big red Ball," a\tbox.', ["Ball", "big", "red", "box"]),
        ("a ball in the top left corner", ["ball", "in the top left corner"]),
        ("a ball top left", ["ball", "top left"]),
        ("six things, two of them red", ["six", "two", "red"]),
        ("two stars on the left of a spotted moon",
         ["stars", "two", "moon", "spotted", "on the left of"]),
        ("the ball rolls down past a box", ["ball", "rolls down", "box",
                                            "past"]),
        ("boxes and other things of different colors",
         ["boxes", "boxes", "and other things", "of different colors"]),
    ],
)  # fmt: skip
def test_words_of_claims(caption, words):
    places = claim_places(caption).values()
    assert sorted(caption[a:b] for a, b in places) == sorted(words)


@pytest.mark.parametrize(
    ("caption", "claims"),
    [
        ("no balls", "? no balls"),
        ("a box without a ball", "box; ? without a ball"),
        ("a box without a red ball on the grass",
         "box; on grass; ? without a red ball"),
        ("neither a ball nor a box but a star",
         "star; ? neither a ball nor a box but"),
        ("no balls or boxes and a star", "star; ? no balls or boxes"),
        ("a star next to no ball and a box", "star; box; ? next to no ball"),
        ("a box that is not on the grass", "box; ? that not on the grass"),
        ("a ball not red on the grass", "ball; on grass; ? not red"),
        ("a ball that is not red or blue above a box",
         "ball; box; 1 above 2; ? that not red or blue"),
    ],
)  # fmt: skip
def test_what_is_denied_is_not_claimed(caption, claims):
    assert str(read_caption(caption)) == claims
