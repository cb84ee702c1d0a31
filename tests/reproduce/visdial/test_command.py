import json

import numpy as np
import pytest

from reproduce.visdial import command
from reproduce.visdial import main
from tests.reproduce.visdial.tiny_study import study
from tests.visdial_files import write_root
from tfcap.data import DialogBatches
from tfcap.training import JointTraining
from tfcap.training import candidate_scores
from tfcap.training import load_network

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")
SIZES = {"train": 50, "val": 4, "test": 6, "encoder_epochs": 1}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture
def arguments(worlds, tmp_path, monkeypatch):
    monkeypatch.setitem(command.SIZES, "quick", SIZES)
    return ["--quick", "--root", str(worlds), "--out", str(tmp_path / "run")]


def test_a_folder_without_data_or_closed_is_told(tmp_path, capsys):
    files = ["--data", "visdial", "--root", str(tmp_path), "--out"]
    assert main([*files, str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: `") and str(tmp_path) in said
    (tmp_path / "file").touch()
    assert main([*files, str(tmp_path / "file" / "run")]) == 2
    assert "must be a file or folder that can be" in capsys.readouterr().err


@pytest.mark.slow
def test_an_interrupted_run_goes_on_and_is_shown(
    arguments, tmp_path, monkeypatch, capsys
):
    arguments += ["--rows", "hciae_g_dis,hciae_g_mle"]
    arguments += ["--test-dialogs", "4", "--validation-dialogs", "2"]
    whole, steps = JointTraining.train_step, []

    def stopped(model, data):
        steps.append(1)
        # In the midst of the second generator: an epoch has 5 steps.
        if len(steps) == 8:
            raise KeyboardInterrupt
        return whole(model, data)

    monkeypatch.setattr(JointTraining, "train_step", stopped)
    assert main(arguments) == 130
    assert "the same command resumes" in capsys.readouterr().out
    assert main(arguments) == 0
    # The first generator was not trained again.
    assert len(steps) == 8 + 5
    run = tmp_path / "run"
    found = json.loads((run / "results.json").read_text())
    assert list(found["rows"]) == ["answer_prior", "hciae_g_mle", "hciae_g_dis"]
    assert found["data"] == ["embedded world", 50, 4]
    assert found["seed"] == 0 and found["settings"]["units"] == 32
    answers = found["rows"]["hciae_g_dis"]["answers"]
    assert answers["count"] == 40
    truth = ("true", "partly", "evasive", "false", "empty")
    shares = [answers[f"{name}_share"] for name in truth]
    assert sum(shares) == pytest.approx(1)
    said = capsys.readouterr().out
    assert "reproduces no claim" in said
    assert "paper mrr" in said and "71.55" in said
    assert "hciae_g_dis - hciae_g_mle" in said
    assert "Table 3" in said and "(z3)" in said
    assert f"tensorboard --logdir {run}" in said
    assert (run / "tables.md").read_text().startswith("A quick run")
    assert (run / "page.html").read_text().count("<img") == 4
    assert json.loads((run / "summary.json").read_text())["rows"]["answers"]


@pytest.mark.filterwarnings("ignore:.*using a softmax over axis -1.*size 1")
def test_the_hidden_split_is_ranked_as_the_network_scores_it(tmp_path, capsys):
    root, out = tmp_path / "root", tmp_path / "run"
    root.mkdir()
    write_root(root)
    options = ["--quick", "--data", "visdial", "--root", str(root)]
    options += ["--norm", "2", "--rows", "hciae_g_mle", "--ranks"]
    assert main([*options, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    found = json.loads((out / "results.json").read_text())["rows"]
    ndcg = found["hciae_g_mle"]["generative"]["ndcg"]
    assert f" {ndcg:.4f} |" in said
    path = out / "hciae_g_mle" / "ranks_generator.json"
    assert f"Ranks of the challenge's test split: {path}" in said
    words = command.visdial_data(root).train.vocabulary
    dialogs, images = command.challenge_data(root, words, norm=2)
    batches = DialogBatches(dialogs, images, 5, shuffle=False)
    network = load_network(path.with_name("generator.keras"))
    scores = candidate_scores(network, batches, 5, verbose=0)
    entries = json.loads(path.read_text())
    assert [entry["round_id"] for entry in entries] == [1, 2, 3, 4, 1]
    for d, entry in enumerate(entries):
        assert entry["image_id"] == dialogs.image_ids[d]
        assert sorted(entry["ranks"]) == [*range(1, 8)]
        given = scores[d, entry["round_id"] - 1][np.argsort(entry["ranks"])]
        assert (np.diff(given) <= 1e-6).all()
    (root / "visdial_1.0_test.json").unlink()
    assert main([*options, "--out", str(out)]) == 2
    assert "hold visdial_1.0_test.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong, words",
    [
        (["--data", "visdial"], "needs --root"),
        (["--rows", "lf_g,gan3"], "must be among"),
        (["--ranks"], "--ranks needs --data visdial"),
    ],
)
def test_wrong_options_are_refused_in_words(wrong, words, capsys):
    with pytest.raises(SystemExit):
        main(wrong)
    assert words in capsys.readouterr().err


def test_settings_and_rows_are_the_published_ones_of_published_data():
    options = command.parse(["--data", "visdial", "--root", "x"])
    assert options.settings == "published" and len(options.rows) == 14
    assert command.parse([]).settings == "world"
    assert command.parse(["--quick"]).settings == "quick"


@pytest.mark.parametrize(
    "seeds, folders",
    [(["--seeds", "3,5"], {3: "/3", 5: "/5"}), (["--seed", "4"], {4: ""})],
)
def test_seeds_have_folders_of_their_own(tmp_path, seeds, folders):
    data, out = study(tmp_path / "tiny").data, str(tmp_path / "out")
    options = command.parse([*seeds, "--out", out])
    made = command.experiments_of(options, data)
    found = {x.seed: x.directory for x in made}
    assert found == {seed: out + folder for seed, folder in folders.items()}
