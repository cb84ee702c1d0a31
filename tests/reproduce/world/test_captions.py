import collections
import re

import numpy as np
import pytest

from reproduce.world import judge_video
from reproduce.world.caption_words import VERBS


@pytest.fixture
def both(captions, video_captions):
    """All captions of scenes, and all of videos."""
    return [sum(captions, []), sum(video_captions, [])]


def test_captions_are_short_and_of_a_small_world(both):
    for texts in both:
        sizes = [len(text.replace(",", " ,").split()) for text in texts]
        assert 2 <= min(sizes) and max(sizes) <= 22
        words = {w for text in texts for w in text.replace(",", "").split()}
        assert 130 < len(words) < 260
        assert all(re.fullmatch("[a-z]+", word) for word in words)


def test_articles_fit_what_follows(both):
    text = " . ".join(sum(both, []))
    assert not re.search(r"\ba [aeio]|\ban [^aeiou]", text)


def test_many_captions_are_shared_and_nearly_all_images_have_one_of_their_own(
    captions,
):
    owners = collections.Counter(c for five in captions for c in set(five))
    shared = [[owners[c] > 1 for c in five] for five in captions]
    assert all(len(five) == 5 for five in captions)
    assert 0.05 < np.mean(shared) < 0.5
    assert np.mean([any(row) for row in shared]) > 0.25
    assert np.mean([not all(row) for row in shared]) > 0.97


def test_all_say_what_happens_and_to_what(videos, video_captions):
    put = collections.defaultdict(set)
    for video, five in zip(videos, video_captions, strict=True):
        forms = {form for verbs in VERBS[video.motion] for form in verbs}
        for caption in five:
            assert judge_video(video, caption) == 1.0, caption
            put[video.motion] |= {
                form for form in forms if form.split(" {")[0] in caption
            }
    assert all(len(forms) > 3 for forms in put.values())
    assert np.mean([len(set(five)) for five in video_captions]) > 4.5
