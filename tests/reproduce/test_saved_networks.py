"""Networks of the recipes see the features that they learned from."""

import json
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from reproduce import evaluate
from reproduce.captioning import caption_files
from reproduce.paper_sweep import paper_sweep
from reproduce.psst.paper import PSST
from tests.reproduce.captioning.tiny_files import SPLITS
from tests.reproduce.captioning.tiny_files import grids
from tests.reproduce.captioning.tiny_files import study
from tests.reproduce.captioning.tiny_files import write_files
from tests.reproduce.psst.tiny_study import TINY
from tfcap.training import SpeakerReport

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module", params=["show_tell", "att2in"])
def trained(request, tmp_path_factory):
    """A folder of files, a study's folder, and what the study found."""
    root = write_files(tmp_path_factory.mktemp("root"))
    folder = tmp_path_factory.mktemp("study")
    made = study(root, folder, speaker=request.param, speaker_epochs=3)
    return root, folder, made.result("speaker_mle"), request.param


def command(root, folder, *more):
    """The arguments that PAPERS.md prints."""
    return [
        str(folder / "speaker_mle" / "speaker.keras"),
        str(folder / "listener_gt" / "listener.keras"),
        str(root / "dataset_tiny.json"),
        str(root / "features.npy"),
        f"--vocabulary={folder / 'vocabulary.json'}",
        "--split=test",
        "--max-length=6",
        "--quiet",
        *map(str, more),
    ]


def test_the_command_finds_what_the_study_found(trained, tmp_path, capsys):
    root, folder, wanted, speaker = trained
    out = tmp_path / "out.json"
    assert evaluate.main(command(root, folder, "--json", out)) == 0
    report = SpeakerReport.load(out)
    kept = SpeakerReport.load(folder / "speaker_mle" / "captions.json")
    assert report.captions == kept.captions
    np.testing.assert_array_equal(report.ranks, kept.ranks)
    for name in ("cider_d", "r@1", "mean_rank", "human_mean_rank"):
        assert report.result()[name] == pytest.approx(wanted[name])
    capsys.readouterr()
    # Means of positions are what the one has learned from, and not the other.
    pooled = evaluate.main(command(root, folder, "--pooled", "--json", out))
    if speaker == "show_tell":
        assert pooled == 0
        assert SpeakerReport.load(out).captions == kept.captions
    else:
        assert pooled == 2
        assert "must have 4 positions" in capsys.readouterr().err


def test_nothing_is_standardized_twice(trained, capsys):
    root, folder, *_ = trained
    assert evaluate.main(command(root, folder, "--standardize=train")) == 2
    told = capsys.readouterr().err
    assert "`--standardize` must be left out" in told and "twice" in told


def as_saved_before(folder):
    """Takes the preparation out of a saved network's config."""
    for path in folder.rglob("*.keras"):
        with zipfile.ZipFile(path) as archive:
            members = {n: archive.read(n) for n in archive.namelist()}
        content = json.loads(members["config.json"])
        content["config"].pop("image_preprocessing")
        members["config.json"] = json.dumps(content).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)


def test_networks_that_were_saved_before_are_told_how_to_prepare(
    tmp_path, capsys
):
    root = write_files(tmp_path)
    folder = tmp_path / "study"
    made = study(root, folder)
    wanted = made.result("speaker_mle")
    as_saved_before(folder)
    # The command does not guess.
    assert evaluate.main(command(root, folder)) == 2
    assert "`--standardize` must be given" in capsys.readouterr().err
    out = tmp_path / "out.json"
    more = "--standardize=train", "--pooled", "--json", out
    assert evaluate.main(command(root, folder, *more)) == 0
    scores = SpeakerReport.load(out).result()
    assert scores["cider_d"] == pytest.approx(wanted["cider_d"])


def test_training_is_what_it_was_with_features_standardized_before(tmp_path):
    root = write_files(tmp_path)
    inside = study(root, tmp_path / "inside")
    outside = study(root, tmp_path / "outside")
    outside.data = outside.data.prepared_outside()
    for phase, role in (
        ("speaker_mle", "speaker"),
        ("listener_gt", "listener"),
    ):
        one, two = (s.networks(phase)[role] for s in (inside, outside))
        assert len(one.weights) == len(two.weights)
        for a, b in zip(one.get_weights(), two.get_weights()):
            np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_study_is_refused_other_data_of_the_same_size(tmp_path):
    root = write_files(tmp_path)
    assert study(root, tmp_path / "one").data.digest
    study(root, tmp_path / "one")
    refused = "another study's ids, captions or features. "
    write_files(root, grids(seed=1))
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")
    # Other captions; and the same images, split otherwise.
    write_files(root)
    path = root / "dataset_tiny.json"
    path.write_text(path.read_text().replace("number 7", "number 8"))
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")
    write_files(root, splits=[*SPLITS[:5], "val", "train", *SPLITS[7:]])
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")
    # The features of a pooled study are compared before they are averaged.
    write_files(root, grids()[:, ::-1])
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")


def test_a_sweep_is_refused_other_data_of_the_same_size(tmp_path):
    root, out = write_files(tmp_path), tmp_path / "sweep"
    grid = [{"method": "speaker_mle", "seed": 0}]

    def sweep():
        data = caption_files(TINY, root)
        return paper_sweep(PSST, out, data, TINY, grid, verbose=0)

    sweep()
    sweep()
    write_files(root, grids(seed=1))
    with pytest.raises(ValueError, match="a sweep on the same data"):
        sweep()
