import importlib.util
import io
import json
import pathlib
from unittest import mock

import pytest

from reproduce.visdial import ROWS
from reproduce.visdial import SETTINGS
from reproduce.visdial import command
from reproduce.visdial.rows import needed
from tests.visdial_files import write_root
from tfcap.training import JointTraining

PATH = pathlib.Path(__file__).parents[2] / "examples" / "visdial_gdis.py"
SIZES = {"train": 50, "val": 4, "test": 6, "encoder_epochs": 1}


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("visdial_gdis", PATH)
    module = importlib.util.module_from_spec(spec)
    # The example adds a row of its own.
    sizes = mock.patch.dict(command.SIZES, quick=SIZES)
    with mock.patch.dict(ROWS), sizes:
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture
def arguments(worlds, tmp_path):
    return ["--quick", "--root", str(worlds), "--out", str(tmp_path / "run")]


def test_a_folder_without_data_or_closed_is_told(
    example, arguments, tmp_path, monkeypatch, capsys
):
    files = ["--data", "visdial", "--root", str(tmp_path)]
    assert example.main([*files, "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: `") and str(tmp_path) in said

    def closed(*_, **__):
        (tmp_path / "file").write_text("")
        (tmp_path / "file" / "run").mkdir()

    monkeypatch.setattr(command, "world_data", closed)
    assert example.main(arguments) == 2
    said = capsys.readouterr().err
    path = str(tmp_path / "file" / "run")
    told = (
        f"`path` must be a file or folder that can be used. Received: {path=}"
    )
    assert told[:-1] in said


_TRUTH = ("true", "partly", "evasive", "false", "empty")


def test_an_interrupted_run_goes_on(
    example, arguments, tmp_path, monkeypatch, capsys
):
    arguments += ["--rows", "lf_g,hciae_g_mle"]
    arguments += ["--test-dialogs", "4", "--validation-dialogs", "2"]
    whole, steps = JointTraining.train_step, []

    def stopped(model, data):
        steps.append(1)
        # In the midst of the second row: an epoch has 5 steps.
        if len(steps) == 8:
            raise KeyboardInterrupt
        return whole(model, data)

    monkeypatch.setattr(JointTraining, "train_step", stopped)
    assert example.main(arguments) == 130
    said = capsys.readouterr().out
    assert "Stopped after 1 of 2 rows" in said
    assert "visdial_gdis.py --quick" in said
    assert example.main(arguments) == 0
    # The first row was not trained again.
    assert len(steps) == 8 + 5
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    assert list(found["rows"]) == ["answer_prior", "lf_g", "hciae_g_mle"]
    assert set(found["versions"]) == {"tfcap", "keras", "tensorflow"}
    assert found["dialogs"]["test"] == 4
    shares = found["rows"]["lf_g"]["answers"]
    assert shares["count"] == 40
    assert sum(shares[f"{name}_share"] for name in _TRUTH) == pytest.approx(1)
    assert found["seed"] == 0 and found["settings"]["units"] == 32
    assert list((tmp_path / "run").rglob("events.out.tfevents*"))


@pytest.mark.slow
def test_generators_are_shown_and_talked_with(
    example, arguments, tmp_path, monkeypatch, capsys
):
    rows = ["--rows", "hciae_g_dis,hciae_g_mle"]
    assert example.main(arguments + rows) == 0
    said = capsys.readouterr().out
    assert "means nothing" in said
    assert "published MRR" in said and "71.55" in said
    assert "Table 3" in said and "(z3)" in said
    assert f"tensorboard --logdir {tmp_path / 'run'}" in said
    run = tmp_path / "run"
    assert (run / "tables.md").read_text().startswith("A quick run")
    assert (run / "page.html").read_text().count("<article>") == SIZES["test"]
    assert example.main(["summary", str(run)]) == 0
    assert "hciae_g_dis - hciae_g_mle" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("is it a zebra?\n\nno\n"))
    assert example.main([*arguments, "--talk", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert '(I do not know the word "zebra".)' in said
    assert (run / "talk.png").exists()


@pytest.mark.filterwarnings("ignore:.*using a softmax over axis -1.*size 1")
def test_ndcg_is_printed_and_the_hidden_split_is_ranked(
    example, tmp_path, capsys
):
    root, out = tmp_path / "root", tmp_path / "run"
    root.mkdir()
    write_root(root)
    options = ["--quick", "--data", "visdial", "--root", str(root)]
    options += ["--out", str(out), "--rows", "hciae_g_mle", "--ranks"]
    assert example.main(options) == 0
    said = capsys.readouterr().out
    found = json.loads((out / "results.json").read_text())["rows"]
    figures = found["hciae_g_mle"]["generative"]
    lines = said.splitlines()
    line = next(x for x in lines if x.startswith("| hciae_g_mle "))
    assert f" {figures['ndcg']:.4f} |" in line
    assert f" {figures['mrr_other_images']:.4f} |" in line
    assert "NDCG is absent" not in said
    assert f"<td>{figures['ndcg']:.4f}</td>" in (out / "page.html").read_text()
    path = out / "hciae_g_mle" / "ranks_generator.json"
    assert f"Ranks of the challenge's test split: {path}" in said
    entries = json.loads(path.read_text())
    assert [entry["round_id"] for entry in entries] == [1, 2, 3, 4, 1]
    assert all(sorted(e["ranks"]) == [*range(1, 8)] for e in entries)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (["--data", "visdial"], "needs --root"),
        (["--rows", "lf_g,gan3"], "must be among"),
        (["--ranks"], "--ranks needs --data visdial"),
        (
            ["--data", "visdial", "--root", "no", "--ranks"],
            "must hold visdial_1.0_test.json",
        ),
    ],
)
def test_wrong_options_are_refused_in_words(example, wrong, words, capsys):
    with pytest.raises(SystemExit):
        example.main(wrong)
    assert words in capsys.readouterr().err


def test_the_published_settings_are_for_the_published_data():
    options = command.parse(["--data", "visdial", "--root", "x"])
    assert options.settings == "published"
    assert str(options.out) == "runs/visdial_gdis"
    assert command.parse([]).settings == "world"
    assert command.parse(["--quick"]).settings == "quick"


def test_a_row_of_ones_own_is_trained_where_it_is_named(example):
    assert "lf_g_dis" not in command.parse([]).rows
    assert command.parse(["--rows", "lf_g_dis"]).rows == ["lf_g_dis"]
    needs = needed("lf_g_dis", SETTINGS["quick"])
    assert needs == ("lf_g", "hciae_d_np_att")


def test_seeds_have_folders_of_their_own(example):
    options = command.parse(["--seeds", "3,5", "--out", "runs/x"])
    runs = [(run.seed, str(run.out)) for run in command.runs_of(options)]
    assert runs == [(3, "runs/x/3"), (5, "runs/x/5")]
    assert command.runs_of(command.parse([]))[0].seed == 0
