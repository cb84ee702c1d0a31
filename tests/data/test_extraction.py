import keras
import numpy as np
import pytest
from PIL import Image

from tfcap.data import Backbone
from tfcap.data import extract_features
from tfcap.data import load_features
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
    extract_features(backbone(Average()), images, path, 2, progress=False)
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


def test_gray_and_larger_images_become_rgb_of_the_size():
    gray = read_image(np.full((9, 9), 7, np.uint8), (4, 6))
    assert gray.shape == (4, 6, 3) and (gray == 7).all()
    assert read_image(np.zeros((20, 10, 4), np.uint8), (4, 6)).shape[-1] == 3
