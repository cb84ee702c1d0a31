import errno
import os
from unittest import mock

import keras
import numpy as np
import pytest
from PIL import Image

from tests.data.tiny_videos import SIZE
from tests.data.tiny_videos import brightening
from tests.data.tiny_videos import write_gif
from tfcap.data import Backbone
from tfcap.data import extract_features
from tfcap.data import extraction
from tfcap.data import load_features
from tfcap.data.extraction import read_frames
from tfcap.data.extraction import read_image


def backbone(seen=None, fail_after=99, name="average"):
    """Mean colors of a 2x3 grid; notes the number of images of each call."""
    seen = [] if seen is None else seen

    def network(images):
        seen.append(len(images))
        if sum(seen) > fail_after:
            raise KeyboardInterrupt
        return keras.ops.average_pool(images, 2)

    return Backbone(name, "pool", SIZE, "raw", network)


def extract(images, path, network=None, **options):
    options = {"batch_size": 2, "progress": False} | options
    extract_features(network or backbone(), images, path, **options)


@pytest.fixture
def images(tmp_path):
    rng = np.random.default_rng(0)
    made = []
    for i in range(5):
        pixels = rng.integers(0, 255, (4, 6, 3)).astype(np.uint8)
        path = tmp_path / f"{i}.png"
        Image.fromarray(pixels).save(path)
        made.append((50 + i, path if i % 2 else pixels))
    return made


def test_each_image_has_its_own_features_on_the_grid(images, tmp_path, capsys):
    path = tmp_path / "features.npy"
    extract(iter(images), path)
    assert not capsys.readouterr().out
    features = load_features(path, [54, 51])
    for row, i in zip(features, (4, 1)):
        pixels = read_image(images[i][1], (4, 6))
        means = pixels.reshape(2, 2, 3, 2, 3).mean((1, 3)).reshape(6, 3)
        np.testing.assert_allclose(row, means, rtol=1e-3, atol=1e-6)
    extract(images, tmp_path / "told.npy", progress=True)
    assert "5/5" in capsys.readouterr().out


def test_an_interrupted_extraction_goes_on(images, tmp_path):
    path, seen = tmp_path / "features.npy", []
    with pytest.raises(KeyboardInterrupt):
        extract(images, path, backbone(fail_after=5))
    extract(images, path, backbone(seen))
    assert seen == [1, 1]  # a blank image for the shape, then the last
    assert load_features(path).shape == (5, 6, 3)
    with pytest.raises(ValueError, match="`backbone`.*has 'average'"):
        extract(images, path, backbone(name="other"))


def test_a_damaged_image_is_named_and_what_is_done_is_kept(images, tmp_path):
    bad, path, seen = tmp_path / "bad.jpg", tmp_path / "features.npy", []
    bad.write_bytes(b"\xff\xd8\xff nothing more")
    images.append((99, bad))
    with pytest.raises(ValueError, match="bad.jpg.*again"):
        extract(images, path)
    images[-1] = (99, np.ones((4, 6, 3)))
    extract(images, path, backbone(seen))
    assert seen == [1, 2]


def test_an_image_that_tells_of_more_than_the_memory_is_named(
    tmp_path, monkeypatch
):
    path = tmp_path / "lies.png"
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(path)
    monkeypatch.setattr(
        extraction, "_fitted", mock.Mock(side_effect=MemoryError)
    )
    with pytest.raises(ValueError, match="lies.png' .MemoryError"):
        read_image(path, (4, 6))


def test_gray_and_larger_images_become_rgb_of_the_size():
    gray = read_image(np.full((9, 9), 7, np.uint8), (4, 6))
    assert gray.shape == (4, 6, 3) and (gray == 7).all()
    assert read_image(np.zeros((20, 10, 4), np.uint8), (4, 6)).shape[-1] == 3


@pytest.mark.parametrize(
    "ending, kind",
    [("png", "<u2"), ("tif", "<u2"), ("tif", ">u2"), ("pgm", "i4")],
)
def test_gray_of_16_bits_is_scaled(tmp_path, ending, kind):
    path = tmp_path / f"deep.{ending}"
    gray = np.array([[0, 128, 129], [257 * 77, 65406, 65535]], kind)
    Image.fromarray(gray).save(path)
    read = read_image(path, (2, 3))
    assert read[..., 0].tolist() == [[0, 0, 1], [77, 254, 255]]
    assert (read == read[..., :1]).all()


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_numbers_of_an_unknown_range_are_refused(tmp_path, kind):
    path = tmp_path / "deep.tif"
    Image.fromarray(np.ones((2, 3), kind)).save(path)
    told = "deep.tif.*whose range is unknown: save it with 8 or 16 bits"
    with pytest.raises(ValueError, match=told):
        read_image(path, (2, 3))


