import collections

import numpy as np
import pytest

from reproduce.world import MOTIONS
from reproduce.world import sample_video
from reproduce.world.sampler import MOTION_ODDS


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
