import dataclasses
import json

import numpy as np
import pytest

from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import Video
from reproduce.world import render
from reproduce.world import render_videos
from reproduce.world import video_from_dict
from reproduce.world import video_to_dict

BOX = Thing("box", "blue", "medium", "plain", 12.0, 50.0, 7.0)
BALL = Thing("ball", "red", "small", "plain", 20.0, 30.0, 5.0)
STAR = Thing("star", "white", "small", "plain", 50.0, 12.0, 5.0)


def video(motion, when=0.5, **changes):
    scene = Scene("brick", (BOX, BALL, STAR))
    return Video(scene, motion, 1, dataclasses.replace(BALL, **changes), when)


def middle(video, share):
    return video.scene_at(share).things[1]


def test_a_thing_moves_and_grows_all_the_while():
    right = video("right", x=48.0, y=32.0)
    assert middle(right, 0) == BALL and middle(right, 1) == right.end
    assert (middle(right, 0.25).x, middle(right, 0.25).y) == (27.0, 30.5)
    grows = video("grows", radius=9.0, size="large")
    assert middle(grows, 0.5).radius == 7.0
    assert [middle(grows, x).size for x in (0.4, 0.6)] == ["small", "large"]


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


def test_nothing_else_ever_changes():
    for motion in ("left", "turns", "appears", "still"):
        changes = {"left": {"x": 5.0}, "turns": {"color": "green"}}
        made = video(motion, **changes.get(motion, {}))
        for scene in made.frames():
            assert scene.things[0] == BOX and scene.things[-1] == STAR
            assert scene.background == "brick"
    assert len(set(video("still").frames())) == 1


def test_the_background_of_a_video_does_not_flicker():
    frames = render_videos([video("right", x=48.0), video("still")], frames=4)
    assert frames.shape == (2, 4, 64, 64, 3) and frames.dtype == np.uint8
    away = frames[:, :, 45:, 30:]  # where nothing comes by
    assert (away == away[:1, :1]).all()
    assert (frames[1] == frames[1, :1]).all()
    assert (frames[0, 0] != frames[0, 3]).any()
    np.testing.assert_array_equal(
        frames[1, 0], render([video("still").scene])[0]
    )


@pytest.mark.parametrize("motion", ["grows", "appears"])
def test_a_video_survives_json(motion):
    made = video(motion, radius=8.5)
    assert video_from_dict(json.loads(json.dumps(video_to_dict(made)))) == made
