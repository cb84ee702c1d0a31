import importlib.util
import json

import numpy as np
import pytest

from reproduce.comparisons import judge as judges
from tfcap.data import save_features
from tfcap.training import SpeakerReport

COLORS = "red blue green black white brown".split()
WORDS = [*COLORS, *"cup boat dog tree".split()]


def bag_of_words(texts):
    """Vectors `(n, words)`, in place of a sentence encoder."""
    return np.array(
        [[word in text.split() for word in WORDS] for text in texts], "float32"
    )


@pytest.fixture
def root(tmp_path):
    """Photographs of colored things, of each of which all captions tell it."""
    pairs = [(color, thing) for color in COLORS for thing in WORDS[6:]]
    images = [
        {
            "imgid": i,
            "filename": f"{i}.jpg",
            "split": "test" if i % 3 == 2 else "train",
            "sentences": [{"raw": f"a {c} {t}"}, {"raw": f"{t} {c}"}],
        }
        for i, (c, t) in enumerate(pairs)
    ]
    path = tmp_path / "dataset_own.json"
    path.write_text(json.dumps({"images": images}))
    seen = bag_of_words([f"{c} {t}" for c, t in pairs])
    mixed = seen @ np.random.default_rng(0).normal(size=(len(WORDS), 12))
    save_features(tmp_path / "features.npy", range(len(pairs)), mixed[:, None])
    return tmp_path


def test_captions_are_judged_by_the_image_they_find(root, monkeypatch, capsys):
    monkeypatch.setattr(judges, "sentence_encoder", lambda: bag_of_words)
    ids = list(range(2, 24, 3))
    told = SpeakerReport(
        scores={},
        image_ids=ids,
        captions=[f"{COLORS[i // 4]} {WORDS[6 + i % 4]}" for i in ids],
        references=[["a"]] * len(ids),
        ranks=np.full(len(ids), np.nan),
        human_ranks=np.full(len(ids), np.nan),
    )
    told.save(root / "told.json")
    other = told.captions[1:] + told.captions[:1]
    vars(told)["captions"] = other
    told.save(root / "other.json")
    files = [str(root / f"{name}.json") for name in ("told", "other")]
    assert judges.main(["--root", str(root), *files]) == 0
    _, people, *reports = capsys.readouterr().out.splitlines()
    found = [float(line.split()[-3]) for line in (people, *reports)]
    assert found[0] == found[1] > 60 > 15 > found[2]


@pytest.mark.skipif(
    not importlib.util.find_spec("all_minilm_l6_v2"),
    reason="needs the extra `judge`",
)
def test_sentences_that_mean_the_same_are_close():
    texts = ["a dog runs", "there is a dog running", "two men on a boat"]
    vectors = judges.sentence_encoder()(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, 1e-5)
    similar = vectors @ vectors.T
    assert similar[0, 1] > 0.6 > 0.3 > similar[0, 2]