def bad_images(tmp_path):
    """Images that cannot be read, one of each kind."""
    cut, huge = tmp_path / "cut.jpg", tmp_path / "huge.png"
    cut.write_bytes(b"\xff\xd8\xff nothing more")
    # Black takes no room.
    Image.new("1", (20_000, 10_000)).save(huge)
    program = tmp_path / "program.jpg"
    program.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    return [(96, cut), (97, tmp_path / "none.jpg"), (98, huge), (99, program)]


def test_bad_images_are_skipped_and_listed_where_that_is_asked_for(
    images, tmp_path, capsys
):
    path, bad = tmp_path / "features.npy", bad_images(tmp_path)
    mixed = [*images[:2], *bad, *images[2:]]
    extract(mixed, path, skip_unreadable=True)
    told = capsys.readouterr().out
    assert "4 of 9 images could not be read and are left out: 96, 97" in told
    skipped = load_features(path, [50], lazy=True).skipped
    assert [*skipped] == [96, 97, 98, 99]
    assert "decompression bomb" in skipped[98]
    assert all(str(file) in skipped[i] for i, file in bad)
    with pytest.warns(UserWarning, match="lacks 4 of 9 images"):
        assert load_features(path).shape == (5, 6, 3)
    assert load_features(path, [54, 50], lazy=True)[[0, 1]].shape == (2, 6, 3)
    with pytest.raises(ValueError, match="lacks 1 of 2.*97.*could not be read"):
        load_features(path, [50, 97])


def test_a_disk_that_fails_is_no_bad_image(images, tmp_path, monkeypatch):
    for code in (errno.EIO, errno.ESTALE, errno.EMFILE, errno.EDQUOT):
        failing = mock.Mock(side_effect=OSError(code, os.strerror(code)))
        monkeypatch.setattr("tfcap.data.extraction._fitted", failing)
        with pytest.raises(OSError) as caught:
            extract(images[1:], tmp_path / "a.npy", skip_unreadable=True)
        assert caught.value.errno == code
        assert "skip" not in str(caught.value)


def test_a_closed_file_is_a_bad_image(images, tmp_path, monkeypatch):
    opened = extraction.open_image

    def open_image(path):
        if path == "closed.jpg":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(path)

    monkeypatch.setattr(extraction, "open_image", open_image)
    path = tmp_path / "features.npy"
    extract([*images, (98, "closed.jpg")], path, skip_unreadable=True)
    assert [*load_features(path, [50], lazy=True).skipped] == [98]


def test_what_cannot_be_extracted_is_refused(images, tmp_path):
    path = tmp_path / "features.npy"
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        extract(images, path, batch_size=0)
    assert not [*tmp_path.glob("*.npy*")]
    with pytest.raises(ValueError, match="no readable image of 4, .*cut.jpg"):
        extract(bad_images(tmp_path), path, skip_unreadable=True)


# Videos ----------------------------------------------------------------------


@pytest.fixture
def gif(tmp_path):
    return write_gif(tmp_path / "video.gif", brightening(10))


def test_a_video_is_a_vector_a_frame(gif, tmp_path):
    videos = [("gif", gif), ("array", brightening(4))]
    path = tmp_path / "features.npy"
    extract(videos, path, frames=5)
    features = load_features(path, ["gif", "array"]).astype("float32")
    assert features.shape == (2, 5, 3)
    np.testing.assert_allclose(features[0, :, 0], [20, 60, 100, 140, 180])
    np.testing.assert_allclose(features[1, :, 2], [0, 20, 40, 40, 60])
    with pytest.raises(ValueError, match="`shape`"):
        extract(videos, path, frames=4)


def test_a_gif_is_read_as_it_is_seen(gif):
    frames = read_frames(gif, 10, (8, 12))
    assert frames.shape == (10, 8, 12, 3) and frames.dtype == np.float32
    np.testing.assert_allclose(frames[:, 0, 0, 0], 20 * np.arange(10))
    # A still image is a video of one frame.
    still = gif.with_name("still.png")
    Image.fromarray(brightening(2)[1].copy()).save(still)
    assert (read_frames(still, 3, SIZE) == 20).all()


def test_a_video_that_is_cut_off_is_named_wherever_it_ends(gif):
    whole = gif.read_bytes()
    readable = read_frames(gif, 10, SIZE)
    told = 0
    for length in range(0, len(whole) - 1, 5):
        gif.write_bytes(whole[:length])
        try:
            frames = read_frames(gif, 10, SIZE)
        except ValueError as error:
            assert "video.gif" in str(error) and "again" in str(error)
            told += 1
        else:
            # Cut between two frames, it is a shorter video.
            assert frames.shape == readable.shape
    assert told > 20


def test_what_is_no_video_is_refused(tmp_path):
    for wrong in (np.zeros((0, 4, 6, 3)), np.zeros((2, 4, 6, 9)), None):
        with pytest.raises(ValueError, match="`images` must"):
            read_frames(wrong, 2, SIZE)
    with pytest.raises(FileNotFoundError):
        read_frames(tmp_path / "none.gif", 2, SIZE)
