import errno
import os

import keras
import numpy as np
import pytest
from PIL import Image

from tfcap.data import Backbone
from tfcap.data import extract_features
from tfcap.data import extraction
from tfcap.data import load_features
from tfcap.data import load_skipped
from tfcap.data.extraction import read_image


class Average:
    """Mean colors of a 2x3 grid; counts the images that it has seen."""

    def __init__(self, fail_after=None):
        self.seen, self.fail_after = 0, fail_after

    def __call__(self, images):
        self.seen += len(images)
        if self.fail_after is not None and self.seen > self.fail_after:
            raise KeyboardInterrupt
        return keras.ops.average_pool(images, 2)


def backbone(network, name="average"):
    return Backbone(name, "pool", (4, 6), "raw", network)


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


def test_each_image_has_its_own_features_on_the_grid(images, tmp_path):
    path = tmp_path / "features.h5"
    several = iter(images)
    extract_features(backbone(Average()), several, path, 2, progress=False)
    features = load_features(path, [54, 51])
    for row, i in zip(features, (4, 1)):
        pixels = read_image(images[i][1], (4, 6))
        means = pixels.reshape(2, 2, 3, 2, 3).mean((1, 3)).reshape(6, 3)
        np.testing.assert_allclose(row, means, rtol=1e-3, atol=1e-6)


def test_an_interrupted_extraction_goes_on(images, tmp_path):
    path = tmp_path / "features.h5"
    with pytest.raises(KeyboardInterrupt):
        network = Average(fail_after=5)
        extract_features(backbone(network), images, path, 2, progress=False)
    network = Average()
    extract_features(backbone(network), images, path, 2, progress=False)
    assert network.seen == 1 + 1  # a blank image for the shape, then the last
    assert load_features(path).shape == (5, 6, 3)
    with pytest.raises(ValueError, match="begun with 'average'"):
        extract_features(backbone(network, "other"), images, path)


def test_progress_is_shown_only_when_asked(images, tmp_path, capsys):
    path = tmp_path / "features.h5"
    extract_features(backbone(Average()), images, path)
    assert "5/5" in capsys.readouterr().out
    path = tmp_path / "silent.h5"
    extract_features(backbone(Average()), images, path, progress=False)
    assert not capsys.readouterr().out


def test_a_damaged_image_is_named_and_what_is_done_is_kept(images, tmp_path):
    bad, path = tmp_path / "bad.jpg", tmp_path / "features.h5"
    bad.write_bytes(b"\xff\xd8\xff nothing more")
    images.append((99, bad))
    with pytest.raises(ValueError, match="bad.jpg.*again"):
        extract_features(backbone(Average()), images, path, 2, progress=False)
    with pytest.raises(ValueError, match="4 of 6"):
        load_features(path)


def test_an_image_that_tells_of_more_than_the_memory_is_named(
    tmp_path, monkeypatch
):
    def fail(*_):
        raise MemoryError

    path = tmp_path / "lies.png"
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(path)
    monkeypatch.setattr(extraction, "fit_picture", fail)
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
    told = "deep.tif.*black and white are not known: save it with 8 or 16 bits"
    with pytest.raises(ValueError, match=told):
        read_image(path, (2, 3))


def bad_images(tmp_path):
    """Images that cannot be read, one of each kind."""
    cut, huge = tmp_path / "cut.jpg", tmp_path / "huge.png"
    cut.write_bytes(b"\xff\xd8\xff nothing more")
    # Black takes no room.
    Image.new("1", (20_000, 5_000)).save(huge)
    program = tmp_path / "program.jpg"
    program.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    return [(96, cut), (97, tmp_path / "none.jpg"), (98, huge), (99, program)]


