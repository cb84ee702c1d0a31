import collections
import re

import numpy as np
import pytest

from reproduce.world import describe_clip
from reproduce.world import judge_clip
from reproduce.world import motion_of
from reproduce.world import sample_clip
from reproduce.world.clip_words import VERBS


@pytest.fixture(scope="module")
def described():
    rng = np.random.default_rng(0)
    clips = [sample_clip(rng) for _ in range(300)]
    return [(clip, describe_clip(clip, rng)) for clip in clips]


def every(described):
    return [(clip, said) for clip, five in described for said in five]


def test_every_clip_has_five_captions_of_bounded_length(described):
    for _, captions in described:
        assert len(captions) == 5
        for caption in captions:
            words = caption.replace(",", " ,").split()
            assert 3 <= len(words) <= 22


def test_all_say_what_happens_and_to_what(described):
    for clip, caption in every(described):
        assert motion_of(caption) == clip.motion, caption
        assert judge_clip(clip, caption) == 1.0, caption


def test_people_put_the_same_motion_differently(described):
    put = collections.defaultdict(set)
    for clip, caption in every(described):
        forms = {form for verbs in VERBS[clip.motion] for form in verbs}
        put[clip.motion] |= {f for f in forms if f.split(" {")[0] in caption}
    assert all(len(forms) > 3 for forms in put.values())
    assert np.mean([len(set(five)) for _, five in described]) > 4.5


def test_what_is_passed_lies_on_the_way(described):
    passed = 0
    for clip, caption in every(described):
        if " past " in caption:
            others = list(clip.scene.things)
            others.remove(clip.start)
            between = [
                min(clip.start.x, clip.end.x) <= thing.x
                and thing.x <= max(clip.start.x, clip.end.x)
                or min(clip.start.y, clip.end.y) <= thing.y
                and thing.y <= max(clip.start.y, clip.end.y)
                for thing in others
            ]
            assert any(between), caption
            passed += 1
    assert passed > 20


def test_fast_and_slow_are_told_apart(described):
    ways = collections.defaultdict(list)
    for clip, caption in every(described):
        for adverb in ("slowly", "quickly"):
            if adverb in caption:
                ways[adverb].append(clip.start.distance(clip.end))
    assert max(ways["slowly"]) < 24 and min(ways["quickly"]) > 34


def test_the_vocabulary_is_that_of_a_small_world(described):
    words = {
        word
        for _, caption in every(described)
        for word in caption.replace(",", "").split()
    }
    assert 130 < len(words) < 260
    assert all(re.fullmatch("[a-z]+", word) for word in words)


def test_the_same_seed_gives_the_same_captions():
    clip = sample_clip(np.random.default_rng(1))
    first, second = (
        describe_clip(clip, np.random.default_rng(2)) for _ in range(2)
    )
    assert first == second
