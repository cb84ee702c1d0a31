import dataclasses

import pytest

from reproduce.world import MOTIONS
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import Video
from reproduce.world import judge_video
from reproduce.world import motion_of
from reproduce.world import motion_scores
from reproduce.world.caption_words import VERBS

BALL = Thing("ball", "red", "small", "striped", 20.0, 30.0, 5.0)
BOX = Thing("box", "blue", "large", "plain", 44.0, 30.0, 9.0)
SCENE = Scene("grass", (BALL, BOX))


@pytest.mark.parametrize("motion", MOTIONS)
def test_all_words_of_a_motion_are_understood(motion):
    for forms in VERBS[motion]:
        for form in forms:
            said = form.format(old="red", new="green")
            assert motion_of(f"a video of a ball {said}.") == motion
            assert motion_of(f"A ball {said} past a box on the left") == motion


@pytest.mark.parametrize(
    "caption, motion",
    [
        ("a ball to the left of a box", None),
        ("a ball moves", None),
        ("a ball moving to the left of a box", None),
        ("a ball to the left of a box goes right", "right"),
        ("a ball not moving left of a box", "still"),
        ("a ball and a box, nothing happens", "still"),
        ("a ball goes away", "disappears"),
        ("a ball goes up and disappears", "up"),
        ("a ball turns away", None),
        ("", None),
    ],
)
def test_only_what_happens_counts(caption, motion):
    assert motion_of(caption) == motion


def grade(motion, caption, **changes):
    end = dataclasses.replace(BALL, **changes)
    return judge_video(Video(SCENE, motion, 0, end), caption)


def test_the_right_motion_of_the_right_thing_counts_whole():
    assert grade("left", "a small red ball moves left", x=5.0) == 1
    assert grade("left", "a sphere with stripes moves left", x=5.0) == 1
    assert grade("left", "a field of grass with a ball moving left") == 1
    assert grade("left", "a ball moves left past a huge blue box") == 1


def test_the_right_motion_of_another_thing_counts_half():
    assert grade("left", "a blue box moves left past a ball") == 0.5
    assert grade("left", "a green ball moves left") == 0.5
    assert grade("left", "a big ball moves left") == 0.5


def test_another_motion_or_none_counts_nothing():
    assert grade("left", "a small red ball moves right") == 0
    assert grade("left", "a small red ball on the left") == 0


def test_what_changes_may_be_told_as_it_was_or_will_be():
    for size in ("small", "huge"):
        said = f"a {size} ball grows"
        assert grade("grows", said, size="large", radius=9.0) == 1
    for color in ("red", "green"):
        said = f"a {color} ball turns green"
        assert grade("turns", said, color="green") == 1


def test_the_new_color_counts():
    said = "a red ball turns from red to {}".format
    assert grade("turns", said("green"), color="green") == 1
    assert grade("turns", said("blue"), color="green") == 0.5


def test_where_nothing_happens_any_thing_may_be_named():
    assert grade("still", "a blue box stays still") == 1
    assert grade("still", "a green box stays still") == 0.5


def test_scores_are_shares_of_the_captions():
    video = Video(SCENE, "grows", 0, dataclasses.replace(BALL, size="large"))
    said = ["a ball grows", "a box grows", "a ball shrinks", "a ball"]
    scores = motion_scores([video] * 4, said)
    assert scores == {"motion": 0.5, "motion_and_thing": 0.25}
    with pytest.raises(ValueError):
        motion_scores([video], said)
