import collections
import dataclasses

import numpy as np
import pytest

from reproduce.world import MOTIONS
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import Video
from reproduce.world import judge_video
from reproduce.world import motion_scores
from reproduce.world import render
from reproduce.world import render_videos
from reproduce.world.clips import motion_of

BOX = Thing("box", "blue", "large", "plain", 44.0, 30.0, 9.0)
BALL = Thing("ball", "red", "small", "striped", 20.0, 30.0, 5.0)
STAR = Thing("star", "white", "small", "plain", 50.0, 12.0, 5.0)
SCENE = Scene("grass", (BOX, BALL, STAR))


def video(motion, when=0.5, **changes):
    return Video(SCENE, motion, 1, dataclasses.replace(BALL, **changes), when)


def test_what_happens_is_what_the_motion_says(videos):
    counts = collections.Counter(video.motion for video in videos)
    assert set(counts) == set(MOTIONS)
    assert counts["left"] > counts["still"]
    for video in videos:
        begin, end = video.start, video.end
        across, down = end.x - begin.x, end.y - begin.y
        ways = {"left": -across, "right": across, "up": -down, "down": down}
        way = ways.get(video.motion)
        if way is None:
            assert across == down == 0
        else:
            assert way >= 17.9 and abs(across) + abs(down) < way + 3.1
        sizes = {"grows": ("small", "large"), "shrinks": ("large", "small")}
        same = begin.size, begin.size
        assert (begin.size, end.size) == sizes.get(video.motion, same)
        grown = np.sign(end.radius - begin.radius)
        assert grown == {"grows": 1, "shrinks": -1}.get(video.motion, 0)
        assert (begin.color != end.color) == (video.motion == "turns")


def test_all_things_can_be_seen_all_the_while(videos):
    for video in videos:
        assert 2 <= len(video.scene.things) <= 4
        for scene in video.frames():
            assert scene.least_visible >= 0.45
            for thing in scene.things:
                assert 8 < thing.x < 56 and 8 < thing.y < 56


def test_a_thing_moves_and_grows_all_the_while():
    right = video("right", x=48.0, y=32.0)
    middle = right.scene_at(0.25).things[1]
    assert (middle.x, middle.y) == (27.0, 30.5)
    ends = [right.scene_at(share).things[1] for share in (0, 1)]
    assert ends == [BALL, right.end]
    grows = video("grows", radius=9.0, size="large")
    assert grows.scene_at(0.5).things[1].radius == 7.0
    sizes = [grows.scene_at(x).things[1].size for x in (0.4, 0.6)]
    assert sizes == ["small", "large"]


def test_a_thing_turns_appears_and_disappears_at_once():
    turns = video("turns", when=0.3, color="green")
    colors = [scene.things[1].color for scene in turns.frames(5)]
    assert colors == ["red"] * 2 + ["green"] * 3
    for motion, counts in (
        ("appears", [2, 2, 3, 3, 3]),
        ("disappears", [3, 3, 2, 2, 2]),
    ):
        scenes = video(motion, when=0.3).frames(5)
        assert [len(scene.things) for scene in scenes] == counts
        assert all({BOX, STAR} <= set(scene.things) for scene in scenes)


def test_the_background_of_a_video_does_not_flicker():
    frames = render_videos([video("right", x=48.0), video("still")], frames=4)
    assert frames.shape == (2, 4, 64, 64, 3) and frames.dtype == np.uint8
    away = frames[:, :, 45:]  # where nothing comes by
    assert (away == away[:1, :1]).all()
    assert (frames[1] == frames[1, :1]).all()
    assert (frames[0, 0] != frames[0, 3]).any()
    np.testing.assert_array_equal(frames[1, 0], render([SCENE])[0])


@pytest.mark.parametrize(
    "caption, motion",
    [
        ("a ball to the left of a box", None),
        ("a ball moves", None),
        ("a ball moving to the left of a box", None),
        ("a ball to the left of a box goes right", "right"),
        ("a ball not moving left of a box", "still"),
        ("a ball and a box, nothing happens", "still"),
        ("a ball goes up and disappears", "up"),
        ("a ball turns away", None),
        ("", None),
    ],
)
def test_only_what_happens_counts(caption, motion):
    assert motion_of(caption)[0] == motion


LEFT, STILL = video("left", x=5.0), video("still")
GROWS = video("grows", size="large", radius=9.0)
TURNS = video("turns", color="green")


@pytest.mark.parametrize(
    "shown, caption, grade",
    [
        (LEFT, "a small red ball moves left", 1.0),
        (LEFT, "a sphere with stripes moves left", 1.0),
        (LEFT, "a field of grass with a ball moving left", 1.0),
        (LEFT, "a ball moves left past a huge blue box", 1.0),
        (LEFT, "a blue box moves left past a ball", 0.5),
        (LEFT, "a green ball moves left", 0.5),
        (LEFT, "a small red ball moves right", 0.0),
        (LEFT, "a small red ball on the left", 0.0),
        (GROWS, "a small ball grows", 1.0),
        (GROWS, "a huge ball grows", 1.0),
        (TURNS, "a green ball turns green", 1.0),
        (TURNS, "a red ball turns from red to green", 1.0),
        (TURNS, "a red ball turns from red to blue", 0.5),
        (STILL, "a blue box stays still", 1.0),
        (STILL, "a green box stays still", 0.5),
    ],
)
def test_a_caption_is_graded_by_what_happens_and_to_what(shown, caption, grade):
    assert judge_video(shown, caption) == grade


def test_scores_are_shares_of_the_captions():
    said = ["a ball grows", "a box grows", "a ball shrinks", "a ball"]
    scores = motion_scores([GROWS] * 4, said)
    assert scores == {"motion": 0.5, "motion_and_thing": 0.25}
    with pytest.raises(ValueError):
        motion_scores([GROWS], said)
