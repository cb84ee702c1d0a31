"""The command `python -m tfcap.extract`, with small networks of our own."""

import json

import keras
import numpy as np
import pytest
from PIL import Image

from tfcap import extract
from tfcap.data import load_features


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographs")
    (folder / "inner").mkdir()
    rng = np.random.default_rng(0)
    for name in ("b.jpg", "inner/a.PNG", "c.jpeg"):
        pixels = rng.integers(0, 255, (20, 30, 3), np.uint8)
        Image.fromarray(pixels).save(folder / name)
    (folder / "notes.txt").write_text("no image")
    return folder


def karpathy(path, names):
    """Captions of images, the first of the test split, others of training."""
    images = [
        {
            "cocoid": 50 + i,
            "filename": name,
            "split": "train" if i else "test",
            "sentences": [{"raw": "a cat"}],
        }
        for i, name in enumerate(names)
    ]
    path.write_text(json.dumps({"images": images}))
    return str(path)


class Tiny:
    """A module of `keras.applications` with one network."""

    @staticmethod
    def TinyNet(include_top, weights, input_shape):
        inputs = keras.Input(input_shape)
        conv = keras.layers.Conv2D(3, 4, 4, name="conv")
        return keras.Model(inputs, conv(inputs))

    @staticmethod
    def preprocess_input(images):
        return images / 127.5 - 1


@pytest.fixture
def tiny(monkeypatch):
    keras.utils.set_random_seed(0)
    monkeypatch.setattr(keras.applications, "tiny", Tiny, raising=False)
    return ["--backbone", "TinyNet", "--weights", "random", "--size", "8"]


def test_images_are_known_by_file_names_or_by_ids(
    folder, tiny, tmp_path, capsys
):
    path = tmp_path / "own.npy"
    assert extract.main([str(folder), "-o", str(path), "--quiet", *tiny]) == 0
    assert "1 of 4 files in" in capsys.readouterr().err
    features = load_features(path, ["inner/a.PNG", "c.jpeg", "b.jpg"])
    assert load_features(path).shape == features.shape == (3, 4, 3)
    captions = karpathy(tmp_path / "own.json", ["a.PNG", "c.jpeg", "b.jpg"])
    again = tmp_path / "again.npy"
    arguments = [str(folder), "-o", str(again), "--captions", captions, *tiny]
    assert extract.main(arguments) == 0
    known = load_features(again, [50, 51, 52])
    np.testing.assert_array_equal(known, features)


def test_what_is_done_is_kept_and_unreadable_images_are_named(
    folder, tiny, tmp_path, capsys
):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "no.jpg").write_bytes(b"no image")
    for name in ("b.jpg", "c.jpeg"):
        (broken / name).write_bytes((folder / name).read_bytes())
    arguments = [str(broken), "-o", str(tmp_path / "a.npy"), "--quiet", *tiny]
    assert extract.main(arguments) == 2
    assert "no.jpg" in capsys.readouterr().err
    assert extract.main([*arguments, "--skip-unreadable"]) == 0
    assert "1 of 3 images could not be read" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more, message",
    [
        (["-o", "."], "-o . cannot be written"),
        (["-o", "no/such/a.npy"], "-o no/such/a.npy cannot be written"),
        (["--from", "x.npy"], "name either IMAGES or --from FEATURES"),
        (["--split", "train"], "`--split` needs --captions"),
        (["--backbone", "keras_hub:x"], "`weights` must be left out for a pr"),
        (["--backbone", "NoNet"], "`name` must be a network of `keras.appl"),
        (["--backbone", "MobileNetV2", "--weights", "/no.h5"], "weights"),
        (["--backbone", ""], "--backbone must be given"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_once(
    folder, tiny, tmp_path, capsys, more, message
):
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), *tiny, *more]
    try:
        assert extract.main(arguments) == 2
    except SystemExit as error:
        assert error.code == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_photograph_of_another_split_is_none_of_this_one(
    folder, tiny, tmp_path, capsys
):
    names = ["inner/a.PNG", "2024/a.PNG", "b.jpg"]
    captions = karpathy(tmp_path / "own.json", names)
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), *tiny]
    arguments += ["--captions", captions, "--split", "train"]
    assert extract.main(arguments) == 2
    told = capsys.readouterr().err
    assert "1 of 2 that are missing" in told and ": 2024/a.PNG. " in told


def test_captions_of_absent_images_and_dead_networks_are_refused(
    folder, tiny, tmp_path, capsys, monkeypatch
):
    captions = karpathy(tmp_path / "own.json", ["gone.jpg", "b.jpg"])
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), "--quiet", *tiny]
    arguments_of = [*arguments, "--captions", captions]
    assert extract.main(arguments_of) == 2
    assert "1 of 2 that are missing" in capsys.readouterr().err
    other = ["--split", "train", "-o", str(tmp_path / "b.npy")]
    assert extract.main([*arguments_of, *other]) == 0
    (tmp_path / "empty").mkdir()
    assert extract.main([str(tmp_path / "empty"), *arguments[1:]]) == 2
    assert "must hold images" in capsys.readouterr().err
    monkeypatch.setattr(
        Tiny, "preprocess_input", staticmethod(lambda images: images * 0 + 1)
    )
    assert extract.main(arguments) == 2
    assert "must differ between images" in capsys.readouterr().err
