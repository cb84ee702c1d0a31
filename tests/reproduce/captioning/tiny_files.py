"""A folder of captions and features in files, and a study of it."""

import dataclasses
import json

import numpy as np

from reproduce.captioning import caption_files
from reproduce.experiment import Experiment
from reproduce.psst.paper import PSST
from tests.data.tiny_captions import COUNTS
from tests.data.tiny_captions import tiny_split
from tests.reproduce.psst.tiny_study import TINY
from tfcap.data import save_features

#: Images of each split, most to learn from.
SPLITS = ["train"] * 6 + ["val"] * 2 + ["test"] * 3


def grids(seed=0):
    """Features far from mean 0 and deviation 1, `(11, 4, 3)`."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(SPLITS), 4, 3))
    values = values + rng.normal(size=(len(SPLITS), 1, 3))
    return (values * [1.0, 30.0, 0.1] + [0.0, 400.0, 2.0]).astype("float16")


def write_files(folder, features=None, splits=SPLITS):
    """Writes `dataset_tiny.json` and `features.npy`; returns the folder."""
    said = tiny_split(COUNTS)
    images = [
        {
            "imgid": image_id,
            "filename": f"{image_id}.jpg",
            "split": split,
            "sentences": [{"raw": text} for text in texts],
        }
        for image_id, texts, split in zip(said.image_ids, said.captions, splits)
    ]
    (folder / "dataset_tiny.json").write_text(json.dumps({"images": images}))
    features = grids() if features is None else features
    path = folder / "features.npy"
    # A finished file would be left as it is.
    path.unlink(missing_ok=True)
    save_features(path, said.image_ids, features)
    return folder


def study(root, directory, seed=3, pretrained=None, **changes):
    """An `Experiment` of such a folder."""
    usual = {"batch_size": 3, "speaker_rate": 0.05, "max_length": 6}
    changes = {**usual, **changes}
    settings = dataclasses.replace(TINY, **changes)
    return Experiment(
        PSST,
        caption_files(settings, root),
        settings,
        directory,
        seed,
        verbose=0,
        pretrained=pretrained,
    )
