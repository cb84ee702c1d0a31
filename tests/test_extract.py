"""The command `python -m tfcap.extract`, with small networks of our own."""

import json

import keras
import numpy as np
import pytest
from PIL import Image

from tfcap import extract
from tfcap.data import load_features
from tfcap.data.backbones import preset_backbone


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


def karpathy(path, names, key="cocoid"):
    images = [
        {
            key: 50 + i,
            "filename": name,
            "split": "train" if i else "test",
            "sentences": [{"raw": "a cat", "tokens": ["a", "cat"]}],
        }
        for i, name in enumerate(names)
    ]
    path.write_text(json.dumps({"images": images, "dataset": "own"}))
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


def test_images_are_known_by_file_names_or_by_ids(folder, tiny, tmp_path):
    path = tmp_path / "own.npy"
    assert extract.main([str(folder), "-o", str(path), "--quiet", *tiny]) == 0
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
    "change, message",
    [
        ({0: "/no/folder"}, "`path` must be a file or folder that can be"),
        ({4: "NoNet"}, "`name` must be a network of `keras.applications`"),
        ({4: "MobileNetV2", 6: "/no/weights.h5"}, "weights"),
    ],
)
def test_wrong_arguments_are_told(
    folder, tiny, tmp_path, capsys, change, message
):
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), *tiny]
    for i, value in change.items():
        arguments[i] = value
    assert extract.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, message",
    [
        (["-o", "."], "-o . cannot be written"),
        (["-o", "no/such/a.npy"], "-o no/such/a.npy cannot be written"),
        (["--from", "x.npy"], "name either IMAGES or --from FEATURES"),
        (["--split", "train"], "`--split` must come with --captions"),
        (["--backbone", "keras_hub:x"], "`weights` must be left out for a pr"),
    ],
)
def test_options_of_no_effect_are_refused_at_once(
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
    # Those of the first are of `test`, of all others of `train`.
    names = ["inner/a.PNG", "2024/a.PNG", "b.jpg"]
    captions = karpathy(tmp_path / "own.json", names)
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), *tiny]
    arguments += ["--captions", captions, "--split", "train"]
    assert extract.main(arguments) == 2
    told = capsys.readouterr().err
    assert "1 of 2 that are not there" in told and ": 2024/a.PNG. " in told


def test_other_files_are_told_of(folder, tiny, tmp_path, capsys):
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), "--quiet", *tiny]
    assert extract.main(arguments) == 0
    assert "1 of 4 files in" in capsys.readouterr().err


def test_captions_of_absent_images_and_dead_networks_are_refused(
    folder, tiny, tmp_path, capsys, monkeypatch
):
    captions = karpathy(tmp_path / "own.json", ["gone.jpg", "b.jpg"])
    arguments = [str(folder), "-o", str(tmp_path / "a.npy"), "--quiet", *tiny]
    arguments_of = [*arguments, "--captions", captions]
    assert extract.main(arguments_of) == 2
    assert "1 of 2 that are not there" in capsys.readouterr().err
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


@pytest.fixture(scope="module")
def dinov3(tmp_path_factory):
    hub = pytest.importorskip("keras_hub")
    keras.utils.set_random_seed(0)
    network = hub.models.DINOV3Backbone(
        patch_size=4,
        num_layers=2,
        hidden_dim=16,
        num_heads=2,
        intermediate_dim=16,
        num_register_tokens=4,
        image_shape=(8, 8, 3),
    )
    preset = tmp_path_factory.mktemp("preset")
    network.save_to_preset(str(preset))
    converter = hub.layers.DINOV3ImageConverter(
        image_size=(8, 8), scale=1 / 255, offset=-0.5
    )
    converter.save_to_preset(str(preset))
    return network, str(preset)


def test_a_preset_is_read_without_registers_and_scaled(
    folder, dinov3, tmp_path
):
    network, preset = dinov3
    path = tmp_path / "dino.npy"
    arguments = ["-o", str(path), "--quiet", "--size", "8"]
    backbone = ["--backbone", f"keras_hub:{preset}"]
    assert extract.main([str(folder), *arguments, *backbone]) == 0
    features = load_features(path)
    assert features.shape == (3, 4, 16)
    pixels = np.random.default_rng(0).uniform(0, 255, (2, 8, 8, 3))
    found = preset_backbone(preset)(pixels.astype("f4"))
    wanted = preset_backbone(network)((pixels / 255 - 0.5).astype("f4"))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_the_image_encoder_of_siglip_is_read_before_its_pooling():
    hub = pytest.importorskip("keras_hub")
    encoder = hub.models.SigLIPVisionEncoder(
        patch_size=4,
        hidden_dim=16,
        num_layers=1,
        num_heads=2,
        intermediate_dim=16,
        image_shape=(8, 8, 3),
    )
    backbone = preset_backbone(encoder)
    assert backbone(np.zeros((2, 8, 8, 3), "f4")).shape == (2, 2, 2, 16)
