import keras
import numpy as np
import pytest
from PIL import Image

from tfcap.data import Backbone
from tfcap.data import extract_clip_features
from tfcap.data import frame_differences
from tfcap.data import load_features
from tfcap.data.clip_extraction import even_frames
from tfcap.data.clip_extraction import read_frames

SIZE = (4, 6)


def backbone(seen=None, fail_after=99):
    """Colors of a 2x3 grid; counts the frames that it has seen."""
    seen = [] if seen is None else seen

    def network(images):
        seen.append(len(images))
        if sum(seen) > fail_after:
            raise KeyboardInterrupt
        return keras.ops.average_pool(images, 2)

    return Backbone("average", "pool", SIZE, "raw", network)


def brightening(frames, step=20):
    """A clip whose frame f has the gray value f * step."""
    return np.full((frames, *SIZE, 3), 1, np.uint8) * (
        step * np.arange(frames, dtype=np.uint8)[:, None, None, None]
    )


@pytest.fixture
def gif(tmp_path):
    path = tmp_path / "clip.gif"
    first, *rest = map(Image.fromarray, brightening(10))
    first.save(path, save_all=True, append_images=rest, optimize=False)
    return path


def extract(clips, path, network=None, **options):
    network = network or backbone()
    extract_clip_features(
        network, clips, path, batch_size=2, progress=False, **options
    )
    return load_features(path).astype("float32")


def test_a_clip_is_a_vector_a_frame(gif, tmp_path):
    clips = [("gif", gif), ("array", brightening(4))]
    path = tmp_path / "features.h5"
    features = extract(clips, path, frames=5)
    assert features.shape == (2, 5, 3)
    np.testing.assert_allclose(features[0, :, 0], [20, 60, 100, 140, 180])
    np.testing.assert_allclose(features[1, :, 2], [0, 20, 40, 40, 60])
    assert load_features(path, ["array"]).shape == (1, 5, 3)


def test_frames_may_be_followed_by_what_has_changed(tmp_path):
    clips = [(7, brightening(4)), (8, brightening(4)[::-1])]
    features = extract(clips, tmp_path / "f.h5", frames=4, differences=True)
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
    clips = [(name, brightening(3)) for name in "abc"]
    with pytest.raises(KeyboardInterrupt):
        extract(clips, path, backbone(fail_after=7), frames=3)
    seen = []
    extract(clips, path, backbone(seen), frames=3)
    assert seen == [1, 3]  # a blank image for the shape, then the last clip
    with pytest.raises(ValueError, match="`grid`"):
        extract(clips, path, frames=4)
    with pytest.raises(ValueError, match="`shape`"):
        extract(clips, path, frames=3, differences=True)


def test_frames_are_evenly_taken():
    assert even_frames(8, 8).tolist() == list(range(8))
    assert even_frames(1, 3).tolist() == [0, 0, 0]
    for total, frames in ((40, 8), (41, 8), (7, 3), (3, 8)):
        rows = even_frames(total, frames)
        np.testing.assert_array_equal(rows, total - 1 - rows[::-1])
        assert np.ptp(np.diff(rows)) <= 1


def test_a_gif_is_read_as_it_is_seen(gif):
    frames = read_frames(gif, 10, (8, 12))
    assert frames.shape == (10, 8, 12, 3) and frames.dtype == np.float32
    np.testing.assert_allclose(frames[:, 0, 0, 0], 20 * np.arange(10))


def test_a_still_image_is_a_clip_of_one_frame(tmp_path):
    path = tmp_path / "still.png"
    Image.fromarray(brightening(2)[1]).save(path)
    assert (read_frames(path, 3, SIZE) == 20).all()


def test_a_clip_that_is_cut_off_is_named_wherever_it_ends(gif):
    whole = gif.read_bytes()
    readable = read_frames(gif, 10, SIZE)
    told = 0
    for length in range(0, len(whole) - 1):
        gif.write_bytes(whole[:length])
        try:
            frames = read_frames(gif, 10, SIZE)
        except ValueError as error:
            assert "clip.gif" in str(error) and "again" in str(error)
            told += 1
        else:
            # Cut between two frames, it is a shorter clip.
            assert frames.shape == readable.shape
    assert told > 100


def test_what_is_no_clip_is_refused(tmp_path):
    path = tmp_path / "features.h5"
    for wrong in (np.zeros((0, 4, 6, 3)), np.zeros((2, 4, 6, 9)), None):
        with pytest.raises(ValueError, match="`clips` must"):
            read_frames(wrong, 2, SIZE)
    with pytest.raises(FileNotFoundError):
        read_frames(tmp_path / "none.gif", 2, SIZE)
    with pytest.raises(ValueError, match="`frames` must be at least 1"):
        extract([], path, frames=0)
