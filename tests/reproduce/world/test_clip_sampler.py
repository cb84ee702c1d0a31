import collections

import numpy as np
import pytest

from reproduce.world import MOTIONS
from reproduce.world import sample_clip
from reproduce.world.clip_sampler import MOTION_ODDS


@pytest.fixture(scope="module")
def clips():
    rng = np.random.default_rng(0)
    return [sample_clip(rng) for _ in range(300)]


def test_motions_come_as_often_as_they_should(clips):
    counts = collections.Counter(clip.motion for clip in clips)
    assert set(counts) == set(MOTIONS)
    for motion, odds in MOTION_ODDS.items():
        assert abs(counts[motion] / len(clips) - odds) < 0.07
    assert sum(MOTION_ODDS.values()) == pytest.approx(1)


def test_what_happens_is_what_the_motion_says(clips):
    for clip in clips:
        begin, end = clip.start, clip.end
        across, down = end.x - begin.x, end.y - begin.y
        way = {
            "left": -across,
            "right": across,
            "up": -down,
            "down": down,
        }.get(clip.motion)
        if way is None:
            assert across == down == 0
        else:
            assert way >= 17.9 and abs(across) + abs(down) < way + 3.1
        sizes = {"grows": ("small", "large"), "shrinks": ("large", "small")}
        same = begin.size, begin.size
        assert (begin.size, end.size) == sizes.get(clip.motion, same)
        grown = np.sign(end.radius - begin.radius)
        assert grown == {"grows": 1, "shrinks": -1}.get(clip.motion, 0)
        assert (begin.color != end.color) == (clip.motion == "turns")


def test_all_things_can_be_seen_all_the_while(clips):
    for clip in clips:
        assert 2 <= len(clip.scene.things) <= 4
        for scene in clip.frames():
            for i, thing in enumerate(scene.things):
                assert scene.visible(i) >= 0.45
                assert 8 < thing.x < 56 and 8 < thing.y < 56


def test_the_same_seed_draws_the_same_clip():
    first, second = (sample_clip(np.random.default_rng(5)) for _ in range(2))
    assert first == second
