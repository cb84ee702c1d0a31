"""The data set of COCO's captions, made of a small stand-in."""

import json
import zipfile

import numpy as np

from reproduce.captioning.load_data import load_data
from reproduce.command import main
from reproduce.latent_semantics import LatentSemantics
from reproduce.sle.settings import QUICK
from tfcap.data import load_features

THINGS = "dog cat bus kite tree boat".split()
PLACES = "street beach park".split()


def write_jar(package, train=24, val=12):
    rng, number = np.random.default_rng(0), 0
    with zipfile.ZipFile(package / "spice" / "spice-1.0.jar", "w") as jar:
        for part, images in (("train2014", train), ("val2014", val)):
            content = {"images": [], "annotations": []}
            for _ in range(images):
                number += 1
                thing, place = rng.choice(THINGS), rng.choice(PLACES)
                name = f"COCO_{part}_{number:012}.jpg"
                content["images"].append({"id": number, "file_name": name})
                content["annotations"] += [
                    {"image_id": number, "caption": text}
                    for text in (
                        f"A {thing} on a {place}.",
                        f"The {thing} in the {place}",
                        f"a {thing}, {place}",
                        f"One {thing} on the {place}.",
                        f"There is a {thing} on a {place}",
                    )
                ]
            jar.writestr(
                f"coco/annotations/captions_{part}.json", json.dumps(content)
            )


def test_captions_stand_for_photographs(fake_package, tmp_path, capsys):
    write_jar(fake_package)
    out = tmp_path / "coco"
    options = ["--out", str(out), "--size", "6", "--min-count", "1"]
    assert main(["coco_text", *options, "--held-out", "4"]) == 0
    about = json.loads((out / "about.json").read_text())
    assert about["images"] == {"train": 24, "restval": 4, "val": 4, "test": 4}
    assert about["references"] == 36 * 3
    scores = {k: x["cider_d"] for k, x in about["test scores"].items()}
    # Thing and place agree in all captions of an image.
    assert scores["a source"] > 2 * scores["of any"]
    assert scores["of the nearest"] > 2 * scores["of any"]
    assert "36 images" in capsys.readouterr().out
    data = load_data("coco", QUICK, out)
    assert len(data.train) == 24 and len(data.test) == 4
    part = load_data("coco", QUICK, out, limits={"train": 5, "val": 3})
    sizes = [len(x) for x in (part.train, part.validation, part.test)]
    assert sizes == [5, 3, 4]
    assert part.vocabulary.words == data.vocabulary.words
    np.testing.assert_array_equal(
        part.train_features[np.arange(5)], data.train_features[np.arange(5)]
    )
    features = load_features(out / "features.npy", data.test.image_ids)
    assert features.shape == (4, 2, 6)
    again = tmp_path / "again"
    options[1] = str(again)
    assert main(["coco_text", *options, "--held-out", "4"]) == 0
    name = "dataset_coco.json"
    assert (again / name).read_bytes() == (out / name).read_bytes()
    np.testing.assert_array_equal(
        load_features(again / "features.npy", data.test.image_ids), features
    )
    assert main(["coco_text", *options, "--held-out", "7"]) == 2
    assert "must leave two parts" in capsys.readouterr().err


def test_vectors_are_those_of_a_singular_value_decomposition():
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(18)]
    weights = 1.0 / np.arange(1, 19)
    captions = [
        list(rng.choice(words, 6, p=weights / weights.sum())) for _ in range(80)
    ]
    semantics = LatentSemantics(captions, 5, min_count=2)
    dense = np.zeros((80, len(semantics.words)))
    rarity = np.log(
        80 / np.array([sum(w in c for c in captions) for w in semantics.words])
    )
    for row, caption in enumerate(captions):
        counts = np.array([caption.count(w) for w in semantics.words])
        dense[row] = np.where(counts, 1 + np.log(counts.clip(1)), 0) * rarity
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    left, values, _ = np.linalg.svd(dense)
    found = semantics(captions)
    np.testing.assert_allclose(
        found @ found.T,
        (left[:, :5] * values[:5] ** 2) @ left[:, :5].T,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        semantics.explained, np.sum(values[:5] ** 2) / np.sum(values**2), 1e-5
    )
