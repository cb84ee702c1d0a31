import json

import numpy as np
import pytest
from PIL import Image

from reproduce.visdial import challenge_data
from reproduce.visdial import data as data_module
from reproduce.visdial import visdial_data
from reproduce.visdial.data import pooled_reader
from tests.data.conftest import make_content
from tests.visdial_files import dense_annotations
from tests.visdial_files import features
from tests.visdial_files import hidden_content
from tests.visdial_files import write_root
from tfcap.data import Backbone
from tfcap.data import encoded_dialogs
from tfcap.data import load_features
from tfcap.data import save_features


def test_splits_images_and_annotations_belong_to_one_another(tmp_path):
    content = write_root(tmp_path)
    data = visdial_data(tmp_path)
    splits = (data.train, data.validation, data.test)
    assert [len(split) for split in splits] == [27, 3, 6]
    assert data.name == "visdial_1.0_val_tiny" and data.norm is None
    images = (data.train_features, data.validation_features, data.test_features)
    for split, found in zip(splits, images):
        wanted = features(split.image_ids)[:, None]
        np.testing.assert_array_equal(found, wanted)
    some = data.first(2)
    assert some.test.image_ids.tolist() == data.test.image_ids[:2].tolist()
    np.testing.assert_array_equal(some.test_features, data.test_features[:2])
    assert some.digest != data.digest
    with pytest.raises(ValueError, match="between 1 and .* split, 6"):
        data.first(7)
    annotated = {
        entry["image_id"]: entry["gt_relevance"]
        for entry in dense_annotations(content)
    }
    for image_id, relevance in zip(data.test.image_ids, data.test.relevance):
        np.testing.assert_allclose(relevance[1], annotated[image_id])
        assert np.isnan(relevance[[0, 2, 3]]).all()


@pytest.mark.parametrize("version", ["0.9", "1.0"])
def test_a_published_pair_is_split_as_the_paper_does(tmp_path, version):
    train = make_content(20, version=version)
    val = make_content(4, version=version, split="val")
    for d, dialog in enumerate(val["data"]["dialogs"]):
        dialog["image_id"] = 300 + d
    ids = np.array([*range(100, 120), *range(300, 304)])
    np.savez(tmp_path / "features.npz", image_ids=ids, features=features(ids))
    dense = dense_annotations(val)
    for name, content in (
        ("train", train),
        ("val", val),
        ("val_dense_annotations", dense),
    ):
        path = tmp_path / f"visdial_{version}_{name}.json"
        path.write_text(json.dumps(content))
    data = visdial_data(tmp_path)
    assert data.name == f"VisDial v{version}"
    assert data.train.image_ids.tolist() == list(range(100, 118))
    assert data.validation.image_ids.tolist() == [118, 119]
    assert data.test.image_ids.tolist() == list(range(300, 304))
    assert data.train.relevance is None is data.validation.relevance
    wanted = [entry["gt_relevance"] for entry in dense]
    np.testing.assert_allclose(data.test.relevance[:, 1], wanted)


def test_features_are_scaled_and_the_scale_is_told(tmp_path):
    write_root(tmp_path)
    data = visdial_data(tmp_path, norm=8)
    length = np.linalg.norm(data.test_features, axis=-1)
    np.testing.assert_allclose(length, 8, rtol=1e-5)
    assert data.norm == 8
    assert visdial_data(tmp_path).test.relevance is not None


def test_dialogs_of_images_that_cannot_be_read_are_left_out(
    tmp_path, monkeypatch
):
    write_root(tmp_path)
    for path in tmp_path.glob("*features*.npz"):
        path.unlink()
    folder = tmp_path / "train2014"
    folder.mkdir()
    ids = range(100, 136)
    for image_id in ids:
        pixels = np.full((4, 6, 3), image_id, np.uint8)
        name = f"COCO_train2014_{image_id:012d}.jpg"
        Image.fromarray(pixels).save(folder / name)
    (folder / name).write_bytes(b"cut off")
    (folder / "COCO_train2014_000000000110.jpg").unlink()
    colors = Backbone("colors", "", (4, 6), "unit", lambda pixels: pixels)
    monkeypatch.setattr(
        "reproduce.visdial.data.named_backbone", lambda *_: colors
    )
    with pytest.raises(FileNotFoundError, match="image 110"):
        visdial_data(tmp_path, "imagenet")
    with pytest.warns(UserWarning, match="lacks 2 of 36 images"):
        data = visdial_data(tmp_path, "imagenet", skip_unreadable=True)
    splits = (data.train, data.validation, data.test)
    found = np.concatenate([split.image_ids for split in splits])
    assert found.tolist() == [i for i in ids if i not in (110, 135)]
    assert len(data.test_features) == 5


