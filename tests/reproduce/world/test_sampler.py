import collections
from collections import Counter

import numpy as np
import pytest

from reproduce.world import MOTIONS
from reproduce.world import sample_video
from reproduce.world.captions import describe
from reproduce.world.dialogs import make_dialog
from reproduce.world.odds import COLOR_PRESENCE
from reproduce.world.odds import SHAPE_PRESENCE
from reproduce.world.odds import draw
from reproduce.world.odds import draw_topic
from reproduce.world.sampler import MOTION_ODDS
from reproduce.world.sampler import sample_scene
from reproduce.world.scene import COLORS
from reproduce.world.scene import SHAPES


@pytest.fixture(scope="module")
def videos():
    rng = np.random.default_rng(0)
    return [sample_video(rng) for _ in range(300)]


def test_motions_come_as_often_as_they_should(videos):
    counts = collections.Counter(video.motion for video in videos)
    assert set(counts) == set(MOTIONS)
    for motion, odds in MOTION_ODDS.items():
        assert abs(counts[motion] / len(videos) - odds) < 0.07
    assert sum(MOTION_ODDS.values()) == pytest.approx(1)


def test_what_happens_is_what_the_motion_says(videos):
    for video in videos:
        begin, end = video.start, video.end
        across, down = end.x - begin.x, end.y - begin.y
        way = {
            "left": -across,
            "right": across,
            "up": -down,
            "down": down,
        }.get(video.motion)
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
            for i, thing in enumerate(scene.things):
                assert scene.visible(i) >= 0.45
                assert 8 < thing.x < 56 and 8 < thing.y < 56


def test_the_same_seed_draws_the_same_video():
    first, second = (sample_video(np.random.default_rng(5)) for _ in range(2))
    assert first == second


@pytest.fixture(scope="module")
def scenes():
    rng = np.random.default_rng(0)
    return [sample_scene(rng) for _ in range(2000)]


def test_values_come_with_their_odds():
    rng = np.random.default_rng(0)
    drawn = Counter(draw(rng, {"a": 3.0, "b": 1.0}) for _ in range(4000))
    assert abs(drawn["a"] / 4000 - 0.75) < 0.03


@pytest.mark.parametrize("wanted", [True, False])
def test_a_topic_is_there_or_not_as_wanted(wanted):
    rng = np.random.default_rng(0)
    there = {"ball", "moon"}
    drawn = {draw_topic(rng, SHAPE_PRESENCE, there, wanted) for _ in range(99)}
    assert drawn == (there if wanted else set(SHAPES) - there)
    assert draw_topic(rng, SHAPE_PRESENCE, set(SHAPES), False) is None


def test_the_shares_are_those_of_the_scenes(scenes):
    for name, values, presence in (
        ("shape", SHAPES, SHAPE_PRESENCE),
        ("color", COLORS, COLOR_PRESENCE),
    ):
        assert set(presence) == set(values)
        for value in values:
            found = np.mean([bool(s.find(**{name: value})) for s in scenes])
            assert abs(found - presence[value]) < 0.05


def test_no_shape_is_nearly_always_there_or_absent_where_asked_for(scenes):
    rng = np.random.default_rng(0)
    yes, asked = Counter(), Counter()
    for scene in scenes:
        dialog = make_dialog(scene, describe(scene, rng, n=1)[0], rng)
        for r in dialog.rounds:
            for shape in SHAPES:
                if r.kind == "existence" and shape in r.question:
                    asked[shape] += 1
                    yes[shape] += r.answer.startswith("y")
    for shape in SHAPES:
        assert asked[shape] > 100
        assert 0.22 < yes[shape] / asked[shape] < 0.65
