"""The command `python -m reproduce visdial ranks`."""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from reproduce.visdial import challenge_data
from reproduce.visdial import main
from reproduce.visdial import make_discriminator
from reproduce.visdial import make_generator
from reproduce.visdial import visdial_data
from reproduce.visdial import write_ranks
from reproduce.visdial.experiment import keep_inputs
from tests.dialogs import SETTINGS
from tests.visdial_files import write_root
from tfcap.data import DialogBatches
from tfcap.training import candidate_scores

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")

NORM = 2.0


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A study's folder with networks of two rows, and the folder of files."""
    folder = tmp_path_factory.mktemp("ranks")
    root, study = folder / "root", folder / "study"
    root.mkdir()
    write_root(root)
    data = visdial_data(root, norm=NORM)
    study.mkdir()
    keep_inputs(data, study)
    batches = DialogBatches(data.train, data.train_features, 4)
    networks = {
        "generator": make_generator("lf", SETTINGS, batches),
        "discriminator": make_discriminator("lf", SETTINGS, batches),
    }
    rng = np.random.default_rng(0)
    for role, network in networks.items():
        # Loud enough that every dialog and image is ranked in its own way.
        weights = network.get_weights()
        network.set_weights([rng.normal(size=w.shape) for w in weights])
        for row in ("hciae_gan2", f"lf_{role[0]}"):
            (study / row).mkdir(exist_ok=True)
            network.save(study / row / f"{role}.keras")
    return {"root": root, "study": study, **networks}


def command(run, row, *more):
    folders = [str(run["study"]), row, "--root", str(run["root"])]
    return main(["ranks", *folders, "--quiet", *more])


@pytest.mark.parametrize("role", ["generator", "discriminator"])
def test_options_are_ranked_as_the_network_scores_them(run, role, capsys):
    row = f"lf_{role[0]}"
    assert command(run, row, "--batch-size", "2") == 0
    path = run["study"] / row / f"ranks_{role}.json"
    assert capsys.readouterr().out == f"{path}\n"
    words = visdial_data(run["root"]).train.vocabulary
    dialogs, images = challenge_data(run["root"], words, norm=NORM)
    batches = DialogBatches(dialogs, images, 5, shuffle=False)
    wanted = candidate_scores(run[role], batches, 5, verbose=0)
    entries = json.loads(path.read_text())
    assert [e["image_id"] for e in entries] == dialogs.image_ids.tolist()
    assert [e["round_id"] for e in entries] == [1, 2, 3, 4, 1]
    for d, entry in enumerate(entries):
        ranks = np.array(entry["ranks"])
        assert sorted(ranks) == list(range(1, 8))
        given = wanted[d, entry["round_id"] - 1][np.argsort(ranks)]
        assert (np.diff(given) <= 1e-6).all() and given[0] > given[-1]


def test_both_players_of_a_row_write_their_own_files(run):
    assert command(run, "hciae_gan2") == 0
    folder = run["study"] / "hciae_gan2"
    names = {path.name for path in folder.glob("ranks_*.json")}
    assert names == {"ranks_generator.json", "ranks_discriminator.json"}
    one, other = (json.loads((folder / name).read_text()) for name in names)
    assert one != other


def test_scores_that_are_no_numbers_are_not_ranked(run, tmp_path, monkeypatch):
    words = visdial_data(run["root"]).train.vocabulary
    data = challenge_data(run["root"], words)
    network = run["generator"]
    kept = network.get_weights()
    network.set_weights([np.full_like(w, np.nan) for w in kept])
    with pytest.raises(ValueError, match="`scores` must not be NaN"):
        write_ranks({"generator": network}, *data, tmp_path, verbose=0)
    network.set_weights(kept)
    assert not list(tmp_path.iterdir())


def wider(run, root):
    for path in root.glob("*.npz"):
        with np.load(path) as found:
            arrays = dict(found)
        arrays["features"] = np.pad(arrays["features"], ((0, 0), (0, 1)))
        np.savez(path, **arrays)


def no_split(run, root):
    (root / "visdial_1.0_test.json").unlink()


def no_images(run, root):
    (root / "features_test.npz").unlink()


@pytest.mark.parametrize(
    "spoil, message",
    [
        (wider, r"features of shape \(1, 4\)"),
        (no_split, "must hold visdial_1.0_test.json"),
        (no_images, r"without 5 images, such as \[500, 501, 502\]"),
    ],
)
def test_files_that_do_not_fit_are_told(run, tmp_path, spoil, message, capsys):
    root = tmp_path / "root"
    shutil.copytree(run["root"], root)
    spoil(run, root)
    folders = [str(run["study"]), "lf_d", "--root", str(root)]
    assert main(["ranks", *folders]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ") and re.search(message, told)


def test_a_row_that_was_not_trained_is_told(run, capsys):
    assert command(run, "mn_d") == 2
    assert "python -m reproduce visdial --rows mn_d" in capsys.readouterr().err
    assert command(run, "lf_g", "--role", "discriminator") == 2
    assert "a trained discriminator" in capsys.readouterr().err
    assert command(run, "lf_g", "--batch-size", "0") == 2


def test_a_folder_of_no_study_is_told(run, tmp_path, capsys):
    command = [str(tmp_path), "lf_d", "--root", str(run["root"])]
    assert main(["ranks", *command]) == 2
    assert "without inputs.json" in capsys.readouterr().err
