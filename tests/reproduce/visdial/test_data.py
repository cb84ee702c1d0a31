import json

import numpy as np
import pytest
from PIL import Image

from reproduce.visdial import challenge_data
from reproduce.visdial import visdial_data
from tests.data.conftest import make_content
from tests.visdial_files import dense_annotations
from tests.visdial_files import features
from tests.visdial_files import hidden_content
from tests.visdial_files import write_root
from tfcap.data import Backbone
from tfcap.data import encoded_dialogs
from tfcap.data import load_features
from tfcap.data import save_features
from tfcap.data.features import FeatureWriter


def test_splits_images_and_annotations_belong_to_one_another(tmp_path):
    content = write_root(tmp_path)
    data = visdial_data(tmp_path)
    splits = (data.train, data.validation, data.test)
    assert [len(split) for split in splits] == [27, 3, 6]
    assert data.name == "visdial_1.0_val_tiny"
    images = (data.train_features, data.validation_features, data.test_features)
    for split, found in zip(splits, images):
        wanted = features(split.image_ids)
        np.testing.assert_array_equal(found[np.arange(len(split))], wanted)
    some = data.first(2)
    assert some.test.image_ids.tolist() == data.test.image_ids[:2].tolist()
    np.testing.assert_array_equal(some.test_features, wanted[:2])
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
    ids = [*range(100, 120), *range(300, 304)]
    save_features(tmp_path / "image_features.npy", ids, features(ids))
    dense = dense_annotations(val)
    files = {"train": train, "val": val, "val_dense_annotations": dense}
    for name, content in files.items():
        path = tmp_path / f"visdial_{version}_{name}.json"
        path.write_text(json.dumps(content))
    data = visdial_data(tmp_path)
    assert data.name == f"VisDial v{version}"
    assert data.train.image_ids.tolist() == ids[:18]
    assert data.validation.image_ids.tolist() == ids[18:20]
    assert data.test.image_ids.tolist() == ids[20:]
    assert data.train.relevance is None is data.validation.relevance
    wanted = [entry["gt_relevance"] for entry in dense]
    np.testing.assert_allclose(data.test.relevance[:, 1], wanted)


def test_features_are_scaled_by_batch(tmp_path, monkeypatch):
    """A file of 6 GB took 33 GB of memory."""
    write_root(tmp_path)
    plain = visdial_data(tmp_path)
    path = tmp_path / "image_features.npy"
    with monkeypatch.context() as patch:
        reader = type(load_features(path, lazy=True))
        patch.setattr(reader, "__getitem__", None)
        data = visdial_data(tmp_path, norm=8)
    rows = np.array([26, 0, 3])
    wanted = features(data.train.image_ids[rows]).astype("float32")
    wanted *= 8 / np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_allclose(data.train_features[rows], wanted, rtol=1e-5)
    assert data.digest != plain.digest


def test_images_are_read_by_vgg_where_there_are_no_features(
    tmp_path, monkeypatch
):
    write_root(tmp_path)
    (tmp_path / "image_features.npy").unlink()
    with pytest.raises(ValueError, match="`vgg19_weights` must be given"):
        visdial_data(tmp_path)
    colors = Backbone("colors", "", (4, 6), "unit", lambda pixels: pixels)
    monkeypatch.setattr(
        "reproduce.visdial.data.named_backbone", lambda *_: colors
    )
    folder = tmp_path / "train2014"
    folder.mkdir()
    for image_id in range(100, 135):
        image = Image.fromarray(np.full((4, 6, 3), image_id, np.uint8))
        image.save(folder / f"COCO_train2014_{image_id:012d}.jpg")
    with pytest.raises(FileNotFoundError, match="image 135"):
        visdial_data(tmp_path, "imagenet")
    (tmp_path / "val2014").mkdir()
    image.save(tmp_path / "val2014" / "COCO_val2014_000000000135.jpg")
    data = visdial_data(tmp_path, "imagenet")
    shades = data.test_features[np.arange(5)].mean(axis=(1, 2)) * 255
    np.testing.assert_allclose(shades, data.test.image_ids[:5], atol=4)
    assert (data.test_images(2) == data.test.image_ids[2]).all()


def test_dialogs_of_images_that_an_extraction_left_out_are_left_out(tmp_path):
    write_root(tmp_path)
    path = tmp_path / "image_features.npy"
    path.unlink()
    ids = np.arange(100, 136)
    with FeatureWriter(path, ids, (2, 3)) as writer:
        there = np.flatnonzero((ids != 110) & (ids != 135))
        writer.write(there, features(ids[there]))
        writer.finish({10: "cut off", 35: "not there"})
    with pytest.warns(UserWarning, match="lacks 2 of 36 images"):
        data = visdial_data(tmp_path)
    splits = (data.train, data.validation, data.test)
    assert [len(split) for split in splits] == [26, 3, 5]
    assert not {110, 135} & {*data.train.image_ids, *data.test.image_ids}


def test_the_hidden_split_comes_with_its_images_in_the_same_words(tmp_path):
    write_root(tmp_path, dense=False)
    data = visdial_data(tmp_path)
    assert data.test.relevance is None
    words = data.train.vocabulary
    dialogs, images = challenge_data(tmp_path, words, norm=2)
    assert dialogs.image_ids.tolist() == list(range(500, 505))
    wanted = features(dialogs.image_ids).astype("float32")
    wanted *= 2 / np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_allclose(images[np.arange(5)], wanted, rtol=1e-5)
    for d, dialog in enumerate(hidden_content()["data"]["dialogs"]):
        turns = dialog["dialog"]
        found = dialogs.options[d, len(turns) - 1].tolist()
        assert found == turns[-1]["answer_options"]
    assert dialogs.vocabulary is words


@pytest.mark.parametrize(
    "ending", ["val_dense_annotations", "train_dense_sample"]
)
def test_dense_annotations_alone_are_no_dialogs(tmp_path, ending):
    path = tmp_path / f"visdial_1.0_{ending}.json"
    path.write_text(json.dumps([]))
    with pytest.raises(ValueError, match="`root` must hold visdial_0.9"):
        visdial_data(tmp_path)


def test_texts_that_splits_share_are_encoded_once(tmp_path, monkeypatch):
    write_root(tmp_path)
    wanted, made = visdial_data(tmp_path), []
    table = encoded_dialogs._table

    def counted(*args):
        made.append(args)
        return table(*args)

    monkeypatch.setattr(encoded_dialogs, "_table", counted)
    data = visdial_data(tmp_path)
    # Captions of three splits, and one table of questions and of answers.
    assert len(made) == 5
    assert data.digest == wanted.digest
    assert data.validation.answers is data.train.answers
