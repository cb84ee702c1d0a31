"""A folder with tiny VisDial files in the published layout."""

import json

import numpy as np

from tests.data.conftest import make_content
from tfcap.data import save_features


def features(image_ids):
    """Two positions of each image, `(M, 2, D)`, that its id alone decides."""
    drawn = [np.random.default_rng(i).normal(size=(2, 3)) for i in image_ids]
    return np.stack(drawn).astype("float16")


def hidden_content(dialogs=5, first_id=500):
    """As `visdial_1.0_test.json`: dialogs of 1..4 rounds, the last to rank."""
    content = make_content(dialogs, rounds=4, split="test2018")
    for d, dialog in enumerate(content["data"]["dialogs"]):
        dialog["image_id"] = first_id + d
        dialog["dialog"] = dialog["dialog"][: 1 + d % 4]
        for turn in dialog["dialog"][:-1]:
            del turn["answer_options"], turn["gt_index"]
        del dialog["dialog"][-1]["answer"], dialog["dialog"][-1]["gt_index"]
    return content


def dense_annotations(content):
    """An annotation of the second round of every dialog."""
    rng = np.random.default_rng(1)
    return [
        {
            "image_id": dialog["image_id"],
            "round_id": 2,
            "gt_relevance": rng.choice(
                [0.0, 0.2, 0.5, 1.0],
                len(dialog["dialog"][1]["answer_options"]),
            ).tolist(),
        }
        for dialog in content["data"]["dialogs"]
    ]


def write_root(root, train=30, val=6, dense=True):
    """Writes dialogs with suggested splits, a hidden test split, features.

    Returns the content of the first file.
    """
    content = make_content(train + val, split="val")
    for d, dialog in enumerate(content["data"]["dialogs"]):
        dialog["suggested_split"] = "train" if d < train else "val"
    hidden = hidden_content()
    files = {"visdial_1.0_val_tiny": content, "visdial_1.0_test": hidden}
    if dense:
        name = "visdial_1.0_val_tiny_dense_annotations"
        files[name] = dense_annotations(content)
    for name, found in files.items():
        (root / f"{name}.json").write_text(json.dumps(found))
    for name, found in ("image_features", content), ("test_features", hidden):
        # In another order than the dialogs.
        ids = [d["image_id"] for d in found["data"]["dialogs"]][::-1]
        save_features(root / f"{name}.npy", ids, features(ids))
    return content
