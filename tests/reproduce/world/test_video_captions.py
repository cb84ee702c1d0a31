import collections
import re

import numpy as np
import pytest

from reproduce.world import describe_video
from reproduce.world import judge_video
from reproduce.world import motion_of
from reproduce.world import sample_video
from reproduce.world.caption_words import VERBS


@pytest.fixture(scope="module")
def described():
    rng = np.random.default_rng(0)
    videos = [sample_video(rng) for _ in range(300)]
    return [(video, describe_video(video, rng)) for video in videos]


def every(described):
    return [(video, said) for video, five in described for said in five]


def test_every_video_has_five_captions_of_bounded_length(described):
    for _, captions in described:
        assert len(captions) == 5
        for caption in captions:
            words = caption.replace(",", " ,").split()
            assert 3 <= len(words) <= 22


def test_all_say_what_happens_and_to_what(described):
    for video, caption in every(described):
        assert motion_of(caption) == video.motion, caption
        assert judge_video(video, caption) == 1.0, caption


def test_people_put_the_same_motion_differently(described):
    put = collections.defaultdict(set)
    for video, caption in every(described):
        forms = {form for verbs in VERBS[video.motion] for form in verbs}
        put[video.motion] |= {f for f in forms if f.split(" {")[0] in caption}
    assert all(len(forms) > 3 for forms in put.values())
    assert np.mean([len(set(five)) for _, five in described]) > 4.5


def test_what_is_passed_lies_on_the_way(described):
    passed = 0
    for video, caption in every(described):
        if " past " in caption:
            others = list(video.scene.things)
            others.remove(video.start)
            between = [
                min(video.start.x, video.end.x) <= thing.x
                and thing.x <= max(video.start.x, video.end.x)
                or min(video.start.y, video.end.y) <= thing.y
                and thing.y <= max(video.start.y, video.end.y)
                for thing in others
            ]
            assert any(between), caption
            passed += 1
    assert passed > 20


def test_fast_and_slow_are_told_apart(described):
    ways = collections.defaultdict(list)
    for video, caption in every(described):
        for adverb in ("slowly", "quickly"):
            if adverb in caption:
                ways[adverb].append(video.start.distance(video.end))
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
    video = sample_video(np.random.default_rng(1))
    first, second = (
        describe_video(video, np.random.default_rng(2)) for _ in range(2)
    )
    assert first == second
