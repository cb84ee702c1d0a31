import dataclasses
import json
import types

import numpy as np
import pytest

from tests.eager import run_eagerly
from tests.examples.conftest import load
from tests.models import test_gguf
from tfcap.data import save_features
from tfcap.training import SpeakerReport


@pytest.fixture(scope="module")
def script():
    module = load("real_language_model")
    # Eagerly, every word takes its time.
    module.SETTINGS = dataclasses.replace(module.SETTINGS, max_length=3)
    return module


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder of six photographs with captions and features, and a model."""
    folder = tmp_path_factory.mktemp("own")
    splits = "train train train val test test".split()
    images = [
        {
            "imgid": i,
            "filename": f"{i}.jpg",
            "split": split,
            "sentences": [{"raw": text} for text in test_gguf.TEXTS],
        }
        for i, split in enumerate(splits)
    ]
    content = json.dumps({"images": images})
    (folder / "dataset_own.json").write_text(content)
    features = np.random.default_rng(0).normal(size=(6, 4, 3))
    save_features(folder / "features.npy", range(6), features)
    test_gguf.write(folder / "tiny.gguf", "llama")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("pretrained", [True, False])
def test_a_speaker_learns_in_three_phases(
    root, tmp_path, capsys, script, pretrained
):
    tiny = ["--gguf", str(root / "tiny.gguf")]
    epochs = ",".join(f"{name}=1" for name in script.PHASES)
    command = tiny if pretrained else ["--from-scratch"]
    command += ["--root", str(root), "--out", str(tmp_path), "--epochs", epochs]
    with run_eagerly():
        assert script.main(command) == 0
        said = capsys.readouterr().out
        if not pretrained:
            # All is there: nothing is trained, and the same is found.
            assert script.main(command) == 0
            again = capsys.readouterr().out
            assert said.split("\n\n")[-1] == again.split("\n\n")[-1]
    assert script.table({}) in said
    assert (tmp_path / "page.html").read_text().count("<article>") == 2
    phases = "mle", "scst", "retriever"
    for name in phases:
        report = SpeakerReport.load(tmp_path / f"{name}.json")
        assert len(report.captions) == 2 and report.ranks.max() <= 2
    curves = (tmp_path / "tradeoff").rglob("events.*")
    assert {path.parent.name for path in curves} == {*phases}


def test_gemma_is_used_by_who_accepts_its_terms(script, root, capsys):
    with pytest.raises(SystemExit):
        script.main(["--root", str(root)])
    assert script.TERMS in capsys.readouterr().err


def test_vectors_of_an_image_name_the_words_of_its_captions(script):
    """An even table: scores are those of the frequencies, and a vector's."""
    captions = types.SimpleNamespace(
        references=np.array([[[3, 1, 0]], [[4, 3, 1]]]),
        vocabulary=types.SimpleNamespace(pad=0),
    )
    table = 3.0 * np.eye(5, dtype="float32")
    vectors = np.array([[[0, 0, 0, 2, 0], [0, 0, 0, 0, 1]]], "float32")
    naming = script.Naming(lambda image: vectors, table, captions)
    inputs = {
        "image": np.ones((1, 1, 2)),
        "references": np.array([[[3, 4, 0]]]),
    }
    shares = np.array([0, 2, 0, 2, 1]) / 5
    scores = np.exp([0, 0, 0, 2, 1]) * (shares + 1e-6)
    log_probs = np.log(scores / scores.sum())
    scores = naming(inputs)
    loss = naming.compute_loss(inputs, None, scores)
    np.testing.assert_allclose(loss, -log_probs[[3, 4]].mean(), 1e-5)