def test_the_hidden_split_comes_with_its_images_in_the_same_words(tmp_path):
    write_root(tmp_path, dense=False)
    data = visdial_data(tmp_path)
    assert data.test.relevance is None
    words = data.train.vocabulary
    dialogs, images = challenge_data(tmp_path, words, norm=2)
    content = hidden_content()["data"]
    assert dialogs.image_ids.tolist() == list(range(500, 505))
    wanted = features(dialogs.image_ids)
    wanted *= 2 / np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_allclose(images[:, 0], wanted, rtol=1e-5)
    for d, dialog in enumerate(content["dialogs"]):
        last = len(dialog["dialog"]) - 1
        turn = dialog["dialog"][last]
        assert dialogs.options[d, last].tolist() == turn["answer_options"]
    assert dialogs.vocabulary is words


def test_a_folder_without_the_hidden_split_is_refused(tmp_path):
    write_root(tmp_path)
    (tmp_path / "visdial_1.0_test.json").unlink()
    words = visdial_data(tmp_path).train.vocabulary
    with pytest.raises(ValueError, match="must hold visdial_1.0_test.json"):
        challenge_data(tmp_path, words)


@pytest.fixture
def file(tmp_path):
    def write(name, ids, width=3, **changes):
        path = tmp_path / name
        table = np.ones((len(ids), width)) * np.array(ids)[:, None]
        np.savez(path, **{"image_ids": ids, "features": table, **changes})
        return path

    return write


def test_features_may_lie_in_several_files(file):
    paths = [file("a.npz", [9, 4]), file("b.npz", [7])]
    found = pooled_reader(paths)(np.array([7, 9]))
    assert found.shape == (2, 1, 3) and found.dtype == np.float32
    assert found[:, 0, 0].tolist() == [7, 9]


@pytest.mark.parametrize(
    "other, message",
    [
        ({"ids": [8, 4]}, r"a.npz, .*b.npz, where 1 are .* image 4"),
        ({"ids": [8], "width": 2}, r"of widths \[2, 3\]"),
        ({"ids": [8]}, r"without 1 images, such as \[7\]"),
        ({"ids": [7, 8], "features": np.ones((1, 3))}, r"b.npz.* \(1, 3\)"),
        ({"ids": [7], "features": np.ones((1, 1, 3))}, r"b.npz.*\(1, 1, 3\)"),
    ],
)
def test_features_of_unlike_files_are_refused(file, other, message):
    paths = [file("a.npz", [9, 4]), file("b.npz", **other)]
    with pytest.raises(ValueError, match=message):
        pooled_reader(paths)(np.array([7, 9]))


@pytest.mark.parametrize(
    "ending", ["val_dense_annotations", "train_dense_sample"]
)
def test_dense_annotations_alone_are_no_dialogs(tmp_path, ending):
    path = tmp_path / f"visdial_1.0_{ending}.json"
    path.write_text(json.dumps([]))
    with pytest.raises(ValueError, match="`root` must hold visdial_0.9"):
        visdial_data(tmp_path)


def grids(image_ids, size=(2, 3)):
    """Features of a grid for each image that its id alone decides."""
    return np.stack(
        [np.random.default_rng(i).normal(size=size) for i in image_ids]
    ).astype("float16")


def write_grids(root):
    """The same folder with a feature file instead of vectors."""
    content = write_root(root)
    for path in root.glob("*.npz"):
        path.unlink()
    ids = [d["image_id"] for d in content["data"]["dialogs"]][::-1]
    save_features(root / "image_features.npy", ids, grids(ids))


def test_large_grids_are_scaled_by_batch(tmp_path, monkeypatch):
    """A file of 6 GB took 33 GB of memory."""
    write_grids(tmp_path)
    with monkeypatch.context() as patch:
        reader = type(load_features(tmp_path / "image_features.npy", lazy=True))
        patch.setattr(reader, "__getitem__", None)
        data = visdial_data(tmp_path, norm=8)
    rows = np.array([26, 0, 3])
    found = data.train_features[rows]
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 8, rtol=1e-5)
    plain = grids(data.train.image_ids[rows]).astype("float32")
    length = np.linalg.norm(plain, axis=-1, keepdims=True)
    np.testing.assert_allclose(found, 8 * plain / length, rtol=1e-5)


def test_files_and_texts_that_splits_share_are_read_once(tmp_path, monkeypatch):
    write_root(tmp_path)
    wanted = visdial_data(tmp_path)
    calls = {"tables": 0, "arrays": 0}

    def counted(module, name, what):
        function = getattr(module, name)

        def call(*args, **options):
            calls[what] += 1
            return function(*args, **options)

        monkeypatch.setattr(module, name, call)

    counted(encoded_dialogs, "_table", "tables")
    counted(data_module, "load_arrays", "arrays")
    data = visdial_data(tmp_path)
    # Captions of three splits, and one table of questions and of answers.
    assert calls == {"tables": 5, "arrays": 2}
    assert data.digest == wanted.digest
    assert data.validation.answers is data.train.answers
