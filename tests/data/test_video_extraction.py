import keras
import numpy as np
import pytest

from tests.data.tiny_videos import SIZE
from tests.data.tiny_videos import brightening
from tests.data.tiny_videos import write_gif
from tfcap.data import Backbone
from tfcap.data import extract_video_features
from tfcap.data import frame_differences
from tfcap.data import load_features


def backbone(seen=None, fail_after=99):
    """Colors of a 2x3 grid; counts the frames that it has seen."""
    seen = [] if seen is None else seen

    def network(images):
        seen.append(len(images))
        if sum(seen) > fail_after:
            raise KeyboardInterrupt
        return keras.ops.average_pool(images, 2)

    return Backbone("average", "pool", SIZE, "raw", network)


@pytest.fixture
def gif(tmp_path):
    return write_gif(tmp_path / "video.gif", brightening(10))


def extract(videos, path, network=None, **options):
    network = network or backbone()
    extract_video_features(
        network, videos, path, batch_size=2, progress=False, **options
    )
    return load_features(path).astype("float32")


def test_a_video_is_a_vector_a_frame(gif, tmp_path):
    videos = [("gif", gif), ("array", brightening(4))]
    path = tmp_path / "features.h5"
    features = extract(videos, path, frames=5)
    assert features.shape == (2, 5, 3)
    np.testing.assert_allclose(features[0, :, 0], [20, 60, 100, 140, 180])
    np.testing.assert_allclose(features[1, :, 2], [0, 20, 40, 40, 60])
    assert load_features(path, ["array"]).shape == (1, 5, 3)


def test_frames_may_be_followed_by_what_has_changed(tmp_path):
    videos = [(7, brightening(4)), (8, brightening(4)[::-1])]
    features = extract(videos, tmp_path / "f.h5", frames=4, differences=True)
    assert features.shape == (2, 4, 6)
    np.testing.assert_allclose(features[0, :, 3], [0, 20, 20, 20])
    np.testing.assert_allclose(features[1, :, 5], [0, -20, -20, -20])
    # A mean over frames tells the direction by these alone.
    means = features.mean(1)
    np.testing.assert_allclose(means[0, :3], means[1, :3])
    np.testing.assert_allclose(means[0, 3:], 15)


def test_differences_start_from_zero():
    features = np.random.default_rng(0).normal(size=(2, 5, 3))
    made = frame_differences(features)
    np.testing.assert_array_equal(made[..., :3], features)
    np.testing.assert_array_equal(made[:, 0, 3:], 0)
    np.testing.assert_allclose(
        made[..., 3:].sum(1), features[:, -1] - features[:, 0]
    )


def test_an_interrupted_extraction_goes_on(tmp_path):
    path = tmp_path / "features.h5"
    videos = [(name, brightening(3 + i)) for i, name in enumerate("abc")]
    with pytest.raises(KeyboardInterrupt):
        extract(videos, path, backbone(fail_after=7), frames=3)
    seen = []
    extract(videos, path, backbone(seen), frames=3)
    assert seen == [1, 3]  # a blank image for the shape, then the last video
    with pytest.raises(ValueError, match="`grid`"):
        extract(videos, path, frames=4)
    with pytest.raises(ValueError, match="`shape`"):
        extract(videos, path, frames=3, differences=True)


def test_a_video_has_at_least_one_frame(tmp_path):
    with pytest.raises(ValueError, match="`frames` must be at least 1"):
        extract([], tmp_path / "features.h5", frames=0)
