"""What is drawn once for all tests of the world."""

import numpy as np
import pytest

from reproduce.world import describe
from reproduce.world import describe_video
from reproduce.world import sample_scene
from reproduce.world import sample_video
from reproduce.world.dialogs import make_dialog


@pytest.fixture(scope="session")
def scenes():
    rng = np.random.default_rng(0)
    return [sample_scene(rng) for _ in range(600)]


@pytest.fixture(scope="session")
def captions(scenes):
    """Five captions of each scene."""
    rng = np.random.default_rng(1)
    return [describe(scene, rng) for scene in scenes]


@pytest.fixture(scope="session")
def dialogs(scenes, captions):
    """A dialog about each scene."""
    rng = np.random.default_rng(2)
    pairs = zip(scenes, captions)
    return [make_dialog(scene, five[0], rng) for scene, five in pairs]


@pytest.fixture(scope="session")
def videos():
    rng = np.random.default_rng(0)
    return [sample_video(rng) for _ in range(300)]


@pytest.fixture(scope="session")
def video_captions(videos):
    """Five captions of each video."""
    rng = np.random.default_rng(1)
    return [describe_video(video, rng) for video in videos]
