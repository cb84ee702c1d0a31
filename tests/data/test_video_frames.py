import numpy as np
import pytest
from PIL import Image

from tests.data.tiny_videos import SIZE
from tests.data.tiny_videos import brightening
from tests.data.tiny_videos import write_gif
from tfcap.data.video_extraction import even_frames
from tfcap.data.video_extraction import read_frames


@pytest.fixture
def gif(tmp_path):
    return write_gif(tmp_path / "video.gif", brightening(10))


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


def test_a_still_image_is_a_video_of_one_frame(tmp_path):
    path = tmp_path / "still.png"
    Image.fromarray(brightening(2)[1].copy()).save(path)
    assert (read_frames(path, 3, SIZE) == 20).all()


def test_a_video_that_is_cut_off_is_named_wherever_it_ends(gif):
    whole = gif.read_bytes()
    readable = read_frames(gif, 10, SIZE)
    told = 0
    for length in range(0, len(whole) - 1):
        gif.write_bytes(whole[:length])
        try:
            frames = read_frames(gif, 10, SIZE)
        except ValueError as error:
            assert "video.gif" in str(error) and "again" in str(error)
            told += 1
        else:
            # Cut between two frames, it is a shorter video.
            assert frames.shape == readable.shape
    assert told > 100


def test_what_is_no_video_is_refused(tmp_path):
    for wrong in (np.zeros((0, 4, 6, 3)), np.zeros((2, 4, 6, 9)), None):
        with pytest.raises(ValueError, match="`videos` must"):
            read_frames(wrong, 2, SIZE)
    with pytest.raises(FileNotFoundError):
        read_frames(tmp_path / "none.gif", 2, SIZE)


def test_a_video_of_too_many_pixels_is_refused(gif, monkeypatch):
    monkeypatch.setenv(
        "TFCAP_MAX_VIDEO_PIXELS", str(10 * SIZE[0] * SIZE[1] - 1)
    )
    with pytest.raises(
        ValueError, match="video.gif.*10 frames.*PIXELS to more"
    ):
        read_frames(gif, 10, SIZE)
    assert read_frames(gif, 1, SIZE).shape[0] == 1