def test_bad_images_are_skipped_and_listed_where_that_is_asked_for(
    images, tmp_path, capsys
):
    path, bad = tmp_path / "features.h5", bad_images(tmp_path)
    mixed = [*images[:2], *bad, *images[2:]]
    options = {"batch_size": 2, "progress": False, "skip_unreadable": True}
    extract_features(backbone(Average()), mixed, path, **options)
    told = capsys.readouterr().out
    assert "4 of 9 images could not be read and are left out: 96, 97" in told
    skipped = load_skipped(path)
    assert [*skipped] == [96, 97, 98, 99]
    assert "pixels, and 89,478,485 are read" in skipped[98]
    assert all(str(file) in skipped[i] for i, file in bad)
    with pytest.warns(UserWarning, match="lacks 4 of 9 images"):
        assert load_features(path).shape == (5, 6, 3)
    assert load_features(path, [54, 50], lazy=True)[[0, 1]].shape == (2, 6, 3)
    with pytest.raises(ValueError, match="lacks 1 of 2.*97.*could not be read"):
        load_features(path, [50, 97])
    # What has been mended meanwhile is read.
    for number, file in bad:
        Image.new("RGB", (6, 4), (number, 2, 3)).save(file)
    extract_features(backbone(Average()), mixed, path, **options)
    assert load_features(path).shape == (9, 6, 3) and not load_skipped(path)
    assert not list(tmp_path.glob("*.skipped.json"))


def test_a_list_of_skipped_images_that_is_damaged_is_told(images, tmp_path):
    path = tmp_path / "features.h5"
    images.append((99, tmp_path / "none.jpg"))
    options = {"progress": False, "skip_unreadable": True}
    extract_features(backbone(Average()), images, path, **options)
    beside = tmp_path / "features.h5.skipped.json"
    beside.write_text(beside.read_text().replace("99", "98"))
    with pytest.raises(ValueError, match="skipped.json.*extraction again"):
        load_features(path, [50])
    beside.unlink()
    with pytest.raises(ValueError, match="5 of 6 images are done"):
        load_features(path, [50])


def test_a_disk_that_fails_is_no_bad_image(images, tmp_path, monkeypatch):
    def fail(code):
        def read(*_):
            raise OSError(code, os.strerror(code))

        return read

    for code in (errno.EIO, errno.ESTALE, errno.EMFILE, errno.EDQUOT):
        monkeypatch.setattr("tfcap.data.extraction.fit_picture", fail(code))
        with pytest.raises(OSError, match="1.png") as caught:
            extract_features(
                backbone(Average()),
                images[1:],
                tmp_path / "features.h5",
                progress=False,
                skip_unreadable=True,
            )
        assert caught.value.errno == code
        assert "skip" not in str(caught.value)


def test_a_loop_of_links_and_a_closed_file_are_bad_images(
    images, tmp_path, monkeypatch
):
    loop, closed = tmp_path / "loop.jpg", tmp_path / "closed.jpg"
    loop.symlink_to(loop)
    opened = extraction.open_image

    def open_image(path):
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path)

    monkeypatch.setattr(extraction, "open_image", open_image)
    path = tmp_path / "features.h5"
    extract_features(
        backbone(Average()),
        [*images, (97, loop), (98, closed)],
        path,
        progress=False,
        skip_unreadable=True,
    )
    assert [*load_skipped(path)] == [97, 98]


def test_a_batch_of_none_is_refused_before_anything_is_written(
    images, tmp_path
):
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        extract_features(backbone(Average()), images, tmp_path / "a.h5", 0)
    assert not [*tmp_path.glob("*.h5")]


def test_nothing_but_bad_images_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="none of 4 that is, .*cut.jpg"):
        extract_features(
            backbone(Average()),
            bad_images(tmp_path),
            tmp_path / "features.h5",
            progress=False,
            skip_unreadable=True,
        )


def test_more_pixels_are_read_where_the_limit_is_raised(tmp_path, monkeypatch):
    path = tmp_path / "large.png"
    Image.new("1", (300, 200)).save(path)
    monkeypatch.setenv("TFCAP_MAX_IMAGE_PIXELS", "50000")
    with pytest.raises(ValueError, match="large.png.*PIXELS to more"):
        read_image(path, (4, 6))
    monkeypatch.setenv("TFCAP_MAX_IMAGE_PIXELS", "60000")
    assert read_image(path, (4, 6)).shape == (4, 6, 3)
